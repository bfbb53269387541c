//! Arguments of the commands that ask how a boot stands.

use super::{OutputFormat, SOCKET, duration};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How to reach the running agent.
#[derive(Debug, Clone, Args)]
pub(crate) struct EndpointArguments {
    /// The agent's unix socket
    #[arg(
        long,
        value_name = "PATH",
        default_value = SOCKET
    )]
    pub(crate) socket: PathBuf,
    /// The agent's HTTP address, instead of the socket
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<SocketAddr>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    pub(crate) endpoint: EndpointArguments,
    /// The root of the node's files, to read the record of a boot whose agent no longer runs
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// Follow the boot until the node is ready or the boot has failed for good
    #[arg(long)]
    pub(crate) watch: bool,
    /// How long to follow it [default: until it ends]
    #[arg(long, value_parser = duration, value_name = "TIME", requires = "watch")]
    pub(crate) timeout: Option<Duration>,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct WaitArguments {
    #[command(flatten)]
    pub(crate) endpoint: EndpointArguments,
    /// What to wait for: ready, or conditions such as assets,storage
    #[arg(
        long = "for",
        value_delimiter = ',',
        default_value = "ready",
        value_name = "CONDITIONS"
    )]
    pub(crate) conditions: Vec<String>,
    /// How long to wait
    #[arg(long, value_parser = duration, default_value = "10m", value_name = "TIME")]
    pub(crate) timeout: Duration,
    /// The root of the node's files, to read the record of a failed boot
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// Keep waiting after the boot has failed for good, for example until an operator starts another
    #[arg(long)]
    pub(crate) ignore_failure: bool,
}
