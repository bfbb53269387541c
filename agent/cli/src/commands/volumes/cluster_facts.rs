//! Reads from the state store what the choice needs: etcd's members, their groups' zones, and the cluster's generation.

use crate::commands::state_store::{Generation, list_optional, read_ca, read_optional};
use quake_host::clock::SystemClock;
use quake_host::objects::StateStore;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::ports::Clock;
use quake_model::spec::{EtcdCluster, EtcdMember, EtcdProvider};
use quake_node::config::StoredEtcd;
use quake_node::config::current::{CLUSTER_OBJECT, read_cluster};
use quake_node::config::legacy::{Document, read_stored_etcd};
use quake_node::keyset;
use quake_volumes::{ClusterGeneration, cluster_generation};
use std::collections::BTreeMap;

/// A cluster's directory, and how it is read.
pub(crate) struct Stored {
    pub(crate) objects: StateStore,
    pub(crate) base: Location,
    pub(crate) generation: Generation,
}

/// The members of each etcd cluster, and the zones of the groups that run them.
pub(super) type Members = (
    Vec<(String, Vec<EtcdMember>)>,
    BTreeMap<String, Vec<String>>,
);

impl Stored {
    /// The stored cluster's members and the zones of the groups that run them.
    ///
    /// # Errors
    ///
    /// `config.cluster-spec-missing` where there is none; else what reading the objects comes to.
    pub(super) async fn read_members(&self) -> Result<Members, Fault> {
        let etcd = self.read_etcd().await?;
        let mut zones = BTreeMap::new();
        for group in etcd.instance_groups() {
            if let Some(document) = self.read_group(group).await? {
                let found = etcd.zones_of(&document.source, &document.text)?;
                zones.insert(group.to_owned(), found);
            }
        }
        let clusters = etcd.clusters.into_iter();
        let members = clusters.map(|etcd| (etcd.name, etcd.members));
        Ok((members.collect(), zones))
    }

    /// The stored cluster's etcd clusters. Where its documents name no backup store, it is where kops
    /// puts it.
    pub(crate) async fn read_etcd_clusters(&self) -> Result<Vec<EtcdCluster>, Fault> {
        let mut found = self.read_etcd().await?.clusters;
        for etcd in &mut found {
            if etcd.backup_store.is_none() && etcd.provider == EtcdProvider::Manager {
                etcd.backup_store = Some(self.base.join("backups/etcd").join(&etcd.name));
            }
        }
        Ok(found)
    }

    async fn read_etcd(&self) -> Result<StoredEtcd, Fault> {
        match self.generation {
            Generation::Legacy => read_stored_etcd(&self.read_spec("cluster.spec").await?),
            Generation::Current => {
                let document = self.read_spec(CLUSTER_OBJECT).await?;
                Ok(read_cluster(&document.source, &document.text)?.etcd)
            }
        }
    }

    async fn read_spec(&self, name: &str) -> Result<Document, Fault> {
        let location = self.base.join(name);
        let read = read_optional(&self.objects, &location).await?;
        read.ok_or_else(|| {
            let summary = "there is no such cluster in the state store";
            let remedy = "name the cluster and its state store as kops does: --cluster NAME --state-store s3://BUCKET";
            let fault = Fault::new(Code::ConfigClusterSpecMissing, summary);
            fault.seen("location", location).remedied_by(remedy)
        })
    }

    /// A group's document. A group that is gone has no zones; what its volumes say is all there is then.
    async fn read_group(&self, group: &str) -> Result<Option<Document>, Fault> {
        let location = self.base.join("instancegroup").join(group);
        read_optional(&self.objects, &location).await
    }

    /// The cluster's life, from its CA: a bundle, or one object for each certificate. Nothing is known of it where the store
    /// has none.
    pub(super) async fn read_cluster_generation(&self) -> Result<ClusterGeneration, Fault> {
        let ca_bundle = match self.generation {
            Generation::Legacy => self.read_older_ca_bundle().await?,
            Generation::Current => {
                let bundle = read_ca(&self.objects, &self.base).await?;
                bundle.iter().map(keyset::KeyBundle::certificates).collect()
            }
        };
        Ok(cluster_generation(&ca_bundle, SystemClock.now()))
    }

    async fn read_older_ca_bundle(&self) -> Result<Vec<String>, Fault> {
        for place in ["pki/issued/ca", "pki/private/ca"] {
            let bundle = self.base.join(place).join("keyset.yaml");
            if let Some(document) = read_optional(&self.objects, &bundle).await? {
                return keyset::read_ca_bundle(&document.source, &document.text);
            }
        }
        let issued = self.base.join("pki/issued/ca");
        let names = list_optional(&self.objects, &issued).await?;
        let mut ca_bundle = Vec::new();
        for name in names.iter().filter(|name| name.ends_with(".crt")) {
            let certificate = read_optional(&self.objects, &issued.join(name)).await?;
            ca_bundle.extend(certificate.map(|document| document.text));
        }
        Ok(ca_bundle)
    }
}
