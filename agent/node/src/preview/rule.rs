//! What breaks, as rows of tables: a stable id, how grave it is, why, what to do, and where the fact is from.

use serde::Serialize;

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Nodes, pods or the cluster stop to work.
    Breaks,
    /// It may be meant, and it needs a look before the roll.
    Risk,
}

impl Severity {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Breaks => "breaks",
            Self::Risk => "risk",
        }
    }
}

/// A row: `{what}`, `{old}` and `{new}` in its texts stand for what was found.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// It is never renamed.
    pub id: &'static str,
    pub severity: Severity,
    pub summary: &'static str,
    pub remedy: &'static str,
    pub sources: &'static [&'static str],
}

/// A rule that a change meets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub severity: Severity,
    pub id: &'static str,
    pub summary: String,
    pub remedy: String,
    pub sources: Vec<&'static str>,
}

impl Rule {
    /// The finding about these values.
    pub(super) fn finding(&self, what: &str, old: &str, new: &str) -> Finding {
        let fill = |text: &str| {
            let text = text.replace("{what}", what);
            text.replace("{old}", or_nothing(old))
                .replace("{new}", or_nothing(new))
        };
        Finding {
            severity: self.severity,
            id: self.id,
            summary: fill(self.summary),
            remedy: fill(self.remedy),
            sources: self.sources.to_vec(),
        }
    }
}

fn or_nothing(value: &str) -> &str {
    match value {
        "" => "nothing",
        value => value,
    }
}
