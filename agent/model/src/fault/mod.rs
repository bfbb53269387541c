//! How things fail: a stable code, what happened, its causes, the evidence, and what to do.

mod catalog;
mod class;
mod page;
mod sample;

pub use catalog::{Code, Entry};
pub use class::Class;
pub use page::Page;

use crate::redact::scrub;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One piece of evidence: a name and what was seen, in the operator's terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What the value is, such as `url` or `line`.
    pub name: String,
    pub value: String,
}

/// A failure as it is reported: to the ledger, the journal, HTTP and the operator.
///
/// Every text in it went through [`scrub`], so a fault can be shown anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The stable code; its catalogue row has class, why and the general remedy.
    pub code: Code,
    /// What happened, with the values: lower case, no full stop.
    pub summary: String,
    /// The chain of causes, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// The exact remedy for this case, where one can be named; else the catalogue's stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Fault {
    /// A fault with a summary and nothing else yet.
    pub fn new(code: Code, summary: impl Into<String>) -> Self {
        Self {
            code,
            summary: scrub(&summary.into()),
            causes: Vec::new(),
            evidence: Vec::new(),
            remedy: None,
        }
    }

    /// Adds a cause, outermost first.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(scrub(&cause.into()));
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

    /// Names the exact remedy for this case.
    #[must_use]
    pub fn remedied_by(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(scrub(&remedy.into()));
        self
    }

    /// The class, which decides retries and the exit status.
    pub fn class(&self) -> Class {
        self.code.entry().class
    }

    /// What to do: the case's own remedy, or the catalogue's.
    pub fn remedy_text(&self) -> &str {
        self.remedy.as_deref().unwrap_or(self.code.entry().remedy)
    }

    /// The value of the evidence called `name`.
    pub fn evidence_named(&self, name: &str) -> Option<&str> {
        self.evidence
            .iter()
            .find(|piece| piece.name == name)
            .map(|piece| piece.value.as_str())
    }
}

/// One line: code, summary and causes; evidence and remedy are the renderer's.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.summary)?;
        for cause in &self.causes {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_prints_its_code_summary_and_causes() {
        let fault = Fault::new(Code::AssetsUnreachable, "kubelet could not be fetched")
            .caused_by("https://mirror/x answered 503");
        let text =
            "assets.unreachable: kubelet could not be fetched: https://mirror/x answered 503";
        assert_eq!(fault.to_string(), text);
    }

    #[test]
    fn no_text_of_a_fault_keeps_a_credential() {
        let fault = Fault::new(Code::AssetsUnreachable, "GET https://u:secret@h/x")
            .caused_by("Bearer abcdef")
            .seen("url", "https://h/x?X-Amz-Signature=deadbeef");
        let text = serde_json::to_string(&fault).expect("a fault serialises");
        for secret in ["secret", "abcdef", "deadbeef"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}
