//! The arguments of `install`.

use clap::Args;
use std::path::PathBuf;

/// What is shown below the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  quake-agent install --start # this machine: install, enable, start, and do not wait for the node
  ./quake-agent install --root /mnt/image # an image: its instances start the agent at their first boot
  quake-agent install --extras # also man pages and shell completions

Writes /usr/local/bin/quake-agent, units and a preset below /usr/local/lib/systemd, and tmpfiles.d/quake-agent.conf;
enables both units. A file that is right is not touched, so it may run at every boot. Drop-ins and units of the same
name in /etc/systemd/system win over these.";

#[derive(Debug, Clone, Args)]
pub(crate) struct InstallArguments {
    /// The root of the machine, or of an image
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// Also write man pages and shell completions below /usr/local/share
    #[arg(long)]
    pub(crate) extras: bool,
    /// Start the agent, without waiting for the node; only on the machine itself
    #[arg(long)]
    pub(crate) start: bool,
}
