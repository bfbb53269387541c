//! What names one boot, and how it stands.

use crate::phase::Phase;
use crate::time::Timestamp;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The unit that kops' user data starts; the agent takes its place on a node of kops 1.32 and newer.
pub const CONFIGURATION_UNIT: &str = "kops-configuration.service";

/// The name of one run of the agent: sorts by start, unique on its machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BootId(String);

impl BootId {
    /// Names the run that started at `started` in the process `pid`.
    pub fn new(started: Timestamp, pid: u32) -> Self {
        let text = started.to_string();
        let compact: String = text
            .chars()
            .filter(|c| !matches!(c, '-' | ':' | '.'))
            .collect();
        Self(format!("{compact}-{pid}"))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The kernel that a boot ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KernelRecord {
    /// Its own name for this start of the machine.
    pub boot: String,
    /// Milliseconds it had run at the boot's first event.
    #[serde(alias = "began_ms")]
    pub began_ms: u64,
}

words! {
    /// How a boot stands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    BootState {
        /// Finding out who it is.
        #[default]
        Starting = "starting",
        /// Finding out what to be.
        Configuring = "configuring",
        Preparing = "preparing",
        /// Starting services and waiting for them to answer.
        Joining = "joining",
        Ready = "ready",
        Failed = "failed",
        Stopped = "stopped",
    }
}

impl BootState {
    /// The later of two states of one boot: a boot never goes back.
    pub(crate) fn max_of(self, other: Self) -> Self {
        if (other as u8) > (self as u8) {
            other
        } else {
            self
        }
    }

    /// How a boot stands that is in this phase.
    pub(crate) fn in_phase(phase: Phase) -> Self {
        match phase {
            Phase::Identity => Self::Starting,
            Phase::Config => Self::Configuring,
            Phase::Network | Phase::Storage | Phase::Assets | Phase::Credentials | Phase::Files => {
                Self::Preparing
            }
            Phase::Services | Phase::Ready => Self::Joining,
        }
    }
}
