//! The arguments of `nodeup`, which are nodeup's: one dash or two, and values after `=` or in the next word, as Go's
//! package `flag` reads them.

mod nodeup_args;

pub(crate) use nodeup_args::spelled;

use super::conditions::StartupTaintArguments;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What is shown below the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  quake-agent nodeup --conf=/opt/kops/conf/kube_env.yaml --dryrun # shows what would change
  quake-agent nodeup --install-systemd-unit --conf=/opt/kops/conf/kube_env.yaml --v=8 # as in kops' user data
  quake-agent nodeup --conf=s3://state-store/c.example.com/kube_env.yaml --retries=3

The same under the name nodeup: /opt/kops/bin/nodeup --conf=...; there the first word may also be a command of
quake-agent, as in /opt/kops/bin/nodeup status. Flags have one dash or two. An unknown flag exits with 2.
Started by systemd as kops-configuration.service it stays with the node, and ends with 75 for systemd to start it again;
else it ends with the node ready, and begins a boot that failed for a time again, as often as --retries says.";

/// Where changes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Target {
    /// On this host
    #[default]
    Direct,
    /// Nowhere: changes are only shown
    Dryrun,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct NodeupArguments {
    /// The boot configuration, kube_env.yaml: a file, file:///path or s3://bucket/key
    #[arg(long, value_name = "PLACE", default_value = "node.yaml")]
    pub(crate) conf: String,
    /// Accepted and ignored: assets are in the agent's store
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// How often to retry a boot that failed temporarily; -1 means for ever
    #[arg(long, value_name = "NUMBER", default_value_t = -1, allow_negative_numbers = true)]
    pub(crate) retries: i64,
    /// Show what would change, and change nothing
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true",
        value_name = "BOOL", action = clap::ArgAction::Set, value_parser = boolean)]
    pub(crate) dryrun: bool,
    /// Where changes are made; dryrun is the same as --dryrun
    #[arg(long, value_enum, default_value_t, value_name = "TARGET")]
    pub(crate) target: Target,
    /// Install, enable and start kops-configuration.service, which runs this with the same flags; do not wait for it
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true",
        value_name = "BOOL", action = clap::ArgAction::Set, value_parser = boolean)]
    pub(crate) install_systemd_unit: bool,
    /// The log level: 9 is QUAKE_AGENT_LOG=debug, 10 is trace; less logs only events
    #[arg(
        long,
        value_name = "LEVEL",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub(crate) v: i32,
    #[command(flatten)]
    pub(crate) startup_taint: StartupTaintArguments,
    #[command(flatten)]
    pub(crate) klog: KlogArguments,
}

/// Other flags of nodeup's logger. They are accepted and ignored: the agent logs to standard error.
#[derive(Debug, Clone, Args, PartialEq, Eq)]
pub(crate) struct KlogArguments {
    #[arg(long = "add_dir_header", hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = boolean)]
    add_dir_header: Option<bool>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = boolean)]
    alsologtostderr: Option<bool>,
    #[arg(long = "legacy_stderr_threshold_behavior", hide = true, num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_parser = boolean)]
    legacy_stderr_threshold_behavior: Option<bool>,
    #[arg(long = "log_backtrace_at", hide = true)]
    log_backtrace_at: Option<String>,
    #[arg(long = "log_dir", hide = true)]
    log_dir: Option<String>,
    #[arg(long = "log_file", hide = true)]
    log_file: Option<String>,
    #[arg(long = "log_file_max_size", hide = true)]
    log_file_max_size: Option<u64>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = boolean)]
    logtostderr: Option<bool>,
    #[arg(long = "one_output", hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = boolean)]
    one_output: Option<bool>,
    #[arg(long = "skip_headers", hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = boolean)]
    skip_headers: Option<bool>,
    #[arg(long = "skip_log_headers", hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = boolean)]
    skip_log_headers: Option<bool>,
    #[arg(long, hide = true)]
    stderrthreshold: Option<String>,
    #[arg(long, hide = true)]
    vmodule: Option<String>,
}

impl NodeupArguments {
    /// Whether nothing may be changed.
    pub(crate) fn is_dry(&self) -> bool {
        self.dryrun || self.target == Target::Dryrun
    }

    /// How often a boot is begun again; `None` for ever.
    pub(crate) fn tries_again(&self) -> Option<u32> {
        u32::try_from(self.retries).ok()
    }

    /// The flags that a unit runs this with; `conf` is where the configuration is, whatever directory a unit runs in.
    pub(crate) fn of_unit(&self, conf: &str) -> Vec<String> {
        let mut words = vec![format!("--conf={conf}")];
        if self.retries >= 0 {
            words.push(format!("--retries={}", self.retries));
        }
        if self.v != 0 {
            words.push(format!("--v={}", self.v));
        }
        words.extend(self.startup_taint.words());
        words
    }
}

/// Reads a boolean as Go's `strconv.ParseBool` does.
fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        other => Err(format!("{other:?} is neither true nor false")),
    }
}

#[cfg(test)]
mod tests;
