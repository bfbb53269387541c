//! The arguments of `install`.

use super::conditions::StartupTaintArguments;
use clap::Args;
use std::path::PathBuf;

/// What is shown below the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  quake-agent install --start # this host: install, enable and start; does not wait for the node
  ./quake-agent install --root /mnt/image # an image: its instances start the agent at first boot
  quake-agent install --startup-taint readiness.k8s.io/quake.io-starting --startup-taint-remover controller
  quake-agent install --extras # also man pages and shell completions

Writes /usr/local/bin/quake-agent, units and a preset in /usr/local/lib/systemd, and tmpfiles.d/quake-agent.conf.
Enables both units. It writes only files that differ, so it is safe to run it at every boot.
Drop-ins and units of the same name in /etc/systemd/system take precedence.";

#[derive(Debug, Clone, Args)]
pub(crate) struct InstallArguments {
    /// The root of the host, or of an image
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// Also write man pages and shell completions to /usr/local/share
    #[arg(long)]
    pub(crate) extras: bool,
    #[command(flatten)]
    pub(crate) startup_taint: StartupTaintArguments,
    /// Start the agent, and do not wait for the node; only with --root /
    #[arg(long)]
    pub(crate) start: bool,
}
