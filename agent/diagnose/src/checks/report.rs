//! The report of a diagnosis: what each check came to, and the findings with root causes first.

use super::boot_fault;
use super::causes::{advises, is_symptom, links};
use super::changed;
use super::check::{Certainty, Check, Finding, Severity, Verdict};
use super::logs;
use super::node::Node;
use super::order::{Found, harmful, rank};
use super::remedies::Remedies;
use quake_model::facts::{Survey, Unseen};
use quake_model::redact::{KnownSecrets, scrub};

/// What one check came to, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    Ok,
    /// It holds, but not for long, or not well.
    Warn,
    Fail,
    /// It does not concern this node, or what it needs was not looked at.
    Skip,
    /// The check itself could not be made.
    Error,
}

impl Status {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Skip => "skip",
            Self::Error => "error",
        }
    }
}

/// What one check came to.
#[derive(Debug, Clone)]
pub struct CheckReport {
    pub check: Check,
    pub status: Status,
    /// What was seen if it holds, else why it was skipped or could not be made; the finding's summary otherwise.
    pub note: String,
    /// What is wrong, of checks that fail or warn.
    pub finding: Option<Finding>,
    /// The names of the checks whose failure explains it.
    pub because: Vec<&'static str>,
    /// Whether what it needs was not seen: then it may hold or not.
    pub unseen: bool,
    /// How many lines of logs say what the finding says, where it has that from them.
    pub heard: usize,
}

/// How many checks came to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    pub ok: usize,
    pub warn: usize,
    pub fail: usize,
    pub skip: usize,
    /// Checks that could not be made.
    pub error: usize,
}

/// A whole diagnosis.
#[derive(Debug, Clone)]
pub struct Report {
    /// Every check that was asked for, in the order of the table.
    pub checks: Vec<CheckReport>,
    /// The places of those that fail or warn: failures before warnings, causes before what follows from them.
    pub findings: Vec<usize>,
}

impl Report {
    /// Those that fail or warn, root causes first.
    pub fn findings(&self) -> impl Iterator<Item = &CheckReport> {
        self.findings.iter().map(|index| &self.checks[*index])
    }

    /// Masks what is known to be a secret, which a sentence that quotes it need not tell.
    pub fn mask(&mut self, known: &KnownSecrets) {
        let mask = |text: &mut String| {
            let (masked, times) = known.mask(text);
            if times > 0 {
                *text = masked;
            }
        };
        for one in &mut self.checks {
            mask(&mut one.note);
            let Some(finding) = one.finding.as_mut() else {
                continue;
            };
            mask(&mut finding.summary);
            mask(&mut finding.fix);
            finding.alternatives.iter_mut().for_each(mask);
            let evidence = finding.evidence.iter_mut();
            evidence.for_each(|piece| mask(&mut piece.value));
        }
    }

    /// How many came to what.
    pub fn summary(&self) -> Summary {
        let count = |status| {
            self.checks
                .iter()
                .filter(|one| one.status == status)
                .count()
        };
        Summary {
            ok: count(Status::Ok),
            warn: count(Status::Warn),
            fail: count(Status::Fail),
            skip: count(Status::Skip),
            error: count(Status::Error),
        }
    }

    /// The worst of all: a failure, then a check that could not be made, then a warning. Where nearly all were skipped
    /// the few that hold say nothing, and the whole counts as skipped.
    pub fn status(&self) -> Status {
        let summary = self.summary();
        match summary {
            Summary { fail: 1.., .. } => Status::Fail,
            Summary { error: 1.., .. } => Status::Error,
            Summary { warn: 1.., .. } => Status::Warn,
            Summary { ok: 0, .. } => Status::Skip,
            // An empty directory still has a check or two that hold. Of a healthy node at least a third do.
            Summary { ok, skip, .. } if ok * 10 < skip => Status::Skip,
            _ => Status::Ok,
        }
    }
}

/// Judges the checks of `chosen` that concern the node of `survey`; `chosen` is in the order of the table.
pub fn judge(chosen: &[Check], survey: &Survey) -> Report {
    let node = Node::new(survey);
    let mut checks: Vec<CheckReport> = chosen.iter().map(|check| judged(check, &node)).collect();
    let blamed = boot_fault::adopt(&mut checks, &node);
    logs::settle(&mut checks, &node);
    for index in of_network(&checks) {
        checks[index].status = Status::Fail;
    }
    for index in harmful(chosen, &found(&checks, &node)) {
        checks[index].status = Status::Fail;
    }
    let links = links(&checks);
    for link in &links {
        if checks[link.effect].status == Status::Fail {
            checks[link.cause].status = Status::Fail;
        }
    }
    let ranked = rank(chosen, &found(&checks, &node), &blamed, &links);
    for one in &ranked {
        let because = one.because.iter().map(|cause| chosen[*cause].id);
        checks[one.index].because = because.collect();
    }
    let remedies = Remedies::new(&node, &checks);
    let unseen = unseen(&checks);
    for one in &mut checks {
        let Some(finding) = one.finding.as_mut() else {
            continue;
        };
        remedies.complete(&one.check, finding);
        quote_once(finding);
        if one.because.is_empty() {
            doubt(finding, one.check.because, &unseen);
        }
    }
    let findings: Vec<usize> = ranked.iter().map(|one| one.index).collect();
    changed::report(&mut checks, findings.first().copied(), &node);
    Report { checks, findings }
}

/// The warnings about the pod network where the node is not ready for want of it: there they are why.
fn of_network(checks: &[CheckReport]) -> Vec<usize> {
    const LACKS: &[&str] = &[
        "NetworkPluginNotReady",
        "network plugin is not ready",
        "PodCIDR",
    ];
    let lacks = checks.iter().any(|one| {
        one.check.id == "node.ready"
            && one.status == Status::Fail
            && LACKS.iter().any(|words| one.note.contains(words))
    });
    let is_reason = |one: &CheckReport| {
        lacks
            && one.status == Status::Warn
            && matches!(one.check.id, "cni.config" | "cni.addresses")
    };
    let all = checks.iter().enumerate();
    all.filter(|(_, one)| is_reason(one))
        .map(|(index, _)| index)
        .collect()
}

fn found(checks: &[CheckReport], node: &Node<'_>) -> Vec<Found> {
    let changed = changed::files(node);
    let all = checks.iter().enumerate();
    all.filter(|(_, one)| matches!(one.status, Status::Fail | Status::Warn))
        .map(|(index, one)| Found {
            index,
            failed: one.status == Status::Fail,
            is_advice: one.heard == 0
                && one
                    .finding
                    .as_ref()
                    .is_some_and(|it| it.is_advice || advises(one.check.id)),
            is_symptom: is_symptom(one),
            is_changed: !advises(one.check.id)
                && one
                    .finding
                    .as_ref()
                    .is_some_and(|it| changed::named(it, &changed).is_some()),
        })
        .collect()
}

/// The checks that could not see what they need, each with the reason.
fn unseen(checks: &[CheckReport]) -> Vec<(&'static str, String)> {
    let unseen = checks.iter().filter(|one| one.unseen);
    unseen.map(|one| (one.check.id, one.note.clone())).collect()
}

/// How many checks are named that could not be made.
const DOUBTS: usize = 2;

/// Names the checks that would explain a symptom and that could not see what they need. What was seen itself needs no other
/// explanation.
fn doubt(finding: &mut Finding, because: &[&str], unseen: &[(&'static str, String)]) {
    if finding.certainty == Certainty::Certain {
        return;
    }
    let could_explain = unseen.iter().filter(|(id, _)| because.contains(id));
    for (id, why) in could_explain.take(DOUBTS) {
        let doubt = format!("{id}, which could not be looked at ({why})");
        finding.alternatives.push(doubt);
    }
}

/// Leaves out lines that are quoted already; two lines that differ in their numbers alone are the same.
fn quote_once(finding: &mut Finding) {
    let mut quoted: Vec<String> = Vec::new();
    finding.evidence.retain(|piece| {
        if !QUOTES.contains(&piece.name.as_str()) {
            return true;
        }
        let line: String = piece
            .value
            .chars()
            .filter(|c| !c.is_ascii_digit())
            .collect();
        let is_new = !quoted.contains(&line);
        if is_new {
            quoted.push(line);
        }
        is_new
    });
}

/// The names of evidence that is a line of a log.
const QUOTES: &[&str] = &["journal", "kernel log", "log"];

fn looks_outside(check: &Check) -> bool {
    check.sources.iter().any(|source| source.uses_network())
}

fn judged(check: &Check, node: &Node<'_>) -> CheckReport {
    let verdict = (check.judge)(node);
    let unseen = verdict.is_err();
    let (status, note, finding) = match verdict {
        Ok(Verdict::Ok(note)) => (Status::Ok, note, None),
        Ok(Verdict::Skip(why)) => (Status::Skip, why, None),
        Ok(Verdict::Warn(finding)) => (Status::Warn, finding.summary.clone(), Some(finding)),
        // What only matters a little never counts as a failure.
        Ok(Verdict::Fail(finding)) if check.severity == Severity::Info => {
            (Status::Warn, finding.summary.clone(), Some(finding))
        }
        Ok(Verdict::Fail(finding)) => (Status::Fail, finding.summary.clone(), Some(finding)),
        Err(Unseen::NotTaken(why)) => (Status::Skip, why, None),
        // What root may not see outside of the machine either is denied by AWS or by the cluster.
        Err(Unseen::Denied(why)) if node.survey().by_root && looks_outside(check) => {
            (Status::Skip, format!("not allowed: {why}"), None)
        }
        Err(Unseen::Denied(why)) => (Status::Skip, format!("needs root: {why}"), None),
        Err(Unseen::TimedOut(millis)) => {
            let seconds = millis as f64 / 1000.0;
            let note = format!("what it needs could not be seen in {seconds:.1}s");
            (Status::Error, note, None)
        }
        Err(Unseen::Failed(why)) => (Status::Error, why, None),
    };
    CheckReport {
        check: *check,
        status,
        note: scrub(&note),
        finding,
        because: Vec::new(),
        unseen,
        heard: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::table;
    use quake_model::redact::scrub_and_learn;

    #[test]
    fn what_is_known_as_a_secret_is_masked_in_every_text_of_a_finding() {
        let secret = "Sommer2024x";
        let mut known = KnownSecrets::default();
        scrub_and_learn(&format!("password: {secret}"), &mut known);
        known.prepare();
        let mut report = judge(&table::all()[..1], &Survey::default());
        let one = &mut report.checks[0];
        one.note = format!("it saw {secret}");
        let said = Finding::new(
            format!("{secret} refused"),
            format!("use another than {secret}"),
        );
        one.finding = Some(said.seen("log", secret).or_else(format!("{secret} is old")));
        report.mask(&known);
        let shown = format!("{:?}", report.checks);
        assert!(
            shown.contains("it saw ***") && !shown.contains(secret),
            "{shown}"
        );
    }
}
