//! Arguments of `timeline`.

use super::EndpointArguments;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What `timeline --help` ends with.
pub(super) const EXAMPLES: &str = "\
Examples:
  quake-agent timeline # the boot of this machine
  quake-agent timeline --output chrome > trace.json # for Perfetto or chrome://tracing
  quake-agent timeline --root captured # of files that were taken from a node";

/// How a timeline is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum TimelineFormat {
    /// Bars for people
    #[default]
    Text,
    /// One JSON object
    Json,
    /// A trace for Perfetto and chrome://tracing
    Chrome,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct TimelineArguments {
    #[command(flatten)]
    pub(crate) endpoint: EndpointArguments,
    /// Where the node's files are; of a captured tree, nothing of this machine is asked
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// The boot, as its ledger is called [default: the latest]
    #[arg(long, value_name = "ID")]
    pub(crate) boot: Option<String>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: TimelineFormat,
    /// Write systemd's times of this machine to a file, for a captured tree: run/quake-agent/systemd-times.json below it
    #[arg(long, value_name = "FILE")]
    pub(crate) save_systemd: Option<PathBuf>,
}
