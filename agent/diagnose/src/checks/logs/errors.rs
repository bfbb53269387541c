//! `logs.errors`: errors of the logs that no finding explains, grouped and ranked.

use super::collected::Log;
use super::line::{self, Level, shape};
use super::missing::{Missing, missing};
use super::whole::whole;
use crate::checks::check::{Certainty, Finding};
use crate::checks::innermost::{innermost, meaning};
use crate::checks::named::{Texts, remedy};
use crate::checks::quote::quote;
use crate::checks::report::{CheckReport, Status};
use crate::checks::table::find;
use crate::log_lines::{self, LogLine};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// How many groups of lines are shown.
const SHOWN: usize = 5;

/// How much of two lines' shapes has to agree for one to quote the other.
const AGREEING: usize = 110;

/// How much of two lines' shapes agrees where they are of one kind.
const OF_A_KIND: usize = 26;

/// Lines of one log that differ in numbers and names alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group<'a> {
    log: usize,
    /// The latest of them.
    line: &'a str,
    count: usize,
    level: Level,
    /// How many lines of the log come after the latest of them.
    after: usize,
}

impl Group<'_> {
    /// Its latest line, with the lines of its error where it opens them.
    fn whole<'a>(&'a self, logs: &'a [Log<'_>]) -> Cow<'a, str> {
        let lines = logs[self.log].lines;
        let at = lines.len().saturating_sub(self.after);
        match lines.get(at).is_some_and(|line| line == self.line) {
            true => whole(lines, at),
            false => Cow::Borrowed(self.line),
        }
    }
}

/// Which errors count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Threshold {
    /// Those that go on, and of known lines more than a healthy node logs.
    Usual,
    /// Those that come again in whatever time, too: for a node of which nothing else says what is wrong.
    Low,
}

impl Threshold {
    /// Whether a line is of what is over.
    pub(super) fn is_over(self, log: &Log<'_>, index: usize) -> bool {
        match self {
            Self::Usual => log.is_over(index),
            Self::Low => log.is_of_start(index),
        }
    }

    /// So many of a known line count; each long before the next they are no accident. A guess.
    pub(super) fn least(self) -> usize {
        match self {
            Self::Usual => 1,
            Self::Low => 3,
        }
    }
}

/// So many of a kind say something where nothing else does. A guess.
const OFTEN: usize = 2;

/// The finding of errors that nothing explains, and how many say the first of it; `None` where there are none.
pub(super) fn unexplained(
    checks: &[CheckReport],
    logs: &[Log<'_>],
    texts: &Texts,
    threshold: Threshold,
) -> Option<(Finding, usize)> {
    let explained = Explained::new(checks);
    let all = groups(logs, &explained, threshold);
    let counts = |group: &Group<'_>| {
        group.level == Level::Fatal || group.count > 1 || logs[group.log].is_down
    };
    let mut groups: Vec<Group<'_>> = all.iter().copied().filter(counts).collect();
    if groups.is_empty() {
        groups = of_one_kind(&all, logs);
    }
    groups.sort_by_key(|group| {
        (
            weight(group, logs),
            Reverse(group.level),
            // What a program calls an error itself, before what it merely said last.
            Reverse(line::level(group.line)),
            Reverse(log_lines::find(group.line).is_some_and(|row| row.general)),
            Reverse(group.count),
            group.after,
        )
    });
    let first = groups.first()?;
    let from = &logs[first.log];
    let (summary, fix) = describe(first, &first.whole(logs), from, texts);
    let mut finding = Finding::new(summary, fix);
    for group in groups.iter().take(SHOWN) {
        let name = match group.count {
            1 => logs[group.log].name.clone(),
            count => format!("{}, {count} times", logs[group.log].name),
        };
        finding = finding.seen(&name, quote(&group.whole(logs), 300));
    }
    if groups.len() > SHOWN {
        finding = finding.seen(
            "more",
            format_args!("{} other kinds of errors", groups.len() - SHOWN),
        );
    }
    let heard = if from.is_of_user() { 0 } else { first.count };
    Some((finding.by(Certainty::Likely), heard))
}

/// What is said of the first group, and the remedy: of a known line what it means.
fn describe(first: &Group<'_>, whole: &str, from: &Log<'_>, texts: &Texts) -> (String, String) {
    let often = match first.count {
        1 => String::new(),
        count => format!(" {count} times"),
    };
    if let Some(object) = wanted(first, from) {
        let (summary, fix) = (object.summary(&from.name), object.fix());
        return (
            format!("{summary} (logged{often})"),
            format!("{fix}; read more: {}", from.more),
        );
    }
    let summary = format!(
        "{} logged{often} what no other check explains: {}",
        from.name,
        said(whole)
    );
    // What a check knows of its own program says nothing of another's.
    let known = log_lines::sourced(first.line);
    let summary = match known.filter(|row| !row.general && row.length() >= log_lines::TELLING) {
        Some(row) => {
            let (means, fix) = row.filled(first.line);
            let means = meaning(&means, &fix, first.line);
            format!("{means} ({} logged it{often})", from.name)
        }
        None => summary,
    };
    let fix = match known {
        Some(row) => {
            let (means, fix) = row.filled(first.line);
            format!("{means}: {fix}; read more: {}", from.more)
        }
        None => {
            let program = from.name.split(' ').next().unwrap_or_default();
            let named =
                remedy(&innermost(first.line), program, texts).filter(|_| !from.is_of_user());
            let named = named.map_or(String::new(), |named| format!("{named}; "));
            format!("{named}read the lines around it: {}", from.more)
        }
    };
    (summary, fix)
}

/// The object that a program of the cluster asks for again and again, and that is not there.
fn wanted(group: &Group<'_>, log: &Log<'_>) -> Option<Missing> {
    /// One that is asked for so often was not merely deleted a moment before.
    const OFTEN: usize = 3;
    let is_system = log.is_of_pod() && !log.is_of_user() && group.count >= OFTEN;
    missing(group.line).filter(|_| is_system)
}

/// How far behind a group stands: lines that only open what others say, pods that are none of the cluster's own, and
/// lines that any program may log.
fn weight(group: &Group<'_>, logs: &[Log<'_>]) -> (bool, bool, bool, bool) {
    const OPENING: &[&str] = &[
        "Traceback (most recent call last)",
        "Call Trace",
        "hung_task_timeout_secs",
        "with CrashLoopBackOff: ",
        "Failed with result",
        "Main process exited",
    ];
    let opens = OPENING.iter().any(|words| group.line.contains(words));
    let log = &logs[group.log];
    let is_general = log_lines::find(group.line).is_some_and(|row| row.general);
    (
        opens,
        log.is_of_user(),
        is_general && !log.is_down,
        wanted(group, log).is_none(),
    )
}

/// What a line says: the whole of it, or the end of a chain of errors that is too long.
fn said(line: &str) -> String {
    const LONGEST: usize = 200;
    let text = line::without_head(line);
    match text.chars().count() > LONGEST {
        true => innermost(text),
        false => text.to_owned(),
    }
}

/// Errors of late that differ in their end alone: a pod here, a pod there, and none of them twice.
fn of_one_kind<'a>(all: &[Group<'a>], logs: &[Log<'a>]) -> Vec<Group<'a>> {
    let mut by_kind: BTreeMap<(usize, String), Group<'a>> = BTreeMap::new();
    for group in all
        .iter()
        .filter(|group| logs[group.log].is_late(group.line))
    {
        let kind = shape(group.line).chars().take(OF_A_KIND).collect();
        let one = by_kind
            .entry((group.log, kind))
            .or_insert(Group { count: 0, ..*group });
        // Of lines of one kind the longest says most.
        if group.line.len() > one.line.len() {
            one.line = group.line;
        }
        one.count += group.count;
        one.after = one.after.min(group.after);
    }
    let mut kinds: Vec<Group<'a>> = by_kind.into_values().collect();
    kinds.retain(|kind| kind.count > 1);
    kinds
}

fn groups<'a>(logs: &'a [Log<'a>], explained: &Explained, threshold: Threshold) -> Vec<Group<'a>> {
    let mut by_shape: BTreeMap<(usize, String), Group<'a>> = BTreeMap::new();
    // A component's own file and its pod's log have the same lines.
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, log) in logs.iter().enumerate() {
        for (index, line) in log.lines.iter().enumerate() {
            let level = log.level(index);
            if level < Level::Error || *seen.entry(line).or_insert(number) != number {
                continue;
            }
            let shape = shape(line);
            let is_over = threshold.is_over(log, index);
            if is_over || log.is_trace(index) || explained.has(line, &shape) {
                continue;
            }
            let group = by_shape.entry((number, shape)).or_insert(Group {
                log: number,
                line,
                count: 0,
                level,
                after: 0,
            });
            group.line = line;
            group.count += 1;
            group.level = group.level.max(level);
            group.after = log.lines.len() - index;
        }
    }
    let mut groups: Vec<Group<'a>> = by_shape.into_values().collect();
    groups.retain(|group| group.count > log_lines::usual(group.line));
    if threshold == Threshold::Low {
        groups.retain(|group| group.count >= OFTEN && logs[group.log].is_late(group.line));
        return groups;
    }
    let known = counts_of_known(logs);
    groups.retain(|group| {
        let row = log_lines::find(group.line).filter(|row| !row.from.is_empty());
        row.is_none_or(|row| {
            let count = known.get(row.means).copied().unwrap_or_default();
            let ends = group.level == Level::Fatal || logs[group.log].is_down;
            ends || count >= row.passing || is_of_any_start(row, count)
        })
    });
    groups
}

/// Whether so few lines of a row say something: where a healthy node has none but at its start.
fn is_of_any_start(row: &LogLine, count: usize) -> bool {
    const AT_A_START: usize = 5;
    row.passing <= AT_A_START && count > 1
}

/// How often each known line stands in the logs and is not over.
fn counts_of_known(logs: &[Log<'_>]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for log in logs {
        for (index, line) in log.lines.iter().enumerate() {
            let row = log_lines::find(line).filter(|_| !log.is_over(index));
            if let Some(row) = row {
                *counts.entry(row.means).or_default() += 1;
            }
        }
    }
    counts
}

/// What the findings explain.
struct Explained {
    /// The shapes of what findings quote.
    quoted: Vec<String>,
    /// The checks that fail.
    failed: BTreeSet<&'static str>,
    /// The checks that fail or warn.
    found: BTreeSet<&'static str>,
}

impl Explained {
    fn new(checks: &[CheckReport]) -> Self {
        let findings = checks.iter().filter_map(|one| one.finding.as_ref());
        let quoted = findings.flat_map(|finding| &finding.evidence);
        let failed = checks.iter().filter(|one| one.status == Status::Fail);
        let found = checks.iter().filter(|one| one.finding.is_some());
        Self {
            found: found.map(|one| one.check.id).collect(),
            quoted: quoted.map(|piece| shape_of_all(&piece.value)).collect(),
            failed: failed.map(|one| one.check.id).collect(),
        }
    }

    fn has(&self, line: &str, shape: &str) -> bool {
        match log_lines::find(line) {
            // Its check took it over.
            Some(row) if self.found.contains(row.check) => return true,
            Some(row) if self.has_cause(row.check) => return true,
            Some(_) | None => {}
        }
        let start: String = shape.chars().take(AGREEING).collect();
        self.quoted.iter().any(|quoted| quoted.contains(&start))
    }

    /// Whether a check fails, or one that would explain it. kubelet's lines are those of the node in its cluster, too.
    fn has_cause(&self, id: &str) -> bool {
        let mut checks = vec![id];
        if id.starts_with("kubelet.") {
            checks.extend(["node.registered", "node.ready"]);
        }
        let causes = checks
            .iter()
            .filter_map(|id| find(id))
            .flat_map(|check| check.because);
        let mut all = checks.iter().copied().chain(causes.copied());
        all.any(|id| self.failed.contains(id))
    }
}

/// The shapes of each line of a text.
fn shape_of_all(text: &str) -> String {
    let lines = text.split(['\n', '|']).map(|line| shape(line.trim()));
    lines.collect::<Vec<_>>().join("\n")
}
