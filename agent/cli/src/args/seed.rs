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
    /// Fill the store of an image, so that its instances need not fetch
    #[command(after_help = examples::SEED_BUILD)]
    Build(Box<BuildArguments>),
    /// Write assets into one file, for where no mirror can be reached
    #[command(after_help = examples::SEED_BUNDLE)]
    Bundle(Box<BundleArguments>),
    /// Take a bundle's assets into the store, each proven
    #[command(after_help = examples::SEED_LOAD)]
    Load(LoadArguments),
    /// Read every byte of the store, and look for what an image must not carry
    #[command(after_help = examples::SEED_VERIFY)]
    Verify(VerifyArguments),
    /// Show how much of an instance group's assets the store has
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
    /// Each of them
    Both,
}

/// Which assets.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("of_nodes").args(["instance_group", "kube_env"]).multiple(true))]
pub(crate) struct SeedSources {
    /// The state store of the instance groups: a directory, file:///path or s3://bucket[/cluster]
    #[arg(long, value_name = "STORE", requires = "of_nodes")]
    pub(crate) state_store: Option<String>,
    /// The cluster, where the state store holds several
    #[arg(long, value_name = "NAME", requires = "state_store")]
    pub(crate) cluster: Option<String>,
    /// An instance group whose nodes' assets are wanted; may be repeated
    #[arg(long, value_name = "NAME", requires = "state_store")]
    pub(crate) instance_group: Vec<String>,
    /// A node's kube_env.yaml, or its user data; since kops 1.32 with its state store; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) kube_env: Vec<PathBuf>,
    /// A list with one digest@url[,url] a line; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) list: Vec<PathBuf>,
    /// A container image's archive, digest@url[,url], which nodes give their runtime before kubelet starts; may be repeated
    #[arg(long, value_name = "DIGEST@URL")]
    pub(crate) image: Vec<String>,
    /// What this release of kops gives a node
    #[arg(long, value_name = "VERSION", requires = "kubernetes_version")]
    pub(crate) kops_version: Option<String>,
    /// The Kubernetes of its clusters
    #[arg(long, value_name = "VERSION", requires = "kops_version")]
    pub(crate) kubernetes_version: Option<String>,
    /// Where the files of a release are instead of at their publishers: BASE/<host>/<path>
    #[arg(long, value_name = "BASE", requires = "kops_version")]
    pub(crate) mirror: Option<String>,
    /// The architecture of the nodes of a release, or of kops 1.32 and newer [default: amd64]
    #[arg(long, value_enum, value_name = "ARCH")]
    pub(crate) arch: Option<Arch>,
}

/// Which root, and how results are printed.
#[derive(Debug, Clone, Args)]
pub(crate) struct RootArguments {
    /// The root of the image, or of the machine
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// How results are printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}

fn rules() -> PossibleValuesParser {
    let hygiene = quake_host::hygiene::rule_names();
    PossibleValuesParser::new(hygiene.into_iter().chain([EMPTY_STORE]))
}

/// What an image may carry.
#[derive(Debug, Clone, Args)]
pub(crate) struct AllowArguments {
    /// A rule that is not applied, such as authorized-keys; may be repeated
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
    /// Forget what earlier seeds brought: `store gc` may then take it
    #[arg(long)]
    pub(crate) forget_earlier: bool,
    /// Have the first boot from this store note what it touches, for later ones to read ahead
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
