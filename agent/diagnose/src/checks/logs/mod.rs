//! What the logs of the node say that no check looks for: known lines support their checks, and what nobody knows is
//! shown as it is.

mod collected;
mod errors;
mod ids;
mod known;
mod line;
mod missing;
mod program;
mod rows;
#[cfg(test)]
mod tests;
mod warnings;
mod whole;

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::exec_format::emptied;
use super::node::Node;
use super::report::{CheckReport, Status};
use errors::Threshold;
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

/// What a line says without its time, host, program and level, and without its place in the source.
pub(super) fn message(line: &str) -> &str {
    let text = line::message(line);
    match text.split_once("] ") {
        Some((place, rest)) if place.contains(".go:") && !place.contains(' ') => rest,
        Some(_) | None => text,
    }
}

/// Whether a line says that it is an error.
pub(super) fn is_error(line: &str) -> bool {
    line::level(line) >= line::Level::Error
}

/// How long before the survey a line was written, in milliseconds; nothing where it does not say when.
pub(super) fn age_ms(line: &str, node: &Node<'_>) -> Option<u64> {
    let taken = node.taken();
    line::time(line, taken).map(|written| taken.millis_since(written))
}

/// Whether a line was written shortly before the survey was taken, or does not say when.
pub(super) fn is_late(line: &str, node: &Node<'_>) -> bool {
    age_ms(line, node).is_none_or(|age| age < collected::OVER_MS)
}

/// Whether a program ends with a line.
pub(super) fn is_fatal(line: &str) -> bool {
    line::level(line) == line::Level::Fatal
}

/// The last error of a program that ended; of one that logs none, the first warning near the end, from which the others
/// follow.
pub(super) fn last_error(log: &[String]) -> Option<&str> {
    const NEAR: usize = 8;
    const TELLING: usize = 40;
    let level = |line: &&String| line::level(line);
    let is_error = |line: &&String| level(line) >= line::Level::Error && line.len() > TELLING;
    let is_warning = |line: &&String| level(line) == line::Level::Warning && line.len() > TELLING;
    let tail = &log[log.len().saturating_sub(NEAR)..];
    let error = log.iter().rev().find(is_error);
    let found = error.or_else(|| tail.iter().find(is_warning));
    found.map(String::as_str)
}

/// The last line of a program that ended and that says something, whatever it calls it: programs of shells have no levels.
pub(super) fn last_word(log: &[String]) -> Option<&str> {
    const SIGNS: &[&str] = &[
        ": ",
        "annot",
        "ailed",
        "denied",
        "not found",
        "o such",
        "nvalid",
        "nable",
    ];
    let says = |line: &&String| {
        let is_unmarked = line::level(line) == line::Level::Unknown;
        is_unmarked && SIGNS.iter().any(|sign| line.contains(sign))
    };
    log.iter().rev().find(says).map(String::as_str)
}

/// What is known of why a unit failed: its line, what that means, and what to do about it.
pub(super) struct KnownOfUnit<'a> {
    pub(super) line: &'a str,
    pub(super) means: String,
    pub(super) fix: String,
    /// The check that looks at the same thing.
    pub(super) check: &'static str,
}

/// The last line of a unit's last run that says by itself why it failed.
pub(super) fn known_of_unit(journal: &[String]) -> Option<KnownOfUnit<'_>> {
    // systemd says that of what ended for another reason.
    const AFTERWARDS: &[&str] = &["repeated too quickly", "start-limit-hit"];
    let is_start = |line: &String| line::message(line).starts_with("Starting ");
    let start = journal.iter().rposition(is_start).unwrap_or_default();
    let is_own = |line: &&String| !AFTERWARDS.iter().any(|words| line.contains(words));
    journal[start..]
        .iter()
        .rev()
        .filter(is_own)
        .find_map(|line| {
            let row = rows::innermost_row(line)?;
            let tells = rows::is_specific(row) && !row.from.is_empty() && !row.is_information;
            let (means, fix) = row.filled(line);
            let check = row.check;
            tells.then_some(KnownOfUnit {
                line,
                means,
                fix,
                check,
            })
        })
}

/// A finding of a program that the kernel cannot run, with its cause where the host was stopped hard.
fn of_emptied(node: &Node<'_>, finding: &Finding) -> Finding {
    let is_told = finding.summary.contains("stopped hard");
    let mut quoted = finding.evidence.iter().map(|piece| &piece.value);
    let first = quoted.next().filter(|_| !is_told);
    let Some((means, fix, sign)) = first.and_then(|line| emptied(node, line, "")) else {
        return finding.clone();
    };
    let mut found = finding.clone();
    found.summary = means;
    found.fix = fix;
    found.seen("kernel log", sign)
}

/// Reads the logs once all checks are made: known lines support their checks, and errors that are left are a finding.
pub(super) fn settle(checks: &mut [CheckReport], node: &Node<'_>) {
    let logs = collected::logs(node);
    known::adopt(checks, &logs, Threshold::Usual);
    // Of what comes every half hour nothing else may say what is wrong.
    if checks.iter().all(|one| one.finding.is_none()) {
        known::adopt(checks, &logs, Threshold::Low);
    }
    for one in checks.iter_mut() {
        if let Some(finding) = &mut one.finding {
            *finding = of_emptied(node, finding);
            one.note.clone_from(&finding.summary);
        }
    }
    let Some(index) = checks.iter().position(|one| one.check.id == ERRORS) else {
        return;
    };
    let is_silent = checks.iter().all(|one| one.finding.is_none());
    let texts = &node.survey().texts;
    let unexplained = errors::unexplained(checks, &logs, texts, Threshold::Usual);
    let repeated = || warnings::repeated(&logs).filter(|_| is_silent);
    let often = || errors::unexplained(checks, &logs, texts, Threshold::Low).filter(|_| is_silent);
    if let Some((finding, heard)) = unexplained.or_else(repeated).or_else(often) {
        let one = &mut checks[index];
        one.heard = heard;
        one.status = Status::Warn;
        one.note.clone_from(&finding.summary);
        one.finding = Some(finding);
    }
}
