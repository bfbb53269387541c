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

/// A rule that is met, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    rule: &'static Rule,
    what: String,
    old: String,
    new: String,
    /// What to use in the place of what is gone.
    instead: String,
    /// Where the fact about this one is from; else those of the rule.
    source: Option<&'static str>,
}

impl Hit {
    pub(super) fn new(rule: &'static Rule, what: impl Into<String>) -> Self {
        Self {
            rule,
            what: what.into(),
            old: String::new(),
            new: String::new(),
            instead: String::new(),
            source: None,
        }
    }

    pub(super) fn between(mut self, old: impl Into<String>, new: impl Into<String>) -> Self {
        self.old = old.into();
        self.new = new.into();
        self
    }

    /// With what to use instead, and where the fact is from.
    pub(super) fn instead(self, instead: &str, source: &'static str) -> Self {
        Self {
            source: Some(source),
            ..self.stating(instead)
        }
    }

    /// With what is so instead.
    pub(super) fn stating(mut self, instead: impl Into<String>) -> Self {
        self.instead = instead.into();
        self
    }

    /// Whether both are about the same, whatever the values are.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.rule.id == other.rule.id && self.what == other.what
    }

    /// The rule's texts about these values.
    pub(super) fn finding(&self) -> Finding {
        let values = [
            ("{what}", &self.what),
            ("{old}", &self.old),
            ("{new}", &self.new),
            ("{instead}", &self.instead),
        ];
        let rule = self.rule;
        let fill = |text: &str| {
            values.iter().fold(text.to_owned(), |text, (name, value)| {
                text.replace(name, or_nothing(value))
            })
        };
        Finding {
            severity: rule.severity,
            id: rule.id,
            summary: fill(rule.summary),
            remedy: fill(rule.remedy),
            sources: self
                .source
                .map_or_else(|| rule.sources.to_vec(), |source| vec![source]),
        }
    }
}

fn or_nothing(value: &str) -> &str {
    match value {
        "" => "nothing",
        value => value,
    }
}
