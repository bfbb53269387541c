//! The way out of the machine is that of the agent: an operator's shell does not have the proxy, the certificates or the
//! endpoints that the agent's unit sets, and would find broken what is not.

use crate::args::diagnose::DiagnoseArguments;
use crate::commands::service::UNIT;
use crate::output;
use quake_host::systemd::Systemd;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Set where the agent's variables were taken over: once is enough.
const TAKEN_OVER: &str = "QUAKE_AGENT_ENVIRONMENT_TAKEN_OVER";

/// Starts this command over in the environment of the agent's unit, if that has variables about the way out that this
/// process lacks. Returns where there is nothing to take over.
pub(super) async fn take_over(arguments: &DiagnoseArguments) {
    let is_asked = arguments.root == Path::new("/") && !arguments.offline;
    if !is_asked || std::env::var_os(TAKEN_OVER).is_some() {
        return;
    }
    let systemd = Systemd::new();
    let read = tokio::time::timeout(arguments.check_timeout, systemd.read_environment(UNIT));
    // Without systemd there is no unit either, which a check tells.
    let Ok(Ok(unit)) = read.await else { return };
    let lacking = lacking(unit, |name| std::env::var_os(name).is_some());
    if lacking.is_empty() {
        return;
    }
    let mut words = std::env::args_os();
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = words.next() {
        command.arg0(name);
    }
    let error = command
        .args(words)
        .envs(lacking)
        .env(TAKEN_OVER, "1")
        .exec();
    output::error_line(format_args!(
        "warning: this looks without the environment of {UNIT}: {error}"
    ));
}

/// What `unit` sets about the way out and this process does not.
fn lacking(unit: BTreeMap<String, String>, has: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let lacks = |name: &str| is_of_the_way_out(name) && !has(name);
    unit.into_iter().filter(|(name, _)| lacks(name)).collect()
}

/// Proxies, certificates, and where AWS and the state store are.
fn is_of_the_way_out(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    upper.ends_with("_PROXY")
        || ["AWS_", "S3_", "SSL_CERT_"]
            .iter()
            .any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_about_the_way_out_and_is_not_there_is_taken_over() {
        let unit = [
            "HTTPS_PROXY",
            "no_proxy",
            "AWS_REGION",
            "S3_ENDPOINT",
            "HOME",
            "LANG",
        ];
        let unit = unit.map(|name| (name.to_owned(), "x".to_owned()));
        let taken = lacking(unit.into(), |name| name == "AWS_REGION");
        let taken: Vec<&str> = taken.keys().map(String::as_str).collect();
        assert_eq!(taken, ["HTTPS_PROXY", "S3_ENDPOINT", "no_proxy"]);
    }
}
