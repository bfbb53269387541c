//! What names one boot.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

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
