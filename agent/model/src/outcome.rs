//! The outcome of a step.

use serde::{Deserialize, Serialize};

/// The outcome of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The state was as wanted already; nothing was written. Ledgers of earlier releases say `held`.
    #[serde(alias = "held")]
    Unchanged,
    Changed,
    /// The step does not apply here; its event gives the reason.
    Skipped,
    /// The step would change the host; only `plan` gives this.
    WouldChange,
}
