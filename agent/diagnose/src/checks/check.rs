//! What a check is, and what it may come to.

use super::node::Node;
pub use quake_model::facts::Source;
use quake_model::facts::Unseen;
use quake_model::fault::{Code, Evidence};
use quake_model::redact::scrub;
use std::fmt;

/// How much it matters when a check does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The node cannot join, or loses data.
    Critical,
    /// The node works worse than it should, or will fail later.
    Warning,
    Info,
}

impl Severity {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its stable name, `area.word`. It is an interface: never renamed.
    pub id: &'static str,
    /// What is true when it passes, as a clause.
    pub title: &'static str,
    pub severity: Severity,
    /// Words to choose it by, beside its area.
    pub tags: &'static [&'static str],
    /// What it needs to have been seen.
    pub sources: &'static [Source],
    /// Checks whose failure would explain this one's; each stands before it in the table.
    pub because: &'static [&'static str],
    pub why: &'static str,
    /// What to do in general; a finding has the exact remedy.
    pub remedy: &'static str,
    pub judge: fn(&Node<'_>) -> Result<Verdict, Unseen>,
}

impl Check {
    /// The part of its name before the dot.
    pub fn area(&self) -> &'static str {
        self.id.split_once('.').map_or(self.id, |(area, _)| area)
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// What a check came to. One that could not see what it needs returns [`Unseen`] instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It holds; what was seen, in a few words.
    Ok(String),
    /// It holds, but not for long, or not well.
    Warn(Finding),
    Fail(Finding),
    /// It does not concern this node; why.
    Skip(String),
}

impl Verdict {
    /// It holds.
    pub fn ok(note: impl Into<String>) -> Result<Self, Unseen> {
        Ok(Self::Ok(scrub(&note.into())))
    }

    /// It does not concern this node.
    pub fn skip(why: impl Into<String>) -> Result<Self, Unseen> {
        Ok(Self::Skip(scrub(&why.into())))
    }
}

/// How sure a finding is of its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It was seen itself: in a file, an answer or a number.
    Certain,
    /// A line of a log says so.
    Likely,
    /// Only the symptom was seen.
    Possible,
}

impl Certainty {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Possible => "possible",
        }
    }
}

/// What is wrong, with the evidence and what to do. Every text in it went through [`scrub`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What is so, with the values: lower case, no full stop.
    pub summary: String,
    /// The code of the fault catalogue, where it is one.
    pub code: Option<Code>,
    pub evidence: Vec<Evidence>,
    /// What to do: the command, the IAM action or the key of the configuration.
    pub fix: String,
    pub certainty: Certainty,
    /// What else would explain what was seen, one clause each.
    pub alternatives: Vec<String>,
    /// Whether it names a risk, and nothing that was seen speaks for its harm: an old version, a small host.
    pub is_advice: bool,
}

impl Finding {
    /// A finding and its remedy.
    pub fn new(summary: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            summary: scrub(&summary.into()),
            code: None,
            evidence: Vec::new(),
            fix: scrub(&fix.into()),
            certainty: Certainty::Certain,
            alternatives: Vec::new(),
            is_advice: false,
        }
    }

    /// Says that it names a risk, and no harm.
    #[must_use]
    pub fn advice(mut self) -> Self {
        self.is_advice = true;
        self
    }

    /// Says how sure it is.
    #[must_use]
    pub fn by(mut self, certainty: Certainty) -> Self {
        self.certainty = certainty;
        self
    }

    /// Adds what else would explain what was seen. It is then no more than likely.
    #[must_use]
    pub fn or_else(mut self, alternative: impl Into<String>) -> Self {
        self.certainty = self.certainty.max(Certainty::Likely);
        self.alternatives.push(scrub(&alternative.into()));
        self
    }

    /// Says which fault of the catalogue it is.
    #[must_use]
    pub fn coded(mut self, code: Code) -> Self {
        self.code = Some(code);
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

    /// The check does not hold.
    ///
    /// # Errors
    ///
    /// None; the type is that of a judgement.
    pub fn fail(self) -> Result<Verdict, Unseen> {
        Ok(Verdict::Fail(self))
    }

    /// The check holds badly.
    ///
    /// # Errors
    ///
    /// None; the type is that of a judgement.
    pub fn warn(self) -> Result<Verdict, Unseen> {
        Ok(Verdict::Warn(self))
    }
}
