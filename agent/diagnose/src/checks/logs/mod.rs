//! What the logs of the node say that no check looks for: known lines support their checks, and what nobody knows is
//! shown as it is.

mod collected;
mod errors;
mod known;
mod line;
#[cfg(test)]
mod tests;

use super::check::{Check, Severity, Source, Verdict};
use super::node::Node;
use super::report::{CheckReport, Status};
use quake_model::facts::Unseen;

const ERRORS: &str = "logs.errors";

pub(super) const CHECKS: &[Check] = &[Check {
    id: ERRORS,
    title: "the logs have no errors that no other check explains",
    severity: Severity::Warning,
    tags: &["logs"],
    sources: &[
        Source::Journals,
        Source::KernelLog,
        Source::Runtime,
        Source::Units,
    ],
    because: &[],
    why: "what goes wrong in a way that no check knows still shows in the logs",
    remedy: "read the lines around it; quake-agent explain 'LINE' says what is known of a line",
    judge,
}];

/// How much there is to read. [`settle`] reads it, once the other checks are made.
fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let logs = collected::logs(node);
    if logs.is_empty() {
        node.survey().journals.get()?;
        return Verdict::skip("no log has any lines");
    }
    let lines: usize = logs.iter().map(|log| log.lines.len()).sum();
    Verdict::ok(format!("{lines} lines of {} logs have none", logs.len()))
}

/// Reads the logs once all checks are made: known lines support their checks, and errors that are left are a finding.
pub(super) fn settle(checks: &mut [CheckReport], node: &Node<'_>) {
    let logs = collected::logs(node);
    known::adopt(checks, &logs);
    let Some(index) = checks.iter().position(|one| one.check.id == ERRORS) else {
        return;
    };
    if let Some(finding) = errors::unexplained(checks, &logs) {
        let one = &mut checks[index];
        one.status = Status::Warn;
        one.note.clone_from(&finding.summary);
        one.finding = Some(finding);
    }
}
