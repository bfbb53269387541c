//! The command line.

pub(crate) mod addons;
pub(crate) mod conditions;
pub(crate) mod diagnose;
mod endpoint;
pub(crate) mod etcd;
mod examples;
pub(crate) mod fleet;
pub(crate) mod generate;
pub(crate) mod help;
pub(crate) mod iam;
pub(crate) mod install;
mod listen;
pub(crate) mod nodeup;
pub(crate) mod preview;
pub(crate) mod repair;
pub(crate) mod seed;
pub(crate) mod signals;
pub(crate) mod store;
mod timeline;
pub(crate) mod user_data;
mod variable;
mod volumes;

pub(crate) use endpoint::{EndpointArguments, StatusArguments, WaitArguments};
pub(crate) use listen::Listen;
pub(crate) use timeline::{TimelineArguments, TimelineFormat};
pub(crate) use volumes::{
    ExplainVolumesArguments, ListArguments, SourceArguments, Verb, VolumeArguments,
    VolumesArguments,
};

use self::conditions::StartupTaintArguments;
use self::listen::listen;
use self::signals::SignalArguments;
use crate::simulated_parts::Part;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Turns a bare EC2 instance into a working Kubernetes node, and reports exactly what is wrong when it cannot.
#[derive(Debug, Parser)]
#[command(name = "quake-agent", version, max_term_width = 100)]
pub(crate) struct Arguments {
    /// When to use colour; auto means on a terminal, unless NO_COLOR or CLICOLOR_FORCE is set
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    // Followed before the words are parsed: see `output::follow_color`.
    pub(crate) color: clap::ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Boot this host as a node, then keep running and report its state
    #[command(after_help = examples::BOOT)]
    Boot(Box<BootArguments>),
    /// Boot a configuration into a scratch directory, without root rights and without AWS
    #[command(after_help = examples::REHEARSE)]
    Rehearse(Box<RehearseArguments>),
    /// Show what a boot would change, and change nothing
    #[command(after_help = examples::PLAN)]
    Plan(Box<PlanArguments>),
    /// Show what a change of a cluster's configuration changes and breaks on its nodes, before it is rolled
    Preview(Box<preview::PreviewArguments>),
    /// Check configuration files: unknown keys and wrong types are errors
    #[command(after_help = examples::CHECK)]
    Check(CheckArguments),
    /// Find out what is wrong with this node, and change nothing
    #[command(after_help = diagnose::EXAMPLES)]
    Diagnose(Box<diagnose::DiagnoseArguments>),
    /// Explain a fault code: why it matters, what to do, and what the agent does
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArguments),
    /// Show the state of this host's boot
    #[command(after_help = examples::STATUS)]
    Status(StatusArguments),
    /// Show where the time of a boot went, and its critical path
    #[command(after_help = timeline::EXAMPLES)]
    Timeline(TimelineArguments),
    /// Wait until the node is ready, or a condition holds
    #[command(after_help = examples::WAIT)]
    Wait(WaitArguments),
    /// List the boots of a cluster's nodes, from the reports in its state store
    #[command(after_help = fleet::EXAMPLES)]
    Fleet(fleet::FleetArguments),
    /// List, plan and apply the add-ons in the cluster's channels
    #[command(after_help = addons::EXAMPLES)]
    Addons(addons::AddonsArguments),
    /// Show the conditions of the Node object, or remove them
    #[command(after_help = conditions::EXAMPLES)]
    Conditions(conditions::ConditionsArguments),
    /// Print the IAM policies that the agent needs
    #[command(after_help = examples::IAM)]
    Iam(iam::IamArguments),
    /// Explain and resolve which volumes belong to etcd's members
    #[command(visible_alias = "volume", after_help = examples::VOLUMES)]
    Volumes(Box<VolumesArguments>),
    /// List and verify the backups of etcd, and restore one
    #[command(after_help = examples::ETCD)]
    Etcd(Box<etcd::EtcdArguments>),
    /// Put assets into an image, or into a bundle, before any node boots
    #[command(after_help = examples::SEED)]
    Seed(Box<seed::SeedArguments>),
    /// List, verify and clean the store of assets
    #[command(after_help = examples::STORE)]
    Store(store::StoreArguments),
    /// Render the user data that delivers the agent, and explain user data
    #[command(after_help = user_data::EXAMPLES)]
    UserData(Box<user_data::UserDataArguments>),
    /// Install this binary and its units on a host, or into an image
    #[command(after_help = install::EXAMPLES)]
    Install(install::InstallArguments),
    /// Replace kops' nodeup, with its flags: boot this host, or install the unit that boots it
    #[command(after_help = nodeup::EXAMPLES)]
    Nodeup(Box<nodeup::NodeupArguments>),
    /// Print the completion script of a shell
    Completions(generate::CompletionsArguments),
    /// Print the first manual page, or write one page for each command
    #[command(after_help = examples::MAN)]
    Man(generate::ManArguments),
    /// Print the version
    #[command(after_help = examples::VERSION)]
    Version(VersionArguments),
}

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object per line; the last one is the summary
    Json,
}

/// Where assets come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AssetMode {
    /// From their mirrors
    Fetch,
    /// Only from the store; nothing is fetched
    Cache,
    /// Placeholders instead of the assets
    Stub,
}

/// The sources of assets on a real host; placeholders, which tests use, are accepted and not shown.
fn assets_of_a_boot() -> impl TypedValueParser<Value = AssetMode> {
    let modes = AssetMode::value_variants().iter().filter_map(|mode| {
        let shown = mode.to_possible_value()?;
        Some(shown.hide(*mode == AssetMode::Stub))
    });
    PossibleValuesParser::new(modes).try_map(|text| AssetMode::from_str(&text, false))
}

/// Reads seconds (`90`, `90s`), minutes (`5m`) or hours (`1h`).
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits
        .parse()
        .map_err(|_| format!("{text:?} is not a duration such as 90s or 5m"))?;
    let seconds = match &text[digits.len()..] {
        "" | "s" => number,
        "ms" => number / 1000.0,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        unit => return Err(format!("{unit:?} is not a unit of time: ms, s, m or h")),
    };
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Where the configuration is, when not where the user data says.
#[derive(Debug, Clone, Args, Default)]
pub(crate) struct ConfigurationArguments {
    /// The node's kube_env.yaml [default: from the instance's user data]
    #[arg(long, value_name = "FILE")]
    pub(crate) kube_env: Option<PathBuf>,
    /// The cluster spec as it was at launch, for the drift report
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_spec: Option<PathBuf>,
    /// The instance group spec as it was at launch, for the drift report
    #[arg(long, value_name = "FILE")]
    pub(crate) ig_spec: Option<PathBuf>,
}

/// How long to wait, and where to report.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArguments {
    /// The root of the node's files
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Local files instead of downloads: DIR/<path of the URL>
    #[arg(long, value_name = "DIR")]
    pub(crate) assets_dir: Option<PathBuf>,
    /// Read every byte of the store's assets again, and do not trust earlier checks
    #[arg(long)]
    pub(crate) verify: bool,
    /// When the node is ready, record which files of the store the boot read, so that later boots read them ahead
    #[arg(long)]
    pub(crate) record: bool,
    /// Exit when the node is ready
    #[arg(long)]
    pub(crate) exit_when_ready: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
    /// The deadline of every wait, such as 90s or 5m
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) deadline: Option<Duration>,
    /// How long to retry after IAM denies a call, because new roles propagate late; after kops-controller denies one, twenty times as long
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) denied_grace: Option<Duration>,
    /// Let this etcd member, such as main/a, start empty although data is expected; may be repeated
    #[arg(long, value_parser = volumes::slot, value_name = "SLOT")]
    pub(crate) accept_empty: Vec<String>,
    /// Apply the cluster's add-ons instead of the pod kops-channels (also: QUAKE_AGENT_ADDONS=take-over)
    #[arg(long)]
    pub(crate) take_over_addons: bool,
    #[command(flatten)]
    pub(crate) startup_taint: StartupTaintArguments,
    /// The HTTP address of the endpoint (loopback only), or "off"
    #[arg(long, value_parser = listen, value_name = "ADDRESS")]
    pub(crate) listen: Option<Listen>,
    /// The unix socket of the endpoint
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BootArguments {
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArguments,
    #[command(flatten)]
    pub(crate) run: RunArguments,
    /// Where assets come from
    #[arg(long, value_parser = assets_of_a_boot(), default_value = "fetch", value_name = "MODE")]
    pub(crate) assets: AssetMode,
    /// Parts of the host to simulate, for tests; only with a scratch --root
    #[arg(
        long,
        hide = true,
        value_enum,
        value_delimiter = ',',
        value_name = "PARTS"
    )]
    pub(crate) simulate: Vec<Part>,
    /// Use stand-ins for keypairs that are not in the state store, for tests; only with a scratch --root
    #[arg(long, hide = true)]
    pub(crate) stand_in_credentials: bool,
    /// Do not write a boot report to the state store (also: QUAKE_AGENT_BOOT_REPORT=off)
    #[arg(long)]
    pub(crate) no_boot_report: bool,
    #[command(flatten)]
    pub(crate) signals: SignalArguments,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RehearseArguments {
    /// The state store: a directory, file:///path or s3://bucket[/cluster] [default: a bundled example]
    #[arg(value_name = "STATE_STORE")]
    pub(crate) state_store: Option<String>,
    /// The instance group of the node
    #[arg(long, value_name = "NAME")]
    pub(crate) instance_group: Option<String>,
    /// The cluster, if the state store has several
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Boot the bundled example of kops 1.8 to 1.15 instead of the one of kops 1.36
    #[arg(long, conflicts_with = "state_store")]
    pub(crate) legacy_example: bool,
    /// The instance: a JSON file with its facts [default: an m5.large in a test zone]
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// The distribution: an os-release file [default: from --identity, else Debian 12]
    #[arg(long, value_name = "FILE")]
    pub(crate) os_release: Option<PathBuf>,
    /// The CA that a simulated kops-controller signs with: a directory with kubernetes-ca/crt and kubernetes-ca/key
    /// [default: the CA of the state store, else a stand-in]
    #[arg(long, value_name = "DIR")]
    pub(crate) ca_dir: Option<PathBuf>,
    /// Where assets come from
    #[arg(long, value_enum, default_value = "stub", value_name = "MODE")]
    pub(crate) assets: AssetMode,
    /// Write a boot report to the state store, as a boot does
    #[arg(long)]
    pub(crate) boot_report: bool,
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArguments,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

/// Without arguments of a rehearsal, plans the next boot of this host.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) rehearse: RehearseArguments,
    /// Exit with 2 if changes are pending
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
}

impl PlanArguments {
    /// Whether this machine is planned, with its real metadata and region, and not a rehearsal.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        let rehearse = &self.rehearse;
        let named = rehearse.state_store.is_some()
            || rehearse.instance_group.is_some()
            || rehearse.cluster.is_some()
            || rehearse.legacy_example
            || rehearse.identity.is_some()
            || rehearse.os_release.is_some()
            || rehearse.configuration.kube_env.is_some()
            || rehearse.run.assets_dir.is_some();
        !named && rehearse.run.root.is_none()
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArguments {
    /// Files: kube_env.yaml, nodeupconfig.yaml, cluster.spec, cluster-completed.spec, instance groups, user data
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainArguments {
    /// A code such as assets.digest-mismatch, an area such as assets, an exit status, or a line from a log; without one, all codes are listed
    #[arg(value_name = "CODE")]
    pub(crate) words: Vec<String>,
    /// Explain every code
    #[arg(long, conflicts_with = "words")]
    pub(crate) all: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}

/// Where an agent serves its endpoint on a node.
const SOCKET: &str = "/run/quake-agent/quake-agent.sock";

impl EndpointArguments {
    /// Whether the command line names another place than the usual one.
    pub(crate) fn is_named(&self) -> bool {
        self.address.is_some() || self.socket != Path::new(SOCKET)
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct VersionArguments {
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn durations_take_a_unit_and_default_to_seconds() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert!(duration("5 parsecs").is_err());
    }
}
