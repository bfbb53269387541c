//! Arguments of `diagnose`.

use super::{EndpointArguments, OutputFormat, duration};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const EXAMPLES: &str = "\
Examples:
  quake-agent diagnose # what is wrong here; ends with 1 when anything is
  quake-agent diagnose --only volumes,etcd
  quake-agent diagnose --offline --output json # nothing leaves the machine
  quake-agent diagnose --bundle node.tar.zst # for somebody elsewhere, with secrets masked
  quake-agent diagnose --root /tmp/bundle/node # a tree that was captured elsewhere
  quake-agent diagnose --list";

#[derive(Debug, Clone, Args)]
pub(crate) struct DiagnoseArguments {
    /// Where the node's files are: / is this machine, anything else a captured tree
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// Only these checks: names, or areas such as volumes
    #[arg(long, value_delimiter = ',', value_name = "CHECKS")]
    pub(crate) only: Vec<String>,
    /// All but these checks: names, or areas
    #[arg(long, value_delimiter = ',', value_name = "CHECKS")]
    pub(crate) skip: Vec<String>,
    /// Only checks with one of these tags
    #[arg(long, value_delimiter = ',', value_name = "TAGS")]
    pub(crate) tag: Vec<String>,
    /// Look at nothing outside of this machine
    #[arg(long)]
    pub(crate) offline: bool,
    /// How long one look may take
    #[arg(long, value_parser = duration, default_value = "2s", value_name = "TIME")]
    pub(crate) check_timeout: Duration,
    /// Write everything that somebody elsewhere needs into one file, with secrets masked
    #[arg(long, value_name = "FILE")]
    pub(crate) bundle: Option<PathBuf>,
    /// Encrypt the bundle to this public key of age (age1…); may be repeated
    #[arg(long, value_name = "KEY", requires = "bundle")]
    pub(crate) recipient: Vec<String>,
    /// Replace the bundle that is there
    #[arg(long, requires = "bundle")]
    pub(crate) replace: bool,
    /// Leave secrets in the bundle as they are
    #[arg(long, requires_all = ["bundle", "yes_i_know"])]
    pub(crate) no_redact: bool,
    /// Say that the bundle may hold keys and passwords
    #[arg(long)]
    pub(crate) yes_i_know: bool,
    /// List the checks that were skipped, and why
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// List the checks and end
    #[arg(long)]
    pub(crate) list: bool,
    /// Print the JSON schema of the report and end
    #[arg(long)]
    pub(crate) schema: bool,
    /// How results are printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
    #[command(flatten)]
    pub(crate) endpoint: EndpointArguments,
}
