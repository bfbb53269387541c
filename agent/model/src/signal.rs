//! What an operator asks the agent to tell whoever replaces or watches the node, once a boot has ended. Nothing of it is
//! told unless it was asked for.

use crate::fault::Class;
use crate::redact::Secret;
use std::fmt;
use std::str::FromStr;

/// What is asked for; nothing, unless an operator says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignalConfig {
    /// What is told of a boot that failed for good, in this order.
    pub on_fatal: Vec<OnFatal>,
    /// What is told of a node that is ready, in this order.
    pub on_ready: Vec<OnReady>,
    /// Whether the end of a boot is an event of the Node object.
    pub node_event: bool,
}

/// One thing that is told of a boot that failed for good: `set-unhealthy` or `abandon:HOOK`, and which faults it is told
/// of, as `:refused` or `:all` after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnFatal {
    pub what: Fatal,
    pub reach: FaultReach,
}

/// What may be told of a boot that failed for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fatal {
    /// The Auto Scaling group is told that the instance is unhealthy, and replaces it.
    SetUnhealthy,
    /// The launch that waits at this lifecycle hook is abandoned, and the group launches another instance.
    Abandon(HookName),
}

/// Of which faults something is told. Each holds the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum FaultReach {
    /// Permissions, wrong specs, bugs, and failures that passed for temporary until the restarts were used up.
    #[default]
    Broken,
    Refused,
    /// And what is wrong with the volumes of a control plane, which no other reach holds: another instance meets the same
    /// volumes, and with this one goes the machine on which it could be seen why.
    All,
}

/// One thing that is told of a node that is ready: `continue:HOOK`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnReady {
    /// The lifecycle hook at which the launch goes on.
    pub hook: HookName,
}

/// The name of a lifecycle hook: letters, digits, `-`, `_` and `/`, at most 255 of them (EC2 Auto Scaling API reference,
/// `CompleteLifecycleAction`, read 2026-11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookName(String);

/// Why a word asks for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseSignalError {
    /// It is not of the grammar.
    #[error("{word:?} is not {expected}")]
    Unknown {
        word: String,
        expected: &'static str,
    },
    /// No hook has such a name.
    #[error("{name:?} is no name of a lifecycle hook")]
    Hook { name: String },
}

impl HookName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HookName {
    type Err = ParseSignalError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
        if name.is_empty() || name.len() > 255 || !name.chars().all(is_plain) {
            let name = name.to_owned();
            return Err(ParseSignalError::Hook { name });
        }
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for HookName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for OnFatal {
    type Err = ParseSignalError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let unknown = || ParseSignalError::Unknown {
            word: word.to_owned(),
            expected: "set-unhealthy or abandon:HOOK, with :refused or :all after it or neither",
        };
        let mut parts = word.split(':');
        let what = match (parts.next(), word.starts_with("abandon:")) {
            (Some("set-unhealthy"), _) => Fatal::SetUnhealthy,
            (Some("abandon"), true) => {
                Fatal::Abandon(parts.next().unwrap_or_default().parse::<HookName>()?)
            }
            _ => return Err(unknown()),
        };
        let reach = match (parts.next(), parts.next()) {
            (None, None) => FaultReach::Broken,
            (Some("refused"), None) => FaultReach::Refused,
            (Some("all"), None) => FaultReach::All,
            _ => return Err(unknown()),
        };
        Ok(Self { what, reach })
    }
}

impl FromStr for OnReady {
    type Err = ParseSignalError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let Some(hook) = word.strip_prefix("continue:") else {
            return Err(ParseSignalError::Unknown {
                word: word.to_owned(),
                expected: "continue:HOOK",
            });
        };
        hook.parse().map(|hook| Self { hook })
    }
}

/// How a boot ended, as far as it decides what is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Ready,
    /// The agent was told to stop: nothing is known to be wrong.
    Stopped,
    Failed {
        class: Class,
        /// Whether the fault is one of storage.
        is_of_storage: bool,
        /// Whether the node is known to be a worker.
        is_worker: bool,
        /// How many boots failed within the time in which systemd counts starts, this one included.
        failed_lately: usize,
    },
}

/// How the action of a lifecycle hook is completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCompletion {
    pub group: String,
    pub hook: HookName,
    pub instance_id: String,
    pub result: HookResult,
}

/// How a launch goes on after a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookResult {
    /// The instance goes into service.
    Continue,
    Abandon,
}

/// How kubelet comes to its API server. Certificates and key are PEM.
#[derive(Debug, Clone)]
pub struct ApiAccess {
    pub server: String,
    /// The cluster's CAs; empty for a server that speaks plain http.
    pub ca_bundle: Vec<u8>,
    pub certificate: Vec<u8>,
    pub key: Secret<Vec<u8>>,
}

/// An event of a Node object, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEvent {
    /// Its own name. One that is there already is this one: whoever sends it twice sends one.
    pub name: String,
    pub namespace: String,
    pub json: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_fatal(word: &str) -> Result<OnFatal, ParseSignalError> {
        word.parse()
    }

    #[test]
    fn what_is_told_of_a_fatal_boot_is_one_word_with_its_reach() {
        let hook = |name: &str| Fatal::Abandon(HookName(name.to_owned()));
        for (word, what, reach) in [
            ("set-unhealthy", Fatal::SetUnhealthy, FaultReach::Broken),
            (
                "set-unhealthy:refused",
                Fatal::SetUnhealthy,
                FaultReach::Refused,
            ),
            ("set-unhealthy:all", Fatal::SetUnhealthy, FaultReach::All),
            (
                "abandon:kops/launch_1",
                hook("kops/launch_1"),
                FaultReach::Broken,
            ),
            ("abandon:launch:all", hook("launch"), FaultReach::All),
            ("abandon:all", hook("all"), FaultReach::Broken),
        ] {
            assert_eq!(on_fatal(word), Ok(OnFatal { what, reach }), "{word}");
        }
    }

    #[test]
    fn a_word_that_asks_for_something_else_is_refused() {
        for word in [
            "",
            "terminate",
            "abandon",
            "abandon:",
            "abandon:a b",
            "abandon:launch:",
            "abandon:launch:all:all",
            "set-unhealthy:",
            "set-unhealthy:none",
            "set-unhealthy:all,",
            " set-unhealthy",
        ] {
            assert!(on_fatal(word).is_err(), "{word:?}");
        }
        let long = "h".repeat(256);
        assert!(long.parse::<HookName>().is_err());
        assert!(long[1..].parse::<HookName>().is_ok());
    }

    #[test]
    fn only_a_hook_is_continued() {
        let requested = "continue:launch".parse::<OnReady>();
        assert_eq!(
            requested.map(|requested| requested.hook.to_string()),
            Ok("launch".to_owned())
        );
        for word in ["continue", "continue:", "abandon:launch", "launch"] {
            assert!(word.parse::<OnReady>().is_err(), "{word:?}");
        }
    }
}
