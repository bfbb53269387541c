//! Where a cluster's backups and volumes are, as `volumes` finds them.

use crate::args::etcd::EtcdClusterArguments;
use crate::commands::running::{fail, usage};
use crate::commands::volumes::{Seen, look};
use quake_host::etcd::HostEtcd;
use quake_model::location::Location;
use quake_model::spec::EtcdCluster;

/// What is known of the cluster, and how its backups are read.
pub(super) struct Place {
    pub(super) seen: Seen,
    pub(super) host: HostEtcd,
    /// The cluster's etcd clusters.
    pub(super) etcd: Vec<EtcdCluster>,
    /// The cluster's directory in the state store.
    pub(super) base: Location,
}

/// Looks at the cluster.
///
/// # Errors
///
/// Prints what is wrong and returns the exit status.
pub(super) async fn place(arguments: &EtcdClusterArguments) -> Result<Place, u8> {
    let seen = look(&arguments.source(), None).await?;
    let Some(stored) = &seen.stored else {
        return Err(usage(
            "the state store has the backups of etcd: name it with --state-store",
        ));
    };
    let etcd = stored.read_etcd_clusters().await;
    Ok(Place {
        host: HostEtcd::new(stored.objects.clone(), arguments.etcd_bin.clone()),
        etcd: etcd.map_err(|fault| fail(&fault))?,
        base: stored.base.clone(),
        seen,
    })
}

impl Place {
    /// The etcd cluster of this name.
    ///
    /// # Errors
    ///
    /// Prints those that there are and returns the exit status.
    pub(super) fn cluster(&self, name: &str) -> Result<&EtcdCluster, u8> {
        let found = self.etcd.iter().find(|etcd| etcd.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.etcd.iter().map(|etcd| etcd.name.as_str()).collect();
            let names = names.join(", ");
            let cluster = &self.seen.facts.cluster;
            usage(&format!(
                "{cluster} has no etcd cluster {name}; it has: {names}"
            ))
        })
    }
}
