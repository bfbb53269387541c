//! What `diagnose` prints: the cause and its remedy first, then the findings, root causes before what follows from them.

use super::node::{instance_json, spec_json};
use crate::output::style;
use quake_diagnose::checks::{Check, CheckReport, Finding, Report, Status};
use quake_model::facts::Survey;
use quake_model::record::{BootState, Record};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

const REPORT_SCHEMA: &str = "quake-agent/diagnose/v1";

/// How wide the names of checks are shown.
const NAME_WIDTH: usize = 24;

/// How much of a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The verdict, what was found, and how many checks were skipped.
    Findings,
    /// Every skipped check and its reason too.
    Everything,
}

/// The report for people: the verdict, then the findings.
pub(crate) fn report_text(
    report: &Report,
    survey: &Survey,
    took: Duration,
    detail: Detail,
) -> String {
    let mut text = verdict(report);
    text.push_str(&heading(survey));
    let summary = report.summary();
    let _ = writeln!(
        text,
        "{} failed, {} warned, {} ok, {} skipped, {} could not be made, in {:.1}s\n",
        summary.fail,
        summary.warn,
        summary.ok,
        summary.skip,
        summary.error,
        took.as_secs_f64()
    );
    let mut quoted = Quoted::default();
    for one in report.findings() {
        finding_text(&mut text, one, &mut quoted);
    }
    for one in of_status(report, Status::Error) {
        let (word, id) = (style::bad("error"), style::strong(one.check.id));
        let _ = writeln!(text, "{word} {id:<NAME_WIDTH$} {}", one.note);
    }
    match detail {
        Detail::Everything => skipped_text(&mut text, report),
        Detail::Findings if summary.skip > 0 => {
            let hint = format!("{} checks skipped; --verbose lists them", summary.skip);
            let _ = writeln!(text, "{}", style::faint(hint));
        }
        Detail::Findings => {}
    }
    text
}

fn of_status(report: &Report, status: Status) -> impl Iterator<Item = &CheckReport> {
    report.checks.iter().filter(move |one| one.status == status)
}

/// What was not looked at is said by name, once for each reason: it is not known to be well.
fn skipped_text(text: &mut String, report: &Report) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in of_status(report, Status::Skip) {
        match reasons.iter_mut().find(|(note, _)| *note == one.note) {
            Some((_, names)) => names.push(one.check.id),
            None => reasons.push((&one.note, vec![one.check.id])),
        }
    }
    for (note, names) in reasons {
        let line = format!("skip  {}: {note}", names.join(", "));
        let _ = writeln!(text, "{}", style::faint(line));
    }
}

/// What to know first, in two lines: the cause and its remedy.
fn verdict(report: &Report) -> String {
    let first = report.findings().next();
    let (word, first) = match (report.status(), first) {
        (Status::Fail, Some(first)) => (style::bad("cause").to_string(), first),
        (Status::Warn | Status::Error, Some(first)) => (style::warning("warns").to_string(), first),
        (status, _) => {
            let line = match status {
                Status::Error => style::bad("no check failed, and some could not be made"),
                Status::Skip => style::warning(
                    "nearly all checks were skipped: the node is not known to be healthy",
                ),
                _ => style::good("no check found anything wrong"),
            };
            return format!("{line}\n\n");
        }
    };
    let Some(finding) = &first.finding else {
        return String::new();
    };
    let (id, sure) = (style::strong(first.check.id), finding.certainty.name());
    format!(
        "{word}   {} ({id}, {sure})\nremedy  {}\n\n",
        finding.summary, finding.fix
    )
}

/// Who the node is and how its boot stands.
fn heading(survey: &Survey) -> String {
    let mut text = format!("quake-agent {}", survey.agent_version);
    let Some(record) = &survey.record else {
        text.push_str("\nno boot of the agent is recorded here\n\n");
        return text;
    };
    if let Some(instance) = &record.instance {
        let _ = write!(
            text,
            "  {} {} {}",
            instance.instance_id, instance.instance_type, instance.zone
        );
    }
    if let Some(spec) = &record.spec {
        let _ = write!(
            text,
            "  {} of {} ({}), Kubernetes {}",
            spec.role, spec.cluster, spec.instance_group, spec.kubernetes
        );
    }
    let _ = writeln!(text, "\nboot: {}\n", boot_line(record));
    text
}

fn boot_line(record: &Record) -> String {
    let seconds = record.elapsed_ms as f64 / 1000.0;
    let state = match record.state {
        BootState::Ready if record.is_ready() => "ready",
        BootState::Ready => "was ready, and something was lost",
        BootState::Failed => "failed",
        BootState::Stopped => "was stopped",
        BootState::Starting
        | BootState::Configuring
        | BootState::Preparing
        | BootState::Joining => "not ended",
    };
    let code = record.fault.as_ref();
    let code = code.map_or_else(String::new, |fault| format!(", {}", fault.code));
    format!("{state} after {seconds:.1}s, at {}{code}", record.updated)
}

/// Lines of logs that were shown, and under which check.
#[derive(Default)]
struct Quoted<'a>(Vec<(&'a str, &'static str)>);

impl<'a> Quoted<'a> {
    /// The check under which a line was shown before; else it is shown now.
    fn shown(&mut self, line: &'a str, check: &'static str) -> Option<&'static str> {
        /// What is shorter is a number or a name, which may stand twice.
        const LINE: usize = 40;
        if line.len() < LINE {
            return None;
        }
        let earlier = self.0.iter().find(|(shown, _)| *shown == line);
        let earlier = earlier.map(|(_, check)| *check);
        if earlier.is_none() {
            self.0.push((line, check));
        }
        earlier
    }
}

fn finding_text<'a>(text: &mut String, one: &'a CheckReport, quoted: &mut Quoted<'a>) {
    let word = match one.status {
        Status::Fail => style::bad("FAIL").to_string(),
        Status::Warn => style::warning("WARN").to_string(),
        Status::Ok | Status::Skip | Status::Error => one.status.name().to_owned(),
    };
    let id = style::strong(one.check.id);
    let _ = writeln!(text, "{word}  {id:<NAME_WIDTH$} {}", one.note);
    let Some(finding) = &one.finding else {
        return;
    };
    for piece in &finding.evidence {
        let name = &piece.name;
        if let Some(check) = quoted.shown(&piece.value, one.check.id) {
            let _ = writeln!(
                text,
                "      seen        {name}: the line quoted under {check}"
            );
            continue;
        }
        let value = piece.value.trim_end().replace('\n', "\n                  ");
        let _ = writeln!(text, "      seen        {name}: {value}");
    }
    let _ = writeln!(text, "      sure        {}", finding.certainty.name());
    for alternative in &finding.alternatives {
        let _ = writeln!(text, "      or else     {alternative}");
    }
    if !one.because.is_empty() {
        let _ = writeln!(text, "      follows from {}", one.because.join(", "));
    }
    let _ = writeln!(text, "      fix         {}", finding.fix);
    let _ = writeln!(
        text,
        "      more        quake-agent explain {}\n",
        name(one.check, finding)
    );
}

/// What `explain` knows it by.
fn name(check: Check, finding: &Finding) -> &'static str {
    finding.code.map_or(check.id, |code| code.entry().code)
}

/// The report for programs; its schema is `docs/reference/diagnose.schema.json`.
pub(crate) fn report_json(report: &Report, survey: &Survey, took: Duration) -> Value {
    let summary = report.summary();
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let record = survey.record.as_ref();
    json!({
        "schemaVersion": REPORT_SCHEMA,
        "agent": { "version": survey.agent_version },
        "takenAt": survey.taken.to_string(),
        "byRoot": survey.by_root,
        "node": record.map(instance_json),
        "spec": record.map(spec_json),
        "boot": record.map(boot_json),
        "status": report.status().name(),
        "summary": {
            "ok": summary.ok,
            "warn": summary.warn,
            "fail": summary.fail,
            "skip": summary.skip,
            "error": summary.error,
            "durationMs": millis,
        },
        "rootCause": report.findings().find(|one| one.status == Status::Fail).map(|one| one.check.id),
        "findings": report.findings().map(|one| one.check.id).collect::<Vec<_>>(),
        "checks": report.checks.iter().map(check_report_json).collect::<Vec<_>>(),
    })
}

fn boot_json(record: &Record) -> Value {
    json!({
        "id": record.boot,
        "state": record.state,
        "ready": record.is_ready(),
        "code": record.fault.as_ref().map(|fault| fault.code.entry().code),
        "startedAt": record.started.to_string(),
        "elapsedMs": record.elapsed_ms,
    })
}

fn check_report_json(one: &CheckReport) -> Value {
    let mut value = check_json(&one.check);
    value["status"] = one.status.name().into();
    value["note"] = one.note.clone().into();
    value["because"] = one.because.clone().into();
    if let Some(finding) = &one.finding {
        let class = finding.code.map(|code| code.entry().class);
        value["finding"] = json!({
            "summary": finding.summary,
            "code": finding.code.map(|code| code.entry().code),
            "class": class.map(quake_model::fault::Class::name),
            "certainty": finding.certainty.name(),
            "alternatives": finding.alternatives,
            "evidence": finding.evidence,
            "remedy": finding.fix,
            "explain": format!("quake-agent explain {}", name(one.check, finding)),
        });
    }
    value
}

fn check_json(check: &Check) -> Value {
    json!({
        "id": check.id,
        "title": check.title,
        "severity": check.severity.name(),
        "tags": check.tags,
    })
}

/// The list of checks for people.
pub(crate) fn checks_text(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let severity = check.severity.name();
        let tags = check.tags.join(",");
        let _ = writeln!(
            text,
            "{:<NAME_WIDTH$} {severity:<9} {} [{tags}]",
            check.id, check.title
        );
    }
    text
}

/// The list of checks for programs.
pub(crate) fn checks_json(checks: &[Check]) -> Value {
    let checks: Vec<Value> = checks
        .iter()
        .map(|check| {
            let mut value = check_json(check);
            value["why"] = check.why.into();
            value["remedy"] = check.remedy.into();
            value["because"] = check.because.into();
            value
        })
        .collect();
    json!({ "schemaVersion": "quake-agent/checks/v1", "checks": checks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::without_style;
    use quake_diagnose::checks::judge;

    fn text(detail: Detail) -> String {
        let survey = Survey::default();
        let checks: Vec<Check> = quake_diagnose::checks::all().to_vec();
        let report = judge(&checks, &survey);
        without_style(&report_text(&report, &survey, Duration::ZERO, detail))
    }

    #[test]
    fn the_verdict_comes_first_and_skipped_checks_are_counted() {
        let text = text(Detail::Findings);
        let verdict = text.find("nearly all checks were skipped").expect(&text);
        let skipped = text.find("--verbose lists them").expect(&text);
        assert!(verdict < skipped, "{text}");
        assert!(!text.contains("\nskip  "), "{text}");
    }

    /// A node whose only trouble is a clock that nothing sets.
    fn unsynchronized() -> Survey {
        let clock = quake_model::facts::ClockFacts {
            synchronized: false,
            offset_us: None,
            max_error_us: None,
            ahead_of_server_ms: None,
        };
        Survey {
            clock: quake_model::facts::Seen::Yes(clock),
            ..Survey::default()
        }
    }

    #[test]
    fn the_cause_and_its_remedy_are_the_first_two_lines() {
        let survey = unsynchronized();
        let checks: Vec<Check> = quake_diagnose::checks::all().to_vec();
        let report = judge(&checks, &survey);
        let text = report_text(&report, &survey, Duration::ZERO, Detail::Findings);
        let text = without_style(&text);
        let lines: Vec<&str> = text.lines().take(3).collect();
        assert!(lines[0].starts_with("warns   "), "{text}");
        assert!(lines[0].contains("(time.sync, "), "{text}");
        assert!(lines[1].starts_with("remedy  "), "{text}");
        assert_eq!(lines[2], "", "{text}");
    }

    #[test]
    fn a_line_that_was_quoted_is_not_quoted_again() {
        let line = "a line of a log that is long enough to be one line and no number";
        let mut quoted = Quoted::default();
        assert_eq!(quoted.shown(line, "a.b"), None);
        assert_eq!(quoted.shown(line, "c.d"), Some("a.b"));
        assert_eq!(
            quoted.shown("17", "a.b").or(quoted.shown("17", "c.d")),
            None
        );
    }

    #[test]
    fn every_skipped_check_is_listed_where_it_is_asked_for() {
        let text = text(Detail::Everything);
        assert!(text.contains("\nskip  "), "{text}");
    }
}
