//! What is told to the outside once a boot has ended.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that is told, and to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notification {
    /// The boot's report, to the cluster's state store.
    BootReport,
    /// The end of the boot as an event of the Node object, to the API server.
    NodeEvent,
    /// That the instance is unhealthy, to its Auto Scaling group.
    Unhealthy,
    /// That a launch goes on, to the lifecycle hook it waits at.
    HookContinue,
    /// That a launch is abandoned, to the lifecycle hook it waits at.
    HookAbandon,
    /// Something that only a newer agent tells.
    #[serde(other)]
    Unknown,
}

impl Notification {
    /// Its name, as the ledger has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BootReport => "boot-report",
            Self::NodeEvent => "node-event",
            Self::Unhealthy => "unhealthy",
            Self::HookContinue => "hook-continue",
            Self::HookAbandon => "hook-abandon",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_newer_agent_tells_reads_as_unknown() {
        let read: Result<Notification, _> = serde_json::from_str("\"carrier-pigeon\"");
        assert_eq!(read.ok(), Some(Notification::Unknown));
        for reported in [
            Notification::BootReport,
            Notification::NodeEvent,
            Notification::Unhealthy,
            Notification::HookContinue,
            Notification::HookAbandon,
        ] {
            let text = serde_json::to_string(&reported).expect("it serialises");
            assert_eq!(text, format!("\"{reported}\""));
        }
    }
}
