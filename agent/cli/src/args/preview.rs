//! The arguments of `preview`.

use super::OutputFormat;
use clap::Args;
use std::path::PathBuf;

/// What is printed below the help.
const EXAMPLES: &str = "\
Examples:
  quake-agent preview s3://state-store/c.example.com ./edited-copy
  quake-agent preview s3://state-store/c.example.com@2026-11-20T03:00:00Z s3://state-store/c.example.com
  quake-agent preview ./before ./after --instance-group nodes --diff
  quake-agent preview ./before ./after --all --output json
  quake-agent preview ./boot-of-monday ./boot-of-friday # the documents of two recorded boots

Exit status: 0 nothing breaks, 1 something breaks, 2 something changes (with --detailed-exitcode)

docs: docs/operations.md";

#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PreviewArguments {
    /// The state store as it is: a directory, file:///path or s3://bucket[/cluster]; or a recorded boot. With @INSTANT (RFC 3339)
    /// behind it, a bucket that keeps versions as it was then
    #[arg(value_name = "OLD")]
    pub(crate) old: String,
    /// The state store as it would be
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
    /// Only the nodes of this instance group
    #[arg(long, value_name = "NAME")]
    pub(crate) instance_group: Option<String>,
    /// The nodes of all instance groups, which is the default
    #[arg(long, conflicts_with = "instance_group")]
    pub(crate) all: bool,
    /// The cluster, if a state store has several
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The instance: a JSON file with its facts [default: an m5.large in a test zone]
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// The distribution: an os-release file [default: from --identity, else Debian 12]
    #[arg(long, value_name = "FILE")]
    pub(crate) os_release: Option<PathBuf>,
    /// Show a unified diff of each file that may be shown
    #[arg(long)]
    pub(crate) diff: bool,
    /// Exit with 2 if something changes and nothing breaks
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}
