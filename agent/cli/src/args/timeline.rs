//! Arguments of `timeline`.

use super::EndpointArguments;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What `timeline --help` ends with.
pub(super) const EXAMPLES: &str = "\
Examples:
  quake-agent timeline # the latest boot of this host
  quake-agent timeline --output chrome > trace.json # for Perfetto or chrome://tracing
  quake-agent timeline --root captured # from files of another node";

/// The output format.
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
    /// The root of the node's files; of a captured tree, only its files are read
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// The boot, by the name of its ledger [default: the latest]
    #[arg(long, value_name = "ID")]
    pub(crate) boot: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: TimelineFormat,
    /// Write systemd's times of this host to a file; a captured tree has it at run/quake-agent/systemd-times.json
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) save_systemd: Option<PathBuf>,
}
