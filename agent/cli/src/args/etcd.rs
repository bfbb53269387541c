//! The arguments of `etcd`.

use super::volumes::{ClusterArguments, SourceArguments};
use super::{OutputFormat, examples};
use clap::{ArgGroup, Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct EtcdArguments {
    #[command(subcommand)]
    pub(crate) verb: EtcdVerb,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum EtcdVerb {
    /// List the backups of etcd in the cluster's backup stores, and verify one
    #[command(after_help = examples::ETCD_BACKUPS)]
    Backups(BackupsArguments),
    /// Plan, rehearse or execute the restore of an etcd cluster from a backup
    #[command(after_help = examples::ETCD_RESTORE)]
    Restore(RestoreArguments),
}

/// Which cluster, and the programs of etcd.
#[derive(Debug, Clone, Args)]
pub(crate) struct EtcdClusterArguments {
    #[command(flatten)]
    pub(crate) which: ClusterArguments,
    /// A directory with programs of etcd [default: those of the host]
    #[arg(long, value_name = "DIR")]
    pub(crate) etcd_bin: Option<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}

impl EtcdClusterArguments {
    /// The same cluster as `volumes` finds it.
    pub(crate) fn source(&self) -> SourceArguments {
        SourceArguments {
            which: self.which.clone(),
            recorded_instances: None,
            instance_group: None,
            zone: None,
            instance_id: None,
            cluster_uid: None,
            cluster_born: None,
            settled: true,
            output: self.output,
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BackupsArguments {
    #[command(flatten)]
    pub(crate) cluster: EtcdClusterArguments,
    /// Only this etcd cluster
    #[arg(long, value_name = "ETCD")]
    pub(crate) etcd: Option<String>,
    /// Fetch this backup, prove its checksum, count its keys, and restore it into a scratch etcd if the host has one
    #[arg(long, value_name = "BACKUP")]
    pub(crate) verify: Option<String>,
    /// The number of backups of each etcd cluster, the newest first
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub(crate) limit: usize,
}

#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("action").args(["plan", "rehearse", "execute"]))]
pub(crate) struct RestoreArguments {
    #[command(flatten)]
    pub(crate) cluster: EtcdClusterArguments,
    /// The etcd cluster
    #[arg(long, value_name = "ETCD", default_value = "main")]
    pub(crate) etcd: String,
    /// Show what a restore would do, and what it loses; the default
    #[arg(long)]
    pub(crate) plan: bool,
    /// Restore into a scratch etcd on this host and count its keys; the cluster is not touched
    #[arg(long)]
    pub(crate) rehearse: bool,
    /// Restore; needs --consent
    #[arg(long)]
    pub(crate) execute: bool,
    /// The backup [default: the newest that is complete]
    #[arg(long, value_name = "BACKUP", conflicts_with = "snapshot")]
    pub(crate) backup: Option<String>,
    /// A snapshot file instead of a backup, for clusters without etcd-manager
    #[arg(long, value_name = "FILE")]
    pub(crate) snapshot: Option<PathBuf>,
    /// The words that the plan of this restore prints
    #[arg(long, value_name = "WORDS", requires = "execute")]
    pub(crate) consent: Option<String>,
    /// Replace an etcd cluster that has a quorum, or may have one
    #[arg(long)]
    pub(crate) replace_healthy_quorum: bool,
    /// etcdutl is in etcd-manager's pods on each control-plane node, whatever their manifests say
    #[arg(long)]
    pub(crate) etcdutl_in_place: bool,
}
