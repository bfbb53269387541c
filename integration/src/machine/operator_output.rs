//! What an operator is told of a boot, at each place where one looks: the unit, the console, the journal, `status`,
//! the endpoint.

use super::backend::MachineBackend;
use crate::waiting::{pause, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;

/// The directories that a boot writes files into and the system leaves alone afterwards; the agent's own record is not of the node.
const OF_THE_NODE: &str = "/etc /opt /srv /usr/local /var/lib/kubelet /var/lib/kube-proxy";

/// Files there that the system writes at each of its starts.
const OF_THE_SYSTEM: [&str; 5] = [
    "/etc/resolv.conf",
    "/etc/machine-id",
    "/etc/mtab",
    "/etc/hostname",
    "/etc/.updated",
];

/// What is told of the agent on a machine.
pub trait OperatorOutput: MachineBackend {
    /// A property of the agent's unit, as `systemctl show` has it.
    fn unit_shows(&self, property: &str) -> String {
        let script = format!("systemctl show --value -p {property} quake-agent.service");
        self.output(&script).trim().to_owned()
    }

    /// Waits until the agent's unit has failed, for so many seconds of a real machine; its process's exit status.
    ///
    /// # Errors
    ///
    /// Says what the unit shows instead.
    fn agent_fails(&self, seconds: u32) -> Result<i32, String> {
        if !self.comes_true("systemctl is-failed --quiet quake-agent.service", seconds) {
            let shown = format!("{} {}", self.unit_shows("ActiveState"), self.said());
            return Err(format!("it has not failed: {shown}"));
        }
        let status = self.unit_shows("ExecMainStatus");
        status.parse().map_err(|_| format!("no status: {status:?}"))
    }

    /// Waits until the journal of this boot has these words of the agent's, for so many seconds of a real machine.
    fn journal_says(&self, words: &str, seconds: u32) -> bool {
        let script = format!("journalctl -b -u quake-agent.service | grep -qF -- '{words}'");
        self.comes_true(&script, seconds)
    }

    /// Waits until the endpoint's status has these words, for so many seconds of a real machine; the status then.
    ///
    /// # Errors
    ///
    /// Says what the status and the console are instead.
    fn endpoint_says(&self, words: &str, seconds: u32) -> Result<String, String> {
        let mut reported = String::new();
        let second = self.second();
        let found = wait_until(second * seconds, || {
            reported = self.ask_agent("/v1/status").to_string();
            let found = reported.contains(words);
            if !found {
                pause(second / 4);
            }
            found
        });
        match found {
            true => Ok(reported),
            false => Err(format!(
                "no {words} in {reported}; console: {}",
                self.console()
            )),
        }
    }

    /// What `quake-agent status` says, whatever its exit status.
    fn said(&self) -> String {
        self.output("/usr/local/bin/quake-agent status 2>&1 || :")
    }

    /// The lines that the agent wrote to the console, of all boots.
    fn console_of_agent(&self) -> Vec<String> {
        let console = self.console();
        let lines = console
            .lines()
            .filter_map(|line| line.split_once("quake-agent: "));
        lines.map(|(_, said)| said.trim_end().to_owned()).collect()
    }

    /// The fault that the newest boot ended with; null where it did not fail.
    fn fault(&self) -> Value {
        self.last_event("boot-failed")["fault"].clone()
    }

    /// The steps that changed something in the newest boot.
    ///
    /// # Panics
    ///
    /// When its ledger cannot be read.
    fn changed_steps(&self) -> Vec<String> {
        let events = self.events();
        assert!(!events.is_empty(), "the newest boot has a ledger");
        let changed = events
            .iter()
            .filter(|it| it["event"] == "step-done" && it["outcome"] == "changed");
        changed
            .map(|it| it["step"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The node's files, by path: inode, times and size, so that one that was written again with the same bytes differs.
    fn node_files(&self) -> BTreeMap<String, String> {
        let script = format!(
            "find {OF_THE_NODE} -xdev \\( -type f -o -type l \\) -printf '%p\\t%i %T@ %C@ %s %m\\n' 2>/dev/null || :"
        );
        let listed = self.output(&script);
        let files = listed.lines().filter_map(|line| line.split_once('\t'));
        let of_node = files.filter(|(path, _)| !OF_THE_SYSTEM.contains(path));
        of_node
            .map(|(path, stat)| (path.to_owned(), stat.to_owned()))
            .collect()
    }
}

impl<T: MachineBackend> OperatorOutput for T {}

/// Asserts that every one of these is in what was told.
///
/// # Panics
///
/// When one is not; names it.
#[track_caller]
pub fn assert_reported(reported: &str, parts: &[&str]) {
    for part in parts {
        assert!(reported.contains(part), "{part} in: {reported}");
    }
}
