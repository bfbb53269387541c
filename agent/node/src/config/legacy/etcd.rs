//! etcd's clusters: those that a node runs members of, and what the stored cluster says of all.

use super::documents::{Document, Form, read_cluster};
use super::node::Node;
use crate::config::etcd::{StoredEtcd, etcd_cluster, name_of};
use quake_formats::yaml::{Value, Yaml};
use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_model::spec::{EtcdCluster, EtcdProvider, Role};

/// Reads etcd's clusters from the stored cluster: their members, who runs them, their versions and their backups.
///
/// # Errors
///
/// As [`read_cluster`], and `config.missing-key` for an etcd cluster or a member without a name.
pub fn read_stored_etcd(cluster: &Document) -> Result<StoredEtcd, Fault> {
    let (cluster, _) = read_cluster(cluster, Form::Stored)?;
    StoredEtcd::read(&cluster.spec, |entry| {
        Ok(EtcdCluster {
            provider: stated_provider(entry).unwrap_or(EtcdProvider::Legacy),
            backup_store: backup_store(entry),
            ..etcd_cluster(&cluster.source, name_of(&cluster.source, entry)?, entry)?
        })
    })
}

/// Lowers etcd's clusters, `main` first; none but on a control plane.
pub(super) fn lower_etcd(node: &Node<'_>) -> Result<Vec<EtcdCluster>, Fault> {
    if node.role != Role::ControlPlane {
        return Ok(Vec::new());
    }
    let source = &node.cluster.source;
    let absent = node.cluster.spec.with(Value::Null);
    let mut entries = match (node.section("etcdClusters"), node.cluster.form) {
        (Some(list), Form::Stored) => {
            let entries = list.items().iter();
            let named = entries.map(|entry| Ok((name_of(source, entry)?, entry)));
            named.collect::<Result<_, Fault>>()?
        }
        (Some(map), Form::Inline) => {
            let entries = map.entries().iter();
            entries.map(|(key, entry)| (&*key.name, entry)).collect()
        }
        (None, _) => Vec::new(),
    };
    if entries.is_empty() {
        // kops before 1.9.2 left etcd out of user data; every cluster it made has these two.
        entries = vec![("main", &absent), ("events", &absent)];
    }
    entries.sort_by_key(|(name, _)| *name != "main");
    let entries = entries.into_iter();
    entries
        .map(|(name, entry)| lower_etcd_cluster(node, name, entry))
        .collect()
}

fn lower_etcd_cluster(node: &Node<'_>, name: &str, entry: &Yaml) -> Result<EtcdCluster, Fault> {
    let mut cluster = etcd_cluster(&node.cluster.source, name, entry)?;
    cluster.provider = provider(node, entry)?;
    cluster.backup_store = backup_store(entry);
    if cluster.version.is_empty() {
        default_version(node, cluster.provider).clone_into(&mut cluster.version);
    }
    if cluster.image.is_empty() {
        // kops pulls etcd from where it pulls the other images, so that a mirror of them serves it too.
        cluster.image = format!("{}/etcd:{}", registry(node), cluster.version);
    }
    Ok(cluster)
}

/// Where etcd-manager keeps the backups. What is no location names nothing that could be looked into.
fn backup_store(entry: &Yaml) -> Option<Location> {
    let store = entry.get("backups")?.text_of("backupStore")?;
    store.trim_end_matches('/').parse().ok()
}

/// The provider that the entry itself says. kops 1.12 and newer complete it; `manager` names its image.
fn stated_provider(entry: &Yaml) -> Option<EtcdProvider> {
    match entry.text_of("provider") {
        Some("Manager") => Some(EtcdProvider::Manager),
        Some(_) => Some(EtcdProvider::Legacy),
        None => entry.get("manager").map(|_| EtcdProvider::Manager),
    }
}

/// The provider the cluster names, else etcd-manager where there are manifests for it.
fn provider(node: &Node<'_>, entry: &Yaml) -> Result<EtcdProvider, Fault> {
    if let Some(place) = entry.get("provider")
        && let Some(other) = entry.text_of("provider")
        && !matches!(other, "Manager" | "Legacy")
    {
        let summary = format!("is {other}, and should be Legacy or Manager");
        return Err(node.unsupported(place, "etcdClusters.provider", &summary));
    }
    let by_manifests = match node.environment.etcd_manifests.is_empty() {
        true => EtcdProvider::Legacy,
        false => EtcdProvider::Manager,
    };
    Ok(stated_provider(entry).unwrap_or(by_manifests))
}

/// What kops defaults to (`pkg/model/components/etcd.go`, v1.15.3).
fn default_version(node: &Node<'_>, provider: EtcdProvider) -> &'static str {
    let managed = provider == EtcdProvider::Manager;
    if node.version.at_least(1, 14) {
        "3.3.10"
    } else if node.version.at_least(1, 13) || (managed && node.version.at_least(1, 11)) {
        "3.2.24"
    } else {
        "2.2.1"
    }
}

/// The registry of the cluster's other images: `gcr.io/google_containers` up to kops 1.8, then `k8s.gcr.io`,
/// or the operator's mirror.
fn registry<'a>(node: &Node<'a>) -> &'a str {
    ["kubeAPIServer", "kubeProxy"]
        .iter()
        .filter_map(|key| node.cluster.spec.get(key)?.text_of("image"))
        .find_map(|image| image.rsplit_once('/'))
        .map_or("k8s.gcr.io", |(registry, _)| registry)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: &str = "
kind: Cluster
metadata: {name: c.example}
spec:
  etcdClusters:
  - name: main
    etcdMembers:
    - {name: a, instanceGroup: master-a, encryptedVolume: true}
    - {name: b, instanceGroup: master-b}
  subnets:
  - {name: left, zone: us-east-1a}
  - {name: right, zone: us-east-1b}
";

    fn document(text: &str) -> Document {
        Document {
            source: "s3://b/c/x".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn members_groups_and_zones_are_read_from_the_stored_objects() {
        let members = read_stored_etcd(&document(CLUSTER)).expect("it is a cluster");
        let groups: Vec<&str> = members.instance_groups().into_iter().collect();
        assert_eq!(groups, ["master-a", "master-b"]);
        assert!(members.clusters[0].members[0].encrypted);
        let group = "kind: InstanceGroup\nspec: {role: Master, subnets: [right, gone]}\n";
        let zones = members
            .zones_of("s3://b/c/x", group)
            .expect("it is a group");
        assert_eq!(zones, ["us-east-1b"]);
    }

    #[test]
    fn a_stored_cluster_says_who_runs_etcd_and_where_its_backups_are() {
        let with =
            |text: &str| CLUSTER.replace("  - name: main\n", &format!("  - name: main\n{text}"));
        let read = |text: &str| {
            let found = read_stored_etcd(&document(&with(text)));
            let found = found.expect("it is a cluster").clusters;
            let store = found[0].backup_store.as_ref().map(ToString::to_string);
            (found[0].provider, found[0].version.clone(), store)
        };
        let plain = read("    version: 3.3.10\n");
        assert_eq!(plain, (EtcdProvider::Legacy, "3.3.10".to_owned(), None));
        let managed =
            read("    provider: Manager\n    backups: {backupStore: s3://b/c/backups/etcd/main}\n");
        let store = Some("s3://b/c/backups/etcd/main".to_owned());
        assert_eq!(managed, (EtcdProvider::Manager, String::new(), store));
        assert_eq!(read("    manager: {image: x}\n").0, EtcdProvider::Manager);
        assert_eq!(
            read("    provider: Legacy\n    manager: {image: x}\n").0,
            EtcdProvider::Legacy
        );
    }
}
