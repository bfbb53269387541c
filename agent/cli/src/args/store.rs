//! The arguments of `store`.

use super::examples;
use super::seed::RootArguments;
use clap::{Args, Subcommand};

#[derive(Debug, Clone, Args)]
pub(crate) struct StoreArguments {
    #[command(subcommand)]
    pub(crate) verb: StoreVerb,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum StoreVerb {
    /// List the assets in the store, and the sets that need them
    #[command(after_help = examples::STORE_LIST)]
    List(RootArguments),
    /// Verify every byte of the store, or of the named assets; exits with 1 if one is damaged
    #[command(after_help = examples::STORE_VERIFY)]
    Verify(StoreVerifyArguments),
    /// Show assets that no boot and no seed needs, and remove them with --yes
    #[command(after_help = examples::STORE_GC)]
    Gc(GcArguments),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct StoreVerifyArguments {
    /// Digests, or the start of digests
    #[arg(value_name = "DIGEST")]
    pub(crate) digests: Vec<String>,
    /// Remove damaged assets, so that the next boot downloads them again
    #[arg(long)]
    pub(crate) remove: bool,
    #[command(flatten)]
    pub(crate) at: RootArguments,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct GcArguments {
    /// Remove the assets
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Only show the assets; the default
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) at: RootArguments,
}
