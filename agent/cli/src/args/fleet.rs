//! The arguments of `fleet`.

use super::{OutputFormat, duration};
use clap::Args;
use std::time::Duration;

/// What is printed below the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  quake-agent fleet --state-store s3://state-store --cluster c.example.com
  quake-agent fleet --state-store s3://state-store/c.example.com --since 24h --failed
  quake-agent fleet --state-store ./copy-of-the-store --instance-group nodes --output json
  quake-agent fleet --from-console --cluster c.example.com --since 1h";

#[derive(Debug, Clone, Args)]
pub(crate) struct FleetArguments {
    /// The state store: s3://bucket[/cluster], file:///path or a directory
    #[arg(long, value_name = "STORE", required_unless_present = "from_console")]
    pub(crate) state_store: Option<String>,
    /// The cluster, if the state store has several; required with --from-console
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Read EC2 console output instead of reports; one call per instance
    #[arg(long, requires = "cluster")]
    pub(crate) from_console: bool,
    /// With --from-console: read at most this many instances, the newest first
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 500,
        requires = "from_console"
    )]
    pub(crate) limit: usize,
    /// The region of the first request; the agent finds a bucket in another region [default: AWS_REGION, or the profile's]
    #[arg(long, value_name = "REGION")]
    pub(crate) region: Option<String>,
    /// Only the boots of this instance group
    #[arg(long, value_name = "NAME")]
    pub(crate) instance_group: Option<String>,
    /// Only boots that ended within this time, such as 90m or 24h; with --from-console, only instances launched within it
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) since: Option<Duration>,
    /// Only boots that did not become ready
    #[arg(long)]
    pub(crate) failed: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}
