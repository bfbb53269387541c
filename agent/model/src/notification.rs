//! What is told to the outside once a boot has ended.

use crate::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// One thing that is told, and to whom.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    Notification {
        /// The boot's report, to the cluster's state store.
        BootReport = "boot-report",
        /// The end of the boot as an event of the Node object, to the API server.
        NodeEvent = "node-event",
        /// That the instance is unhealthy, to its Auto Scaling group.
        Unhealthy = "unhealthy",
        /// That a launch goes on, to the lifecycle hook it waits at.
        HookContinue = "hook-continue",
        /// That a launch is abandoned, to the lifecycle hook it waits at.
        HookAbandon = "hook-abandon",
        /// Something that only a newer agent tells.
        #[serde(other)]
        Unknown = "unknown",
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
