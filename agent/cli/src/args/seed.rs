//! The arguments of `seed`.

use super::OutputFormat;
use super::examples;
use crate::commands::EMPTY_STORE;
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub(crate) struct SeedArguments {
    #[command(subcommand)]
    pub(crate) verb: SeedVerb,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SeedVerb {
    /// Fill the store of an image, so that its instances need no download
    #[command(after_help = examples::SEED_BUILD)]
    Build(Box<BuildArguments>),
    /// Write assets into one file, for nodes that reach no mirror
    #[command(after_help = examples::SEED_BUNDLE)]
    Bundle(Box<BundleArguments>),
    /// Load a bundle's assets into the store, and verify each
    #[command(after_help = examples::SEED_LOAD)]
    Load(LoadArguments),
    /// Verify every byte of the store, and find what an image must not contain
    #[command(after_help = examples::SEED_VERIFY)]
    Verify(VerifyArguments),
    /// Show which assets of an instance group the store has
    #[command(after_help = examples::SEED_SHOW)]
    Show(Box<ShowArguments>),
}

/// A processor architecture, as release files name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arch {
    /// 64-bit x86
    Amd64,
    /// 64-bit ARM
    Arm64,
    /// Both
    Both,
}

/// Which assets.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("of_nodes").args(["instance_group", "kube_env"]).multiple(true))]
pub(crate) struct SeedSources {
    /// The state store of the instance groups: a directory, file:///path or s3://bucket[/cluster]
    #[arg(long, value_name = "STORE", requires = "of_nodes")]
    pub(crate) state_store: Option<String>,
    /// The cluster, if the state store has several
    #[arg(long, value_name = "NAME", requires = "state_store")]
    pub(crate) cluster: Option<String>,
    /// The instance group of the nodes; may be repeated
    #[arg(long, value_name = "NAME", requires = "state_store")]
    pub(crate) instance_group: Vec<String>,
    /// A node's kube_env.yaml or user data; since kops 1.32 together with --state-store; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) kube_env: Vec<PathBuf>,
    /// A list with one digest@url[,url] per line; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) list: Vec<PathBuf>,
    /// The archive of a container image, digest@url[,url], which nodes import before kubelet starts; may be repeated
    #[arg(long, value_name = "DIGEST@URL")]
    pub(crate) image: Vec<String>,
    /// The assets of this release of kops
    #[arg(long, value_name = "VERSION", requires = "kubernetes_version")]
    pub(crate) kops_version: Option<String>,
    /// The Kubernetes version of its clusters
    #[arg(long, value_name = "VERSION", requires = "kops_version")]
    pub(crate) kubernetes_version: Option<String>,
    /// A mirror of the release's files: BASE/<host>/<path>
    #[arg(long, value_name = "BASE", requires = "kops_version")]
    pub(crate) mirror: Option<String>,
    /// The architecture of the nodes of a release, or of kops 1.32 and newer [default: amd64]
    #[arg(long, value_enum, value_name = "ARCH")]
    pub(crate) arch: Option<Arch>,
}

/// Which root, and how results are printed.
#[derive(Debug, Clone, Args)]
pub(crate) struct RootArguments {
    /// The root of the image, or of the host
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}

fn rules() -> PossibleValuesParser {
    let hygiene = quake_host::hygiene::rule_names();
    PossibleValuesParser::new(hygiene.into_iter().chain([EMPTY_STORE]))
}

/// What an image may contain.
#[derive(Debug, Clone, Args)]
pub(crate) struct AllowArguments {
    /// Skip this rule, such as authorized-keys; may be repeated
    #[arg(long, value_name = "RULE", value_parser = rules())]
    pub(crate) allow: Vec<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BuildArguments {
    #[command(flatten)]
    pub(crate) sources: SeedSources,
    #[command(flatten)]
    pub(crate) at: RootArguments,
    #[command(flatten)]
    pub(crate) allow: AllowArguments,
    /// Release the assets of earlier seeds: `store gc` may then remove them
    #[arg(long)]
    pub(crate) forget_earlier: bool,
    /// Let the first boot from this store record which files it reads, so that later boots read them ahead
    #[arg(long)]
    pub(crate) record: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BundleArguments {
    #[command(flatten)]
    pub(crate) sources: SeedSources,
    #[command(flatten)]
    pub(crate) at: RootArguments,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArguments {
    /// The bundle; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) bundle: PathBuf,
    #[command(flatten)]
    pub(crate) at: RootArguments,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    pub(crate) at: RootArguments,
    #[command(flatten)]
    pub(crate) allow: AllowArguments,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArguments {
    #[command(flatten)]
    pub(crate) sources: SeedSources,
    #[command(flatten)]
    pub(crate) at: RootArguments,
}
