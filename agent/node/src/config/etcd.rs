//! What the stored cluster of either kops generation says about etcd and about zones: all that the choice of volumes needs of
//! it, read without a node at hand.

use super::reader::{missing, texts};
use quake_formats::yaml::{Yaml, parse};
use quake_model::fault::Fault;
use quake_model::spec::{EtcdCluster, EtcdMember, EtcdProvider};
use std::collections::{BTreeMap, BTreeSet};

/// The etcd clusters of a stored cluster, and the zones of its subnets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEtcd {
    /// In the order of the document. Where their manifests are, it does not say.
    pub clusters: Vec<EtcdCluster>,
    /// The zone of each subnet, by the subnet's name.
    subnets: BTreeMap<String, String>,
}

impl StoredEtcd {
    /// What the cluster of this spec says; `read` reads one etcd cluster.
    pub(super) fn read(
        spec: &Yaml,
        read: impl Fn(&Yaml) -> Result<EtcdCluster, Fault>,
    ) -> Result<Self, Fault> {
        let entries = spec.items_of("etcdClusters").iter();
        // v1alpha3 moved the subnets below networking.
        let moved = spec.get("networking");
        let subnets = [Some(spec), moved].into_iter().flatten();
        let zone = |subnet: &Yaml| {
            let name = subnet.text_of("name")?.to_owned();
            Some((name, subnet.text_of("zone")?.to_owned()))
        };
        Ok(Self {
            clusters: entries.map(read).collect::<Result<_, _>>()?,
            subnets: subnets
                .flat_map(|parent| parent.items_of("subnets"))
                .filter_map(zone)
                .collect(),
        })
    }

    /// The instance groups that run members, sorted.
    pub fn instance_groups(&self) -> BTreeSet<&str> {
        let members = self.clusters.iter().flat_map(|etcd| &etcd.members);
        members
            .filter_map(|member| member.instance_group.as_deref())
            .collect()
    }

    /// The zones of an instance group, from its stored document: those that it names, and those of its subnets.
    ///
    /// # Errors
    ///
    /// `config.yaml-syntax`.
    pub fn zones_of(&self, source: &str, text: &str) -> Result<Vec<String>, Fault> {
        let root = parse(source, text)?;
        let Some(group) = root.get("spec") else {
            return Ok(Vec::new());
        };
        let subnets = texts(group, "subnets").into_iter();
        let own = subnets.filter_map(|subnet| self.subnets.get(&subnet).cloned());
        let zones: BTreeSet<String> = texts(group, "zones").into_iter().chain(own).collect();
        Ok(zones.into_iter().collect())
    }
}

/// The name of an etcd cluster.
pub(super) fn name_of<'a>(source: &str, entry: &'a Yaml) -> Result<&'a str, Fault> {
    let name = entry.text_of("name");
    name.ok_or_else(|| missing(source, entry, "etcdClusters.name"))
}

/// The etcd cluster called `name`, run by etcd-manager; an image or a version that is not given is empty.
pub(super) fn etcd_cluster(source: &str, name: &str, entry: &Yaml) -> Result<EtcdCluster, Fault> {
    // v1alpha2 calls the members etcdMembers, v1alpha3 members.
    let keys = ["etcdMembers", "members"].into_iter();
    let members = keys.flat_map(|key| entry.items_of(key));
    let text = |key: &str| entry.text_of(key).unwrap_or_default().to_owned();
    Ok(EtcdCluster {
        name: name.to_owned(),
        members: members
            .map(|member| etcd_member(source, member))
            .collect::<Result<_, _>>()?,
        version: text("version"),
        image: text("image"),
        provider: EtcdProvider::Manager,
        backup_store: None,
        manifest: None,
    })
}

fn etcd_member(source: &str, member: &Yaml) -> Result<EtcdMember, Fault> {
    let name = member.text_of("name");
    let name = name.ok_or_else(|| missing(source, member, "etcdClusters.etcdMembers.name"))?;
    Ok(EtcdMember {
        name: name.to_owned(),
        instance_group: member.text_of("instanceGroup").map(str::to_owned),
        encrypted: member.boolean_of("encryptedVolume").unwrap_or_default(),
    })
}
