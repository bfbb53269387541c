//! Known lines of any log: what they mean becomes part of the check that looks at the same thing.

use super::collected::{KERNEL, Log};
use super::errors::Threshold;
use super::ids::{ids, refused};
use super::line::Level;
use super::program::of_program;
use super::rows::{innermost_row, is_specific, outer_row};
use super::whole::whole;
use crate::checks::causes::is_symptom;
use crate::checks::check::{Certainty, Finding, Severity, Source};
use crate::checks::expired_peers;
use crate::checks::from_journal::QUOTED;
use crate::checks::innermost::{innermost, is_in_line, meaning};
use crate::checks::order::explanations;
use crate::checks::quote::quote;
use crate::checks::report::{CheckReport, Status};
use crate::log_lines::{self, LogLine};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Areas whose checks quote what a program logged without a table of lines of their own.
const OF_PROGRAMS: &[&str] = &["kubelet", "runtime", "services", "staticpods", "etcd"];

/// Checks whose failure says that something does not work, and not why.
const SYMPTOMS: &[&str] = &[
    "etcd.alive",
    "staticpods.running",
    "apiserver.alive",
    "boot.conditions",
    "node.ready",
    "node.taints",
];

/// Lines that say again what the node's own conditions say.
const OF_SYMPTOMS: &[&str] = &[
    "NetworkPluginNotReady",
    "cni plugin not initialized",
    "cni config uninitialized",
    "PLEG is not healthy",
    "container runtime is down",
    "CrashLoopBackOff",
    "rror retrieving resource lock",
];

/// Checks of the kernel's log that look for few lines, and weigh no others.
const OF_FEW_LINES: &[&str] = &["host.kernel", "host.apparmor"];

/// What follows from what a log says before.
const AFTERWARDS: &[&str] = &["Start request repeated too quickly"];

/// Checks of what the host itself was seen to reach.
const OF_HOST: &[&str] = &["identity.metadata"];

/// A known line that a log has, and how often.
struct Hit<'a> {
    log: &'a Log<'a>,
    /// The latest of them.
    line: &'a str,
    row: &'static LogLine,
    count: usize,
    /// How many the log has of before, that were over by themselves.
    earlier: usize,
    /// Its place in the log.
    at: usize,
    /// Whether the program ended with it.
    is_last: bool,
    level: Level,
}

/// Lets each check speak for the known lines that support it.
pub(super) fn adopt(checks: &mut [CheckReport], logs: &[Log<'_>], threshold: Threshold) {
    let mut by_check: BTreeMap<&str, Vec<Hit<'_>>> = BTreeMap::new();
    for log in logs {
        for hit in hits(log, threshold) {
            by_check.entry(hit.row.check).or_default().push(hit);
        }
    }
    let quoted: Vec<String> = evidence(checks).collect();
    let causes = causes_of_symptoms(checks);
    for one in checks.iter_mut() {
        let mut found = by_check.remove(one.check.id).unwrap_or_default();
        if let Some(finding) = &mut one.finding {
            if OF_PROGRAMS.contains(&one.check.area()) {
                name_the_cause(finding, one.check.area());
            }
            name_by_lines(finding, &mut found);
            enrich(finding, &found);
            one.note.clone_from(&finding.summary);
        } else {
            // What another finding quotes it has explained.
            found.retain(|hit| !quoted.iter().any(|text| text.contains(&start_of(hit.line))));
            take_over(one, found, causes.contains(one.check.id));
        }
    }
}

/// The checks that could explain what failed, where only symptoms did. What follows from another failure does not count.
fn causes_of_symptoms(checks: &[CheckReport]) -> BTreeSet<&'static str> {
    let table: Vec<_> = checks.iter().map(|one| one.check).collect();
    let explained = explanations(&table);
    let all = checks.iter().enumerate();
    let failed: BTreeSet<usize> = all
        .filter(|(_, one)| one.status == Status::Fail)
        .map(|(index, _)| index)
        .collect();
    let is_root = |index: &&usize| explained[*index].is_disjoint(&failed);
    let mut roots = failed.iter().filter(is_root).map(|index| &checks[*index]);
    match roots.all(|one| SYMPTOMS.contains(&one.check.id) || is_symptom(one)) {
        true => failed
            .iter()
            .flat_map(|index| explained[index].iter())
            .map(|index| checks[*index].check.id)
            .collect(),
        false => BTreeSet::new(),
    }
}

/// What the findings quote.
fn evidence(checks: &[CheckReport]) -> impl Iterator<Item = String> {
    let findings = checks.iter().filter_map(|one| one.finding.as_ref());
    findings.flat_map(|finding| finding.evidence.iter().map(|piece| piece.value.clone()))
}

/// As much of a line as a finding quotes at least.
fn start_of(line: &str) -> String {
    line.chars().take(100).collect()
}

/// The known lines of a log that are not over, one of each row.
fn hits<'a>(log: &'a Log<'a>, threshold: Threshold) -> Vec<Hit<'a>> {
    let mut by_row: BTreeMap<&'static str, Hit<'a>> = BTreeMap::new();
    let mut earlier: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut last = "";
    for (index, line) in log.lines.iter().enumerate() {
        let level = log.level(index);
        // What ended may call the reason what it likes.
        let row = match level == Level::Information && !log.is_down {
            true => log_lines::find_in_information(line),
            // A check that knows lines of its own weighs them itself.
            false => innermost_row(line)
                .filter(|row| !row.from.is_empty())
                .or_else(|| outer_row(line)),
        };
        let Some(row) = row.and_then(|row| of_program(&log.name, row)) else {
            continue;
        };
        if threshold.is_over(log, index) {
            if !log.is_of_start(index) {
                *earlier.entry(row.means).or_default() += 1;
            }
            continue;
        }
        // systemd says that of what ended for another reason.
        let is_later = AFTERWARDS.iter().any(|words| line.contains(words));
        last = if is_later { last } else { row.means };
        let hit = by_row.entry(row.means).or_insert(Hit {
            log,
            line,
            row,
            count: 0,
            earlier: 0,
            at: index,
            is_last: false,
            level,
        });
        hit.line = line;
        hit.at = index;
        hit.count += 1;
        hit.level = hit.level.max(level);
    }
    let mut hits: Vec<Hit<'a>> = by_row.into_values().collect();
    hits.retain(|hit| hit.count >= threshold.least());
    for hit in &mut hits {
        hit.earlier = earlier.get(hit.row.means).copied().unwrap_or_default();
        hit.is_last = log.is_down && hit.row.means == last && log.is_near_end(hit.line);
    }
    hits
}

/// A check that fails and quotes a log, but does not say what the line means, learns it.
fn name_the_cause(finding: &mut Finding, area: &str) {
    let quoted = finding.evidence.iter().rev();
    let quoted = quoted.filter(|piece| matches!(piece.name.as_str(), "journal" | "log"));
    let lines: Vec<&str> = quoted.map(|piece| piece.value.as_str()).collect();
    let says = |text: &str| finding.summary.contains(text);
    let is_said = |line: &str| {
        log_lines::fitting(line).any(|row| says(row.means) || says(&row.filled(line).0))
    };
    if lines.iter().any(|line| is_said(line)) {
        return;
    }
    // What a check knows of its own program says nothing of another's.
    let is_of_area =
        |row: &&LogLine| !row.from.is_empty() || row.check.split('.').next() == Some(area);
    let found = lines.iter().filter_map(|line| log_lines::find(line));
    if let Some(row) = found.into_iter().find(is_of_area) {
        finding.summary = format!("{}: {}", finding.summary, row.means);
        finding.fix = match is_in_line(row.fix) {
            true => format!("{}; {}", finding.fix, row.fix),
            false => format!("{}; {}", row.fix, finding.fix),
        };
    }
}

/// A check that saw only a symptom learns the cause from the line that says most of the same thing.
fn name_by_lines(finding: &mut Finding, found: &mut [Hit<'_>]) {
    // A program that says again and again what it does, and calls it no error, names the cause of what a check knows.
    let is_cause = |hit: &Hit<'_>| hit.row.is_information && hit.count >= hit.row.passing;
    let is_open = finding.certainty == Certainty::Possible;
    found.sort_by_key(|hit| (!is_cause(hit), weight(hit)));
    let tells = |hit: &&Hit<'_>| {
        let is_symptom = OF_SYMPTOMS.iter().any(|words| hit.line.contains(words));
        let is_new = is_open || is_cause(hit) && finding.certainty == Certainty::Likely;
        is_new && is_specific(hit.row) && !is_symptom && hit.log.is_near_end(hit.line)
    };
    let Some(hit) = found.iter().find(tells) else {
        return;
    };
    let mut named = finding.clone().by(Certainty::Likely);
    let (means, fix) = said(hit);
    named.summary = format!("{}: {means}", finding.summary);
    named.fix = format!("{fix}; {}", finding.fix);
    *finding = named.seen(&hit.log.name, quote(&whole(hit.log.lines, hit.at), QUOTED));
}

/// Adds to a finding what known lines say of the same thing.
fn enrich(finding: &mut Finding, found: &[Hit<'_>]) {
    const MOST: usize = 2;
    let new = found.iter().filter(|hit| {
        let quoted = finding.evidence.iter();
        let is_quoted = quoted
            .clone()
            .any(|piece| piece.value.contains(&start_of(hit.line)));
        !is_quoted && !finding.summary.contains(&said(hit).0)
    });
    let said: Vec<(String, String)> = new
        .take(MOST)
        .map(|hit| (hit.log.name.clone(), quoted(hit)))
        .collect();
    for (name, text) in said {
        *finding = finding.clone().seen(&name, text);
    }
}

/// What a known line means and what to do about it, with the unit that logs it.
fn said(hit: &Hit<'_>) -> (String, String) {
    if let Some((whose, fix)) = expired_peers::of_program(&hit.log.name, hit.line) {
        return (whose.to_owned(), fix);
    }
    let (means, fix) = hit.row.filled(hit.line);
    (means, fix.replace("UNIT", &hit.log.name))
}

/// A known line beside others, with what it means.
fn quoted(hit: &Hit<'_>) -> String {
    let (means, fix) = said(hit);
    format!(
        "{} ({means}: {fix})",
        quote(&whole(hit.log.lines, hit.at), QUOTED)
    )
}

/// A check that saw nothing wrong, or nothing at all, takes over what the lines say. Where it `explains` what failed, one line
/// is enough.
fn take_over(one: &mut CheckReport, mut hits: Vec<Hit<'_>>, explains: bool) {
    hits.retain(|hit| counts(hit, one, explains));
    hits.sort_by_key(weight);
    let Some(first) = hits.first() else { return };
    let often = match first.count {
        1 => "logged it".to_owned(),
        count => format!("logged it {count} times"),
    };
    let (means, fix) = said(first);
    let line = whole(first.log.lines, first.at);
    let means = meaning(&means, &fix, &line);
    let is_wrapped = log_lines::find(first.line) != Some(first.row);
    let ids = match ids(first.line, &means) {
        none if none.is_empty() && (is_wrapped || ends_with_more(first, &means)) => {
            format!(": {}", innermost(first.line))
        }
        ids => ids,
    };
    let (means, fix) = refused(first.line, means, fix);
    let summary = format!("{means}{ids} ({} {often})", first.log.name);
    let mut finding = Finding::new(summary, fix).seen(&first.log.name, quote(&line, QUOTED));
    finding = finding.by(Certainty::Likely);
    for hit in &hits[1..] {
        finding = finding.seen(&hit.log.name, quoted(hit));
    }
    // What the host itself reached, a pod alone does not reach.
    let is_of_pod =
        one.status == Status::Ok && OF_HOST.contains(&one.check.id) && first.log.is_of_pod();
    let fails =
        is_reason(first, explains) && one.check.severity == Severity::Critical && !is_of_pod;
    one.status = if fails { Status::Fail } else { Status::Warn };
    one.note.clone_from(&finding.summary);
    one.heard = hits.iter().map(|hit| hit.count).sum();
    one.finding = Some(finding);
}

/// What only relays another line comes last. What a program ended with comes first, then what is worse, what comes more often,
/// and what came before the others.
fn weight(hit: &Hit<'_>) -> impl Ord + use<> {
    let is_own = !hit.row.is_relayed;
    (Reverse((is_own, hit.is_last, hit.level, hit.count)), hit.at)
}

/// Whether a line goes on with an error behind what its row knows, and the meaning does not have it.
fn ends_with_more(hit: &Hit<'_>, means: &str) -> bool {
    const ERRORS: &[&str] = &[
        "denied",
        "refused",
        "timeout",
        "deadline",
        "no such",
        "not found",
        "x509",
        "status code",
        "cannot",
        "failed",
        "already",
    ];
    let inner = innermost(hit.line);
    let end = hit.row.end(hit.line).unwrap_or_default();
    let rest = hit.line.get(end..).unwrap_or_default();
    let is_error = |text: &str| ERRORS.iter().any(|word| text.contains(word));
    is_error(rest) && is_error(&inner) && !means.contains(&inner)
}

/// Whether a line is the reason of what failed: the last one, or one of late where its check `explains` the failure.
fn is_reason(hit: &Hit<'_>, explains: bool) -> bool {
    // What a healthy node logs many times is no reason by its first.
    const SHARE: usize = 5;
    let is_late = hit.log.is_near_end(hit.line) && hit.log.name != KERNEL;
    let is_often = hit.count * SHARE >= hit.row.passing;
    hit.is_last || (explains && is_late && is_often && is_specific(hit.row))
}

/// So many lines of the cluster's own pods, of what any program may log, are the reason of what failed.
const REPEATED: usize = 3;

/// Whether known lines count although the check did not fail.
fn counts(hit: &Hit<'_>, one: &CheckReport, explains: bool) -> bool {
    let has_passed = one.status == Status::Ok;
    // Of what any program may log, the check itself would have seen the reason.
    let is_repeated = explains && !hit.log.is_of_user() && hit.count >= REPEATED;
    if hit.row.general && hit.log.is_of_pod() && !is_repeated {
        return false;
    }
    // A check of the kernel's log saw these lines, and weighed them.
    let was_weighed = hit.log.name == KERNEL && one.check.sources.contains(&Source::KernelLog);
    if has_passed && was_weighed && !OF_FEW_LINES.contains(&one.check.id) {
        return false;
    }
    // So many a healthy node logs, too.
    if hit.count <= log_lines::usual(hit.line) {
        return false;
    }
    is_reason(hit, explains) || hit.count >= hit.row.passing || is_lasting(hit)
}

/// How often a line came before, each time long before the next.
const LASTING: usize = 2;

/// Whether an error came again and again, and did so of late: what a healthy node logs in its first minutes does not. A warning
/// that comes so is mostly about load.
fn is_lasting(hit: &Hit<'_>) -> bool {
    hit.earlier >= LASTING && hit.level >= Level::Error && is_specific(hit.row)
}
