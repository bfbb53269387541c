//! The seven classes of failure: what the engine does about each, and the exit status.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of failure a fault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// What we wait for has not happened; waited for quietly until its deadline.
    NotYet,
    /// The world hiccupped; retried with full jitter, each try reported.
    Transient,
    /// Someone else changed the world; observed and planned again, three times at most.
    Conflict,
    /// IAM or the kernel said no; a short grace, then the boot stops.
    Denied,
    /// The spec or bytes are wrong; the boot stops.
    Invalid,
    /// Going on could destroy data or split a cluster; the boot stops and touches nothing.
    Refused,
    /// An invariant of ours is broken; the boot stops and asks for a report.
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
            Self::NotYet => "what is waited for has not happened by its deadline",
            Self::Transient => "the world hiccupped: a throttle, a 5xx, a time-out",
            Self::Conflict => "someone else changed the world meanwhile",
            Self::Denied => "IAM or the kernel said no",
            Self::Invalid => "the spec or the bytes are wrong",
            Self::Refused => "going on could destroy data or split a cluster",
            Self::Bug => "an invariant of the agent is broken",
        }
    }

    /// What the agent does about it in a boot, and what then becomes of the boot.
    pub fn handling(self) -> &'static str {
        match self {
            Self::NotYet => {
                "waits for it until the phase's deadline; then the boot fails, and systemd starts the agent again"
            }
            Self::Transient => {
                "tries again with growing pauses until the deadline; then the boot fails, and systemd starts the agent again"
            }
            Self::Conflict => {
                "looks afresh and plans the phase anew, three times; then the boot fails, and systemd starts the agent again"
            }
            Self::Denied => {
                "tries again for half a minute, as new permissions take some time; then the boot fails and is not started again by itself"
            }
            Self::Invalid => {
                "ends the boot at once; it is not started again by itself, as only a change of what is wrong helps"
            }
            Self::Refused => {
                "ends the boot at once and touches nothing; it is not started again by itself, as a person has to decide"
            }
            Self::Bug => {
                "ends the boot at once; it is not started again by itself: please report it"
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
