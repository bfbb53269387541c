//! What a step did.

use serde::{Deserialize, Serialize};

/// What came of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It held already; nothing was written.
    Held,
    Changed,
    /// It was not applicable here, and why is in the step's event.
    Skipped,
    /// It would be brought about; only `plan` gives this.
    WouldChange,
}
