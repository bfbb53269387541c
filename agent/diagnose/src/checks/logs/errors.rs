//! `logs.errors`: errors of the logs that no finding explains, grouped and ranked.

use super::collected::Log;
use super::line::{self, Level, shape};
use crate::checks::check::Finding;
use crate::checks::report::{CheckReport, Status};
use crate::checks::table::find;
use crate::log_lines;
use quake_formats::yaml::shorten;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// How many groups of lines are shown.
const SHOWN: usize = 5;

/// How much of two lines' shapes has to agree for one to quote the other.
const AGREEING: usize = 110;

/// Lines of one log that differ in numbers and names alone.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group<'a> {
    log: usize,
    /// The latest of them.
    line: &'a str,
    count: usize,
    level: Level,
    /// How many lines of the log come after the latest of them.
    after: usize,
}

/// The finding of errors that nothing explains; `None` where there are none.
pub(super) fn unexplained(checks: &[CheckReport], logs: &[Log<'_>]) -> Option<Finding> {
    let explained = Explained::new(checks);
    let mut groups = groups(logs, &explained);
    groups.retain(|group| {
        let is_unusual = group.count > log_lines::usual(group.line);
        let counts = group.level == Level::Fatal || group.count > 1 || logs[group.log].is_down;
        is_unusual && counts
    });
    groups.sort_by_key(|group| (Reverse(group.level), Reverse(group.count), group.after));
    let first = groups.first()?;
    let from = &logs[first.log];
    let often = match first.count {
        1 => String::new(),
        count => format!(" {count} times"),
    };
    let summary = format!(
        "{} logged{often} what no other check explains: {}",
        from.name,
        shorten(line::without_head(first.line), 200)
    );
    let known = log_lines::find(first.line);
    let fix = match known {
        Some(row) => format!("{}: {}; read more: {}", row.means, row.fix, from.more),
        None => format!("read the lines around it: {}", from.more),
    };
    let mut finding = Finding::new(summary, fix);
    for group in groups.iter().take(SHOWN) {
        let name = match group.count {
            1 => logs[group.log].name.clone(),
            count => format!("{}, {count} times", logs[group.log].name),
        };
        finding = finding.seen(&name, shorten(group.line, 300));
    }
    if groups.len() > SHOWN {
        finding = finding.seen(
            "more",
            format_args!("{} other kinds of errors", groups.len() - SHOWN),
        );
    }
    Some(finding)
}

fn groups<'a>(logs: &'a [Log<'a>], explained: &Explained) -> Vec<Group<'a>> {
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
            if log.is_over(index) || explained.has(line, &shape) {
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
    by_shape.into_values().collect()
}

/// What the findings explain.
struct Explained {
    /// The shapes of what findings quote.
    quoted: Vec<String>,
    /// The checks that fail.
    failed: BTreeSet<&'static str>,
}

impl Explained {
    fn new(checks: &[CheckReport]) -> Self {
        let findings = checks.iter().filter_map(|one| one.finding.as_ref());
        let quoted = findings.flat_map(|finding| &finding.evidence);
        let failed = checks.iter().filter(|one| one.status == Status::Fail);
        Self {
            quoted: quoted.map(|piece| shape_of_all(&piece.value)).collect(),
            failed: failed.map(|one| one.check.id).collect(),
        }
    }

    fn has(&self, line: &str, shape: &str) -> bool {
        match log_lines::find(line) {
            // Its check took it over, or it is of no weight.
            Some(row) if !row.from.is_empty() => return true,
            Some(row) if self.has_cause(row.check) => return true,
            Some(_) | None => {}
        }
        let start: String = shape.chars().take(AGREEING).collect();
        self.quoted.iter().any(|quoted| quoted.contains(&start))
    }
}

impl Explained {
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
