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
    /// List what is in the store, and which sets want it
    #[command(after_help = examples::STORE_LIST)]
    List(RootArguments),
    /// Read every byte of the store, or of what is named; 1 when something is not what it was
    #[command(after_help = examples::STORE_VERIFY)]
    Verify(StoreVerifyArguments),
    /// Show what no boot and no seed wants, and remove it with --yes
    #[command(after_help = examples::STORE_GC)]
    Gc(GcArguments),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct StoreVerifyArguments {
    /// Digests, or how they begin
    #[arg(value_name = "DIGEST")]
    pub(crate) digests: Vec<String>,
    /// Remove what is broken, so that the next boot fetches it again
    #[arg(long)]
    pub(crate) remove: bool,
    #[command(flatten)]
    pub(crate) at: RootArguments,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct GcArguments {
    /// Remove it
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Only show it; the default
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) at: RootArguments,
}
