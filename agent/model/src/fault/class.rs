//! The seven classes of failure: what the engine does about each, and the exit status.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of failure a fault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// What the agent waits for has not happened. Retried until its deadline, without a warning for each attempt.
    NotYet,
    /// A temporary failure. Retried with full jitter; each attempt is reported.
    Transient,
    /// Somebody else changed the state. Observed and planned again, at most three times.
    Conflict,
    /// IAM or the kernel denied permission. Retried for a short time; then the boot ends.
    Denied,
    /// The spec or the bytes are wrong. The boot ends.
    Invalid,
    /// Continuing could destroy data or split a cluster. The boot ends and changes nothing.
    Refused,
    /// An invariant of the agent is broken. The boot ends and asks for a report.
    Bug,
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

    /// Every class, in the order of the reference: from what heals by itself to what is ours to fix.
    pub const ALL: &[Self] = &[
        Self::NotYet,
        Self::Transient,
        Self::Conflict,
        Self::Denied,
        Self::Invalid,
        Self::Refused,
        Self::Bug,
    ];

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

    /// The word for this class.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotYet => "not-yet",
            Self::Transient => "transient",
            Self::Conflict => "conflict",
            Self::Denied => "denied",
            Self::Invalid => "invalid",
            Self::Refused => "refused",
            Self::Bug => "bug",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
