//! Arguments of `diagnose`.

use super::{EndpointArguments, OutputFormat, duration};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const EXAMPLES: &str = "\
Examples:
  quake-agent diagnose # exits with 1 if a check fails
  quake-agent diagnose --only volumes,etcd
  quake-agent diagnose --offline --output json # without network
  quake-agent diagnose --bundle node.tar.zst # for another team, with secrets masked
  quake-agent diagnose --root /tmp/bundle/node # the files of another node
  quake-agent diagnose --list";

#[derive(Debug, Clone, Args)]
pub(crate) struct DiagnoseArguments {
    /// The root of the node's files: / is this host, anything else a captured tree
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// Only these checks: names, or areas such as volumes
    #[arg(long, value_delimiter = ',', value_name = "CHECKS")]
    pub(crate) only: Vec<String>,
    /// All except these checks: names, or areas
    #[arg(long, value_delimiter = ',', value_name = "CHECKS")]
    pub(crate) skip: Vec<String>,
    /// Only checks with one of these tags
    #[arg(long, value_delimiter = ',', value_name = "TAGS")]
    pub(crate) tag: Vec<String>,
    /// Run only checks that need no network
    #[arg(long)]
    pub(crate) offline: bool,
    /// The deadline of one check
    #[arg(long, value_parser = duration, default_value = "2s", value_name = "TIME")]
    pub(crate) check_timeout: Duration,
    /// Write a bundle for another team into one file, with secrets masked
    #[arg(long, value_name = "FILE")]
    pub(crate) bundle: Option<PathBuf>,
    /// Encrypt the bundle to this public key of age (age1…); may be repeated
    #[arg(long, value_name = "KEY", requires = "bundle")]
    pub(crate) recipient: Vec<String>,
    /// Replace an existing bundle
    #[arg(long, requires = "bundle")]
    pub(crate) replace: bool,
    /// Do not mask secrets in the bundle
    #[arg(long, requires_all = ["bundle", "yes_i_know"])]
    pub(crate) no_redact: bool,
    /// Confirm that the bundle may have keys and passwords
    #[arg(long)]
    pub(crate) yes_i_know: bool,
    /// List the checks that were skipped, and why
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// List the checks and exit
    #[arg(long)]
    pub(crate) list: bool,
    /// Print the JSON schema of the report and exit
    #[arg(long)]
    pub(crate) schema: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
    #[command(flatten)]
    pub(crate) endpoint: EndpointArguments,
}
