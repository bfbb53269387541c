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
