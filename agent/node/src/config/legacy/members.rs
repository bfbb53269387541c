//! What the stored cluster says about etcd's members and who runs them: all that the choice of volumes needs of it,
//! read without a node at hand.

use super::cluster::backup_store;
use super::documents::{Document, Form, KopsObject, read_cluster, read_instance_group};
use crate::config::reader::{etcd_cluster, zones_by_subnet, zones_of_group};
use quake_formats::yaml::Yaml;
use quake_model::fault::Fault;
use quake_model::spec::{EtcdCluster, EtcdMember, EtcdProvider};
use std::collections::{BTreeMap, BTreeSet};

/// The members of a cluster's etcd clusters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EtcdMembers {
    /// The cluster's name, where the document has it.
    pub cluster: Option<String>,
    /// Each etcd cluster and its members.
    pub etcd: Vec<(String, Vec<EtcdMember>)>,
    /// The zone of each subnet, by the subnet's name.
    subnets: BTreeMap<String, String>,
}

impl EtcdMembers {
    /// The instance groups that run members, sorted.
    pub fn instance_groups(&self) -> Vec<String> {
        let members = self.etcd.iter().flat_map(|(_, members)| members);
        let groups: BTreeSet<&String> = members
            .filter_map(|member| member.instance_group.as_ref())
            .collect();
        groups.into_iter().cloned().collect()
    }

    /// The zones of an instance group, from its stored document.
    ///
    /// # Errors
    ///
    /// As [`read_instance_group`].
    pub fn zones_of(&self, group: &Document) -> Result<Vec<String>, Fault> {
        let (group, _) = read_instance_group(group, Form::Stored)?;
        Ok(zones_of_group(&group.spec, &self.subnets))
    }
}

/// Reads etcd's members from the stored cluster.
///
/// # Errors
///
/// As [`read_cluster`], and `config.missing-key` for an etcd cluster or a member without a name.
pub fn read_etcd_members(cluster: &Document) -> Result<EtcdMembers, Fault> {
    let (cluster, _) = read_cluster(cluster, Form::Stored)?;
    let etcd = etcd_clusters(&cluster)?.into_iter();
    Ok(EtcdMembers {
        subnets: zones_by_subnet(cluster.spec.items_of("subnets").iter()),
        cluster: cluster.name,
        etcd: etcd.map(|etcd| (etcd.name, etcd.members)).collect(),
    })
}

/// Reads etcd's clusters from the stored cluster: who runs them, their versions and their backups.
///
/// # Errors
///
/// As [`read_etcd_members`].
pub fn read_etcd_clusters(cluster: &Document) -> Result<Vec<EtcdCluster>, Fault> {
    let (cluster, _) = read_cluster(cluster, Form::Stored)?;
    etcd_clusters(&cluster)
}

fn etcd_clusters(cluster: &KopsObject) -> Result<Vec<EtcdCluster>, Fault> {
    let entries = cluster.spec.items_of("etcdClusters").iter();
    let read = |entry: &Yaml| {
        // kops 1.12 and newer complete the provider; `manager` names its image.
        let is_managed = entry.text_of("provider") == Some("Manager")
            || (entry.get("provider").is_none() && entry.get("manager").is_some());
        Ok(EtcdCluster {
            provider: match is_managed {
                true => EtcdProvider::Manager,
                false => EtcdProvider::Legacy,
            },
            backup_store: backup_store(entry),
            ..etcd_cluster(&cluster.source, entry, &["etcdMembers"])?
        })
    };
    entries.map(read).collect()
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
        let members = read_etcd_members(&document(CLUSTER)).expect("it is a cluster");
        assert_eq!(members.cluster.as_deref(), Some("c.example"));
        assert_eq!(members.instance_groups(), ["master-a", "master-b"]);
        assert!(members.etcd[0].1[0].encrypted);
        let group = "kind: InstanceGroup\nspec: {role: Master, subnets: [right, gone]}\n";
        let zones = members.zones_of(&document(group)).expect("it is a group");
        assert_eq!(zones, ["us-east-1b"]);
    }

    #[test]
    fn a_stored_cluster_says_who_runs_etcd_and_where_its_backups_are() {
        let with =
            |text: &str| CLUSTER.replace("  - name: main\n", &format!("  - name: main\n{text}"));
        let read = |text: &str| {
            let found = read_etcd_clusters(&document(&with(text))).expect("it is a cluster");
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
