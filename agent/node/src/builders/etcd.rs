//! The etcd clusters of a control plane: what the stored cluster says, checked against the flags of etcd-manager's pods.
//!
//! The agent chooses the volumes, and etcd-manager runs etcd on them. Both must mean the same volumes, so a manifest
//! whose flags name others is refused.

use super::Context;
use super::control_plane::etcd_manifest_path;
use super::manager_flags::ManagerFlags;
use crate::config::current::read_cluster;
use quake_model::fault::{Code, Fault};
use quake_model::spec::EtcdCluster;

/// The etcd clusters that this node runs members of; none on other nodes, and none while an instance of a warm pool is
/// prepared. A store without the cluster's object leaves the members to the volumes' tags.
pub(super) fn etcd_clusters(context: &Context<'_>) -> Result<Vec<EtcdCluster>, Fault> {
    if !context.runs_etcd() {
        return Ok(Vec::new());
    }
    let stored = match &context.objects.cluster {
        Some((location, text)) => Some(read_cluster(&location.to_string(), text)?),
        None => None,
    };
    let mut clusters = Vec::new();
    for location in &context.config.etcd_manifests {
        let source = location.to_string();
        let flags = ManagerFlags::read(&source, context.objects.manifest(location)?)?;
        let Some(name) = flags.etcd() else { continue };
        if let Some(tag) = flags.unexpected_tag(name, &context.config.cluster) {
            let summary = format!("etcd-manager of {name} looks for volumes with the tag {tag}");
            return Err(disagrees(&source, summary).seen("flag", format!("--volume-tag={tag}")));
        }
        let found = match &stored {
            // Nothing but its name is known.
            None => EtcdCluster {
                name: name.to_owned(),
                ..EtcdCluster::default()
            },
            Some(stored) => {
                let mut all = stored.etcd.clusters.iter();
                let found = all.find(|cluster| cluster.name == name).cloned();
                found.ok_or_else(|| {
                    disagrees(&source, format!("the cluster has no etcd cluster {name}"))
                })?
            }
        };
        clusters.push(EtcdCluster {
            backup_store: flags.backup_store().or(found.backup_store),
            manifest: Some(etcd_manifest_path(location)),
            ..found
        });
    }
    clusters.sort_by_key(|cluster| cluster.name != "main");
    Ok(clusters)
}

fn disagrees(source: &str, summary: String) -> Fault {
    Fault::new(Code::ConfigEtcdDisagrees, summary).seen("source", source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::builders::{Lifecycle, Machine};

    const KEYS: &str = "etcdManifests: [s3://b/c/manifests/etcd/main-a.yaml, s3://b/c/manifests/etcd/events-a.yaml]\n";

    const CLUSTER: &str = "
kind: Cluster
metadata: {name: c.example.com}
spec:
  etcdClusters:
  - name: events
    etcdMembers: [{name: a, instanceGroup: master-a}]
  - name: main
    backups: {backupStore: s3://b/c/backups/etcd/main}
    etcdMembers: [{name: a, instanceGroup: master-a, encryptedVolume: true}]
  - name: cilium
    etcdMembers: [{name: a, instanceGroup: master-a}]
";

    fn manifest(etcd: &str) -> String {
        format!(
            "kind: Pod\nspec:\n  containers:\n  - args:\n    - --backup-store=s3://b/c/backups/etcd/{etcd}\n    - --volume-name-tag=k8s.io/etcd/{etcd}\n    - --volume-provider=aws\n    - --volume-tag=k8s.io/etcd/{etcd}\n    - --volume-tag=k8s.io/role/control-plane=1\n    - --volume-tag=kubernetes.io/cluster/c.example.com=owned\n"
        )
    }

    /// A control plane whose store has these texts; no text, no object.
    fn sample(cluster: &str, main: &str, events: &str) -> Sample {
        let mut sample = Sample::control_plane(KEYS);
        let location = "s3://bucket/c.example.com/cluster-completed.spec";
        sample.objects.cluster = (!cluster.is_empty()).then(|| {
            let location = location.parse().expect("a literal");
            (location, cluster.to_owned())
        });
        for (location, text) in sample.config.etcd_manifests.iter().zip([main, events]) {
            let bytes = text.as_bytes().to_vec();
            sample.objects.manifests.insert(location.clone(), bytes);
        }
        sample
    }

    fn plain() -> Sample {
        sample(CLUSTER, &manifest("main"), &manifest("events"))
    }

    #[test]
    fn a_control_plane_runs_the_etcd_clusters_of_its_manifests_main_first() {
        let found = plain().with(etcd_clusters).expect("they agree");
        let shown: Vec<_> = found
            .iter()
            .map(|etcd| {
                (
                    etcd.name.as_str(),
                    etcd.manifest.as_deref(),
                    etcd.members.len(),
                )
            })
            .collect();
        let wanted = [
            (
                "main",
                Some("/etc/kubernetes/manifests/etcd-main-a.manifest"),
                1,
            ),
            (
                "events",
                Some("/etc/kubernetes/manifests/etcd-events-a.manifest"),
                1,
            ),
        ];
        assert_eq!(shown, wanted);
        assert!(found[0].members[0].encrypted);
        let store = found[1].backup_store.as_ref().map(ToString::to_string);
        assert_eq!(store.as_deref(), Some("s3://b/c/backups/etcd/events"));
    }

    #[test]
    fn without_the_stored_cluster_members_are_left_to_the_tags() {
        let sample = sample("", &manifest("main"), &manifest("events"));
        let found = sample.with(etcd_clusters).expect("the flags suffice");
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|etcd| etcd.members.is_empty()));
    }

    #[test]
    fn a_shell_line_has_its_flags_read_too() {
        let flags = manifest("main")
            .replace("    - --", " --")
            .replace('\n', "");
        let (_, flags) = flags.split_once("- args:").expect("it is there");
        let line = format!(
            "kind: Pod\nspec:\n  containers:\n  - command: [/bin/sh, -c, 'exec /etcd-manager{flags} > /var/log/etcd.log']\n"
        );
        let found = sample(CLUSTER, &line, &manifest("events")).with(etcd_clusters);
        assert_eq!(found, plain().with(etcd_clusters));
    }

    #[test]
    fn flags_that_name_other_volumes_are_refused_by_name() {
        for (from, to, shown) in [
            (
                "c.example.com=owned",
                "other.example.com=owned",
                "other.example.com",
            ),
            ("k8s.io/role/control-plane=1", "team=blue", "team=blue"),
            (
                "etcd/main\n    - --volume-provider",
                "etcd/own\n    - --volume-provider",
                "k8s.io/etcd/main",
            ),
        ] {
            let changed = manifest("main").replace(from, to);
            let fault = sample(CLUSTER, &changed, &manifest("events"))
                .with(etcd_clusters)
                .expect_err(to);
            assert_eq!(fault.code, Code::ConfigEtcdDisagrees, "{to}");
            assert!(fault.summary.contains(shown), "{}", fault.summary);
        }
        let fault = sample(CLUSTER, &manifest("own"), &manifest("events")).with(etcd_clusters);
        let fault = fault.expect_err("the cluster has none of that name");
        assert!(
            fault.summary.contains("no etcd cluster own"),
            "{}",
            fault.summary
        );
    }

    #[test]
    fn a_pod_that_takes_no_volume_of_ec2_is_no_business_of_the_agent() {
        let external = manifest("main").replace("=aws", "=external");
        let found = sample(CLUSTER, &external, &manifest("events")).with(etcd_clusters);
        let names: Vec<String> = found
            .expect("it is left alone")
            .into_iter()
            .map(|etcd| etcd.name)
            .collect();
        assert_eq!(names, ["events"]);
    }

    #[test]
    fn an_instance_of_a_warm_pool_runs_no_etcd() {
        let sample = Sample {
            machine: Machine {
                lifecycle: Lifecycle::Warming,
                ..Machine::default()
            },
            ..plain()
        };
        assert_eq!(sample.with(etcd_clusters), Ok(Vec::new()));
    }
}
