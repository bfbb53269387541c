//! What breaks, as rows of a table: a stable id, how grave it is, why, what to do, and where the fact is from.

use serde::Serialize;
use std::sync::LazyLock;

/// The rules. They are data, so that a text is changed without code; the check that meets a rule names it by its id.
const TABLE: &str = include_str!("rules.txt");

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| read(TABLE));

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

    fn named(word: &str) -> Option<Self> {
        let mut all = [Self::Breaks, Self::Risk].into_iter();
        all.find(|severity| severity.name() == word)
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
    pub sources: Vec<&'static str>,
}

/// All rules, in the order of the table.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter()
}

/// The rules of a table; its head says how they are written.
fn read(table: &'static str) -> Vec<Rule> {
    let blocks = table.split("\n\n").filter_map(|block| {
        let mut lines = block.lines().map(str::trim);
        let (id, severity) = lines.next()?.split_once(' ')?;
        Some(Rule {
            id,
            severity: Severity::named(severity)?,
            summary: lines.next()?,
            remedy: lines.next()?,
            sources: lines.collect(),
        })
    });
    blocks.collect()
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
    /// The rule's id.
    rule: &'static str,
    what: String,
    old: String,
    new: String,
    /// What to use in the place of what is gone.
    instead: String,
    /// Where the fact about this one is from; else those of the rule.
    source: Option<&'static str>,
}

impl Hit {
    pub(super) fn new(rule: &'static str, what: impl Into<String>) -> Self {
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
        self.rule == other.rule && self.what == other.what
    }

    /// The rule's texts about these values; `None` where the table has no such rule.
    pub(super) fn finding(&self) -> Option<Finding> {
        let rule = rules().find(|rule| rule.id == self.rule);
        debug_assert!(rule.is_some(), "the table has no rule {}", self.rule);
        let rule = rule?;
        let values = [
            ("{what}", &self.what),
            ("{old}", &self.old),
            ("{new}", &self.new),
            ("{instead}", &self.instead),
        ];
        let fill = |text: &str| {
            values.iter().fold(text.to_owned(), |text, (name, value)| {
                text.replace(name, or_nothing(value))
            })
        };
        Some(Finding {
            severity: rule.severity,
            id: rule.id,
            summary: fill(rule.summary),
            remedy: fill(rule.remedy),
            sources: self
                .source
                .map_or_else(|| rule.sources.clone(), |source| vec![source]),
        })
    }
}

fn or_nothing(value: &str) -> &str {
    match value {
        "" => "nothing",
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_of_the_table_is_a_rule_with_its_texts_and_a_source() {
        let is_head = |line: &&str| !line.is_empty() && !line.starts_with([' ', '#']);
        let heads: Vec<&str> = TABLE.lines().filter(is_head).collect();
        let read = rules().map(|rule| format!("{} {}", rule.id, rule.severity.name()));
        assert_eq!(heads, read.collect::<Vec<_>>());
        let is_source = |text: &str| text.starts_with("https://") || text.starts_with("docs/");
        for rule in rules() {
            let mut texts = [rule.summary, rule.remedy].into_iter();
            assert!(
                texts.all(|text| !text.is_empty() && !is_source(text)),
                "{rule:?}"
            );
            assert!(!rule.sources.is_empty(), "{rule:?}");
            assert!(
                rule.sources.iter().all(|source| is_source(source)),
                "{rule:?}"
            );
        }
    }
}
