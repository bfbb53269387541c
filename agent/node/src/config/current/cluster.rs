//! `cluster-completed.spec`: what the stored cluster says about etcd and about zones.
//!
//! Only what a node needs of it is read, so a key that is new in some kops version stops nothing.

use crate::config::etcd::{self, StoredEtcd};
use crate::config::reader::{location, missing};
use quake_formats::yaml::{Yaml, parse};
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::spec::EtcdCluster;

/// The object's name below the cluster's base in the state store.
pub const CLUSTER_OBJECT: &str = "cluster-completed.spec";

/// What `cluster-completed.spec` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    pub name: String,
    /// The cloud it runs on, where the document names one.
    pub cloud: Option<String>,
    /// The cluster's directory in its state store, where the document names one that is read.
    pub base: Option<Location>,
    pub etcd: StoredEtcd,
}

/// Reads `cluster-completed.spec`, of the API versions `v1alpha2` and `v1alpha3`.
///
/// # Errors
///
/// `config.yaml-syntax`; `config.wrong-type` for a document of another kind; `config.missing-key` for a cluster, an etcd
/// cluster or a member without a name; `config.location-unusable` for a backup store that cannot be read.
pub fn read_cluster(source: &str, text: &str) -> Result<Cluster, Fault> {
    let root = parse(source, text)?;
    if let Some(kind) = root
        .get("kind")
        .filter(|kind| kind.text() != Some("Cluster"))
    {
        let summary = format!("{source} is not a Cluster");
        return Err(kind
            .fault(source, Code::ConfigWrongType, summary)
            .seen("path", "kind"));
    }
    let name = root
        .get("metadata")
        .and_then(|metadata| metadata.text_of("name"));
    let name = name.ok_or_else(|| missing(source, &root, "metadata.name"))?;
    let spec = root
        .get("spec")
        .ok_or_else(|| missing(source, &root, "spec"))?;
    Ok(Cluster {
        name: name.to_owned(),
        cloud: cloud(spec).map(str::to_owned),
        base: base(spec),
        etcd: StoredEtcd::read(spec, |entry| etcd_cluster(source, entry))?,
    })
}

/// The cloud: a text in v1alpha2, the one key of a map in v1alpha3.
fn cloud(spec: &Yaml) -> Option<&str> {
    let node = spec.get("cloudProvider")?;
    let only = || node.entries().first().map(|(key, _)| key.name.as_str());
    node.text().or_else(only)
}

/// The cluster's directory: `configBase` in v1alpha2, `configStore.base` in v1alpha3.
fn base(spec: &Yaml) -> Option<Location> {
    let newer = || spec.get("configStore")?.text_of("base");
    spec.text_of("configBase").or_else(newer)?.parse().ok()
}

fn etcd_cluster(source: &str, entry: &Yaml) -> Result<EtcdCluster, Fault> {
    Ok(EtcdCluster {
        backup_store: backup_store(source, entry)?,
        ..etcd::etcd_cluster(source, etcd::name_of(source, entry)?, entry)?
    })
}

fn backup_store(source: &str, entry: &Yaml) -> Result<Option<Location>, Fault> {
    let store = entry
        .get("backups")
        .and_then(|backups| backups.get("backupStore"));
    let Some(node) = store.filter(|store| store.text().is_some()) else {
        return Ok(None);
    };
    let parsed = location(source, node);
    parsed
        .map(Some)
        .map_err(|fault| fault.seen("path", "etcdClusters.backups.backupStore"))
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
    version: 3.6.12
    backups: {backupStore: s3://b/c.example/backups/etcd/main}
    etcdMembers:
    - {name: a, instanceGroup: control-plane, encryptedVolume: true}
    - {name: b, instanceGroup: control-plane}
  - name: cilium
    etcdMembers: []
  subnets: [{name: left, zone: us-east-1a}]
  somethingNew: {since: 1.99}
";

    #[test]
    fn etcd_clusters_are_read_with_members_and_backups() {
        let cluster = read_cluster("x", CLUSTER).expect("a good document");
        assert_eq!(cluster.name, "c.example");
        let [main, cilium] = cluster.etcd.clusters.as_slice() else {
            panic!("{cluster:?}")
        };
        let names: Vec<&str> = main
            .members
            .iter()
            .map(|member| member.name.as_str())
            .collect();
        assert_eq!(names, ["a", "b"]);
        assert!(main.members[0].encrypted && !main.members[1].encrypted);
        let store = main.backup_store.as_ref().map(ToString::to_string);
        assert_eq!(store.as_deref(), Some("s3://b/c.example/backups/etcd/main"));
        assert_eq!((cilium.name.as_str(), cilium.members.len()), ("cilium", 0));
        let group = "kind: InstanceGroup\nspec: {role: Master, subnets: [left, gone]}\n";
        let zones = cluster.etcd.zones_of("g", group);
        assert_eq!(zones, Ok(vec!["us-east-1a".to_owned()]));
    }

    #[test]
    fn the_newer_api_version_is_read_as_the_older_one() {
        let newer = CLUSTER.replace("etcdMembers", "members").replace(
            "  subnets: [{name: left, zone: us-east-1a}]",
            "  networking: {subnets: [{name: left, zone: us-east-1a}]}",
        );
        assert_eq!(read_cluster("x", &newer), read_cluster("x", CLUSTER));
    }

    #[test]
    fn cloud_and_directory_are_read_from_either_api_version() {
        let read = |more: &str| {
            let text = format!("metadata: {{name: c}}\nspec:\n  a: b\n{more}");
            let cluster = read_cluster("x", &text).expect("a good document");
            (cluster.cloud, cluster.base.map(|base| base.to_string()))
        };
        let wanted = (Some("aws".to_owned()), Some("s3://b/c".to_owned()));
        assert_eq!(
            read("  cloudProvider: aws\n  configBase: s3://b/c\n"),
            wanted
        );
        let newer = "  cloudProvider: {aws: {}}\n  configStore: {base: s3://b/c}\n";
        assert_eq!(read(newer), wanted);
        assert_eq!(read("  configBase: gs://b/c\n"), (None, None));
    }

    #[test]
    fn what_is_wrong_is_shown_with_its_place() {
        for (from, to, code, line) in [
            (
                "kind: Cluster",
                "kind: InstanceGroup",
                Code::ConfigWrongType,
                "2",
            ),
            ("name: c.example", "", Code::ConfigMissingKey, "2"),
            (
                "name: main\n    version",
                "version",
                Code::ConfigMissingKey,
                "6",
            ),
            ("name: a, ", "", Code::ConfigMissingKey, "10"),
            ("s3://b/c", "gs://b/c", Code::ConfigLocationUnusable, "8"),
            ("metadata: {", "metadata: {[", Code::ConfigYamlSyntax, "3"),
        ] {
            let text = CLUSTER.replacen(from, to, 1);
            let fault = read_cluster("x", &text).expect_err(to);
            assert_eq!(fault.code, code, "{to}");
            assert_eq!(fault.evidence_named("line"), Some(line), "{to}: {fault}");
            if from == "name: a, " {
                let path = Some("etcdClusters.etcdMembers.name");
                assert_eq!(fault.evidence_named("path"), path);
            }
        }
    }
}
