//! The arguments of `iam`.

use super::examples;
use clap::{Args, Subcommand, ValueEnum};
use quake_model::iam::Caller;
use quake_model::location::Location;

#[derive(Debug, Clone, Args)]
pub(crate) struct IamArguments {
    #[command(subcommand)]
    pub(crate) command: IamCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum IamCommand {
    /// Print the IAM policy of a role: only the calls that the agent makes
    #[command(after_help = examples::IAM)]
    Policy(PolicyArguments),
}

/// The role of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyRole {
    /// Nodes that run the control plane and etcd
    ControlPlane,
    /// All other nodes
    Worker,
    /// Operators who inspect and tag volumes, and read boot reports, from a workstation
    Operator,
}

impl From<PolicyRole> for Caller {
    fn from(role: PolicyRole) -> Self {
        match role {
            PolicyRole::ControlPlane => Self::ControlPlane,
            PolicyRole::Worker => Self::Worker,
            PolicyRole::Operator => Self::Operator,
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PolicyArguments {
    /// The role of the policy
    #[arg(long, value_enum, value_name = "ROLE")]
    pub(crate) role: PolicyRole,
    /// The name of the cluster in its tags
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: String,
    /// The state store: s3://bucket[/prefix], or the cluster's directory in it
    #[arg(long, value_name = "STATE_STORE")]
    pub(crate) state_store: Location,
    /// The region of instances and volumes [default: any]
    #[arg(long, value_name = "REGION")]
    pub(crate) region: Option<String>,
    /// The account of instances and volumes [default: any]
    #[arg(long, value_name = "ID")]
    pub(crate) account: Option<String>,
    /// The partition of all ARNs [default: the region's, else aws]
    #[arg(long, value_name = "PARTITION")]
    pub(crate) partition: Option<String>,
    /// Add the permissions for notifications to the Auto Scaling group (boot --on-fatal, --on-ready)
    #[arg(long)]
    pub(crate) with_signals: bool,
    /// Add the permissions of nodes that may have themselves replaced (boot --on-unhealthy), those for notifications included
    #[arg(long)]
    pub(crate) with_repair: bool,
    /// For nodes of kops 1.32 and newer: the objects that they read from the state store (workers read none), and calls for
    /// warm pools, IPv6-only clusters and pods with addresses of the instance
    #[arg(long)]
    pub(crate) with_newer_kops: bool,
    /// Add the permissions of a control plane of kops 1.8 to 1.15 to publish its names in this hosted zone (the zone's id)
    #[arg(long, value_name = "ZONE_ID")]
    pub(crate) zone: Option<String>,
    /// Add the permissions to read assets from this bucket: s3://bucket[/prefix], as in
    /// spec.assets.fileRepository; may be repeated
    #[arg(long, value_name = "LOCATION")]
    pub(crate) assets: Vec<Location>,
}
