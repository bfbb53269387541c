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

/// A row: `{what}`, `{old}`, `{new}` and `{instead}` in its texts stand for what was found.
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

/// What a rule was met by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Met {
    pub(super) what: String,
    pub(super) old: String,
    pub(super) new: String,
    /// What to use in the place of what is gone.
    pub(super) instead: String,
    /// Where the fact about this one is from; else those of the rule.
    pub(super) source: Option<&'static str>,
}

impl Rule {
    /// The finding about these values.
    pub(super) fn finding(&self, met: &Met) -> Finding {
        let values = [
            ("{what}", &met.what),
            ("{old}", &met.old),
            ("{new}", &met.new),
            ("{instead}", &met.instead),
        ];
        let fill = |text: &str| {
            values.iter().fold(text.to_owned(), |text, (name, value)| {
                text.replace(name, or_nothing(value))
            })
        };
        Finding {
            severity: self.severity,
            id: self.id,
            summary: fill(self.summary),
            remedy: fill(self.remedy),
            sources: met
                .source
                .map_or_else(|| self.sources.to_vec(), |source| vec![source]),
        }
    }
}

fn or_nothing(value: &str) -> &str {
    match value {
        "" => "nothing",
        value => value,
    }
}
