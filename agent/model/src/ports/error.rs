//! What one attempt of an effect can come to, other than success.

use crate::fault::{Code, Evidence, Fault};
use crate::redact::scrub;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The condition an attempt met. The engine turns it, with what was attempted, into a fault's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// What was asked for does not exist.
    Missing,
    /// The container of what was asked for (bucket, unit file, module) does not exist.
    Unknown,
    /// Credentials, IAM or the kernel's permissions said no.
    Denied,
    /// The service asked us to slow down.
    Throttled,
    /// Nothing answered, or it answered with a failure of its own.
    Unreachable,
    /// The clock is too far off for the request to be accepted.
    ClockSkew,
    /// Someone else changed what the attempt relied on.
    Conflict,
    /// The bytes are not what they should be.
    Malformed,
    /// The bytes are well-formed and dangerous.
    Unsafe,
    /// The bytes have another digest than the one pinned.
    DigestMismatch,
    NoSpace,
    /// The host has no descriptor, thread or memory left for the attempt, which says nothing of what it was about.
    Exhausted,
    /// Something of another kind is in the way.
    Occupied,
    /// The effect started and did not come about in its time.
    TimedOut,
    /// The machine's own I/O failed.
    Io,
    /// It is not in a state for this yet.
    NotReady,
    /// There are as many as there may be.
    Limit,
    /// It cannot be, and waiting changes nothing.
    Impossible,
}

/// Why one attempt did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortError {
    pub condition: Condition,
    /// What happened: lower case, no full stop, with the values.
    pub summary: String,
    /// The chain of causes, outermost first.
    pub causes: Vec<String>,
    pub evidence: Vec<Evidence>,
    /// The exact remedy, where this effect knows it (an IAM action and resource).
    pub remedy: Option<String>,
}

impl PortError {
    /// An error with a summary and nothing else yet.
    pub fn new(condition: Condition, summary: impl Into<String>) -> Self {
        Self {
            condition,
            summary: scrub(&summary.into()),
            causes: Vec::new(),
            evidence: Vec::new(),
            remedy: None,
        }
    }

    /// Adds the chain of `error` and its sources as causes. Where one of them says that the host has nothing left for the
    /// attempt, that is its condition.
    #[must_use]
    pub fn because(mut self, error: &(dyn std::error::Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            if is_exhaustion(error) {
                self.condition = Condition::Exhausted;
            }
            let text = scrub(&error.to_string());
            if !text.is_empty() && self.causes.last() != Some(&text) {
                self.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    /// Adds a piece of evidence.
    #[must_use]
    pub fn seen(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.evidence.push(Evidence {
            name: name.to_owned(),
            value: scrub(&value.to_string()),
        });
        self
    }

    /// Names the exact remedy.
    #[must_use]
    pub fn remedied_by(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(scrub(&remedy.into()));
        self
    }

    /// The fault this error is, under `code`.
    pub fn into_fault(self, code: Code) -> Fault {
        let mut fault = Fault::new(code, self.summary);
        fault.causes = self.causes;
        fault.evidence = self.evidence;
        fault.remedy = self.remedy;
        fault
    }
}

/// ENOMEM, ENFILE and EMFILE: the same numbers on every architecture of Linux (asm-generic/errno-base.h).
const EXHAUSTION: [i32; 3] = [12, 23, 24];

/// EAGAIN: no further thread or process may be started; the same number as of a read that would block.
const AGAIN: i32 = 11;

fn is_exhaustion(error: &(dyn std::error::Error + 'static)) -> bool {
    let Some(error) = error.downcast_ref::<std::io::Error>() else {
        return false;
    };
    // An error of a library inside one of the operating system is no source of it.
    match (error.raw_os_error(), error.get_ref()) {
        (Some(number), _) => EXHAUSTION.contains(&number) || number == AGAIN,
        (None, Some(inner)) => is_exhaustion(inner),
        (None, None) => false,
    }
}

/// The summary alone; causes are walked by whoever prints the chain.
impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary)
    }
}

impl std::error::Error for PortError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Error;

    #[test]
    fn what_the_host_lacks_is_no_property_of_what_was_attempted() {
        let attempt = || PortError::new(Condition::Missing, "a file cannot be opened");
        for number in [11, 12, 23, 24] {
            let error = attempt().because(&Error::from_raw_os_error(number));
            assert_eq!(error.condition, Condition::Exhausted, "{number}");
            // Behind an error of a library.
            let error = attempt().because(&Error::other(Error::from_raw_os_error(number)));
            assert_eq!(error.condition, Condition::Exhausted, "{number}");
        }
        for number in [2, 5, 13, 28] {
            let error = attempt().because(&Error::from_raw_os_error(number));
            assert_eq!(error.condition, Condition::Missing, "{number}");
        }
    }
}
