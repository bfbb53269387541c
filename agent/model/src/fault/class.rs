//! The seven classes of failure: what the engine does about each, and the exit status.

use crate::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// What kind of failure a fault is. In the order of the reference: from what heals by itself to what is ours to fix.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    Class {
        /// What the agent waits for has not happened. Retried until its deadline, without a warning for each attempt.
        NotYet = "not-yet",
        /// A temporary failure. Retried with full jitter; each attempt is reported.
        Transient = "transient",
        /// Somebody else changed the state. Observed and planned again, at most three times.
        Conflict = "conflict",
        /// IAM or the kernel denied permission. Retried for a short time; then the boot ends.
        Denied = "denied",
        /// The spec or the bytes are wrong. The boot ends.
        Invalid = "invalid",
        /// Continuing could destroy data or split a cluster. The boot ends and changes nothing.
        Refused = "refused",
        /// An invariant of the agent is broken. The boot ends and asks for a report.
        Bug = "bug",
    }
}

impl Class {
    /// The process exit status of a boot that ended with this class.
    pub fn exit_status(self) -> u8 {
        match self {
            Self::NotYet | Self::Transient | Self::Conflict => 75,
            Self::Denied => 77,
            Self::Invalid => 78,
            Self::Refused => 80,
            Self::Bug => 70,
        }
    }

    /// Whether trying again, unchanged, may succeed.
    pub fn is_retried(self) -> bool {
        match self {
            Self::NotYet | Self::Transient | Self::Conflict | Self::Denied => true,
            Self::Invalid | Self::Refused | Self::Bug => false,
        }
    }

    /// What kind of failure it is, as a clause an operator can read.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::NotYet => "a condition was not true by its deadline",
            Self::Transient => "a temporary failure: throttling, a 5xx, a timeout",
            Self::Conflict => "somebody else changed the same state at the same time",
            Self::Denied => "IAM or the kernel denied permission",
            Self::Invalid => "the spec or the bytes are wrong",
            Self::Refused => "continuing could destroy data or split a cluster",
            Self::Bug => "an invariant of the agent is broken",
        }
    }

    /// What the agent does about it in a boot, and what then becomes of the boot.
    pub fn handling(self) -> &'static str {
        match self {
            Self::NotYet => {
                "retries until the phase's deadline; then the boot fails, and systemd starts the agent again"
            }
            Self::Transient => {
                "retries with backoff until the deadline; then the boot fails, and systemd starts the agent again"
            }
            Self::Conflict => {
                "observes again and plans the phase again, three times; then the boot fails, and systemd starts the agent again"
            }
            Self::Denied => {
                "retries for half a minute, because new permissions take some time; then the boot fails, and systemd does not start the agent again"
            }
            Self::Invalid => {
                "ends the boot at once; systemd does not start the agent again, because only a change of the input helps"
            }
            Self::Refused => {
                "ends the boot at once and changes nothing; systemd does not start the agent again, because a person must decide"
            }
            Self::Bug => {
                "ends the boot at once; systemd does not start the agent again; please report the fault"
            }
        }
    }
}
