//! The arguments of `addons`.

use super::OutputFormat;
use clap::{Args, Subcommand};
use quake_model::location::Location;
use std::path::PathBuf;

/// What is printed below the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  quake-agent addons list
  quake-agent addons plan coredns

docs: docs/addons.md";

const LIST: &str = "\
Examples:
  quake-agent addons list # on a control plane
  quake-agent addons list --kubeconfig ~/.kube/config \\
      --state-store s3://state-store --cluster c.example.com --output json
  quake-agent addons list --kubeconfig ~/.kube/config \\
      --channel s3://state-store/c.example.com/addons/bootstrap-channel.yaml";

const PLAN: &str = "\
Examples:
  quake-agent addons plan # all add-ons that are due
  quake-agent addons plan coredns networking.projectcalico.org --detailed-exitcode
  quake-agent addons plan --channel ./addons/my-channel.yaml";

const APPLY: &str = "\
Examples:
  quake-agent addons apply coredns
  quake-agent addons apply --all --output json";

#[derive(Debug, Clone, Args)]
pub(crate) struct AddonsArguments {
    #[command(subcommand)]
    pub(crate) verb: AddonsVerb,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum AddonsVerb {
    /// List the cluster's add-ons: desired version, applied version and state
    #[command(after_help = LIST)]
    List(AddonsListArguments),
    /// Show what an apply would change (server-side dry run)
    #[command(after_help = PLAN)]
    Plan(AddonsPlanArguments),
    /// Apply add-ons now, whether they are due or not
    #[command(after_help = APPLY)]
    Apply(AddonsApplyArguments),
}

/// Which cluster, and which add-ons.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClusterArguments {
    /// How to reach the API server
    #[arg(long, value_name = "FILE", default_value = "/var/lib/kops/kubeconfig")]
    pub(crate) kubeconfig: PathBuf,
    /// A channel: s3://bucket/key, file:///path or a file; may be repeated [default: on a node, its own channels]
    #[arg(long = "channel", value_name = "CHANNEL", value_parser = channel)]
    pub(crate) channels: Vec<Location>,
    /// The state store with the cluster's channel: s3://bucket[/cluster], file:///path or a directory
    #[arg(long, value_name = "STORE", conflicts_with = "channels")]
    pub(crate) state_store: Option<String>,
    /// The cluster, if the state store has several
    #[arg(long, value_name = "NAME", requires = "state_store")]
    pub(crate) cluster: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AddonsListArguments {
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AddonsPlanArguments {
    /// Only these add-ons, due or not; the part of a name before a dot is enough [default: all that are due]
    #[arg(value_name = "ADDON")]
    pub(crate) names: Vec<String>,
    /// Exit with 2 if something would change
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AddonsApplyArguments {
    /// The add-ons; the part of a name before a dot is enough
    #[arg(value_name = "ADDON", required_unless_present = "all")]
    pub(crate) names: Vec<String>,
    /// All add-ons of the channels
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
}

/// A location, or a file of this host.
fn channel(text: &str) -> Result<Location, String> {
    if text.contains("://") {
        let location: Result<Location, _> = text.parse();
        return location.map_err(|error| error.to_string());
    }
    let path = std::path::absolute(text).map_err(|error| error.to_string())?;
    let folders = path.components();
    let is_above = |part: std::path::Component<'_>| part == std::path::Component::ParentDir;
    if folders.clone().any(is_above) {
        return Err(format!("{text:?} has a `..` segment"));
    }
    let path: PathBuf = folders.collect();
    Ok(Location::file(&path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_a_location_or_a_file() {
        let of = |text: &str| channel(text).map(|location| location.to_string());
        assert_eq!(of("s3://b/c.yaml").as_deref(), Ok("s3://b/c.yaml"));
        assert_eq!(of("/srv/./c.yaml").as_deref(), Ok("file:///srv/c.yaml"));
        assert!(
            of("c.yaml")
                .is_ok_and(|text| text.starts_with("file:///") && text.ends_with("/c.yaml"))
        );
        assert!(of("https://h/c.yaml").is_err());
        assert!(of("a/../c.yaml").is_err());
    }
}
