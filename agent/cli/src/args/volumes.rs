//! The arguments of `volumes`.

use super::OutputFormat;
use super::examples;
use clap::{ArgAction, Args, Subcommand};
use quake_model::time::Timestamp;
use quake_volumes::{Slot, instant};
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct VolumesArguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Verb {
    /// List the cluster's etcd volumes, the instances that have them, and the decision about each
    #[command(after_help = examples::VOLUMES_LIST)]
    List(ListArguments),
    /// Explain each decision: its rule, and why the other volumes were not selected
    #[command(after_help = examples::VOLUMES_EXPLAIN)]
    Explain(ExplainVolumesArguments),
    /// Pin this volume to its slot
    #[command(after_help = examples::VOLUMES_PIN)]
    Pin(PinArguments),
    /// Remove a pin
    #[command(after_help = examples::VOLUMES_UNPIN)]
    Unpin(VolumeArguments),
    /// Never select this volume
    #[command(after_help = examples::VOLUMES_IGNORE)]
    Ignore(IgnoreArguments),
    /// Allow an ignored volume again
    #[command(after_help = examples::VOLUMES_UNIGNORE)]
    Unignore(VolumeArguments),
    /// Accept a volume for this cluster although it is from an earlier or unknown cluster
    #[command(after_help = examples::VOLUMES_ADOPT)]
    Adopt(AdoptArguments),
    /// Allow an empty filesystem for one hour although data is expected; deletes nothing
    #[command(after_help = examples::VOLUMES_WIPE)]
    Wipe(WipeArguments),
}

/// Which cluster, and what stands for EC2.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClusterArguments {
    /// The cluster [default: the node's cluster]
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The state store: s3://bucket[/cluster], file:///path or a directory
    #[arg(long, value_name = "STORE")]
    pub(crate) state_store: Option<String>,
    /// The region [default: AWS_REGION, the profile's region, or the node's region]
    #[arg(long, value_name = "REGION")]
    pub(crate) region: Option<String>,
    /// A file with the output of aws ec2 describe-volumes, instead of EC2
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) recorded: Option<PathBuf>,
}

impl ClusterArguments {
    /// Whether the command line names the cluster; else it is the node's own.
    pub(crate) fn names_one(&self) -> bool {
        self.cluster.is_some() || self.state_store.is_some()
    }
}

/// Where the facts come from, and which decision.
#[derive(Debug, Clone, Args)]
pub(crate) struct SourceArguments {
    #[command(flatten)]
    pub(crate) which: ClusterArguments,
    /// A file with the output of aws ec2 describe-instances
    #[arg(long, hide = true, value_name = "FILE", requires = "recorded")]
    pub(crate) recorded_instances: Option<PathBuf>,
    /// Only the decision of this instance group
    #[arg(long, value_name = "NAME")]
    pub(crate) instance_group: Option<String>,
    /// Only the decision in this zone
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// Only the decision of this instance
    #[arg(long, value_name = "ID")]
    pub(crate) instance_id: Option<String>,
    /// The cluster's uid, if the state store cannot be read
    #[arg(long, value_name = "UID")]
    pub(crate) cluster_uid: Option<String>,
    /// When the cluster's CA was made, if the state store cannot be read
    #[arg(long, value_name = "RFC3339", value_parser = time)]
    pub(crate) cluster_born: Option<Timestamp>,
    /// Treat a volume that is not listed as missing, not as late
    #[arg(long, hide = true, value_name = "BOOL", default_value_t = true, num_args = 0..=1,
          default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) settled: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) source: SourceArguments,
    /// Include volumes that the decision ignores
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainVolumesArguments {
    #[command(flatten)]
    pub(crate) source: SourceArguments,
    /// Only this slot
    #[arg(long, value_name = "SLOT")]
    pub(crate) slot: Option<Slot>,
    /// Decide recorded listings, each with its expected decision; exits with 1 if one differs
    #[arg(long, hide = true, value_name = "FILE", conflicts_with_all = [
        "cluster", "state_store", "region", "recorded", "instance_group", "zone", "instance_id",
        "cluster_uid", "cluster_born", "slot",
    ])]
    pub(crate) scenarios: Option<PathBuf>,
}

/// Whether to write tags.
#[derive(Debug, Clone, Args)]
pub(crate) struct WriteArguments {
    /// Write the tags
    #[arg(long, conflicts_with_all = ["dry_run", "recorded"])]
    pub(crate) yes: bool,
    /// Only show what would change; the default
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct VolumeArguments {
    /// The volume
    #[arg(value_name = "VOLUME", value_parser = volume_id)]
    pub(crate) volume: String,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
    #[command(flatten)]
    pub(crate) source: SourceArguments,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PinArguments {
    #[command(flatten)]
    pub(crate) volume: VolumeArguments,
    /// The slot, such as main/a
    #[arg(long, value_name = "SLOT")]
    pub(crate) slot: Slot,
    /// The volume that is pinned to the slot now; its pin is removed
    #[arg(long, value_name = "VOLUME", value_parser = volume_id)]
    pub(crate) instead_of: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct IgnoreArguments {
    #[command(flatten)]
    pub(crate) volume: VolumeArguments,
    /// The reason, for readers of the tag
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AdoptArguments {
    #[command(flatten)]
    pub(crate) volume: VolumeArguments,
    /// The slot in the volume's tags
    #[arg(long, value_name = "SLOT")]
    pub(crate) slot: Option<Slot>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct WipeArguments {
    #[command(flatten)]
    pub(crate) volume: VolumeArguments,
    /// The slot, such as main/a
    #[arg(long, value_name = "SLOT")]
    pub(crate) slot: Slot,
    /// Confirm that the volume has no data that is needed
    #[arg(long, required = true)]
    pub(crate) i_know_this_is_empty: bool,
}

/// An etcd cluster and a member of it.
pub(super) fn slot(text: &str) -> Result<String, String> {
    let slot: Result<Slot, _> = text.parse();
    slot.map(|slot| slot.to_string())
        .map_err(|error| error.to_string())
}

fn volume_id(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("vol-").unwrap_or_default();
    let plain = rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    match plain && !rest.is_empty() {
        true => Ok(text.to_owned()),
        false => Err(format!("{text:?} is not the id of a volume, vol-…")),
    }
}

fn time(text: &str) -> Result<Timestamp, String> {
    instant(text).ok_or_else(|| format!("{text:?} is not an instant such as 2020-01-03T10:05:11Z"))
}
