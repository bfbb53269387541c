//! How a boot ended, in one object and in a few lines.

use super::fault::{fault_json, fault_text};
use super::node::{instance_json, spec_json};
use super::status::is_bastion;
use super::timeline::timeline_text;
use quake_diagnose::timeline::{MachineSources, timeline};
use quake_model::outcome::Outcome;
use quake_model::phase::PHASES;
use quake_model::record::Record;
use serde_json::{Value, json};
use std::fmt::Write;

/// The last object of `--output json`: how it ended, and everything that was changed.
pub(crate) fn summary_json(record: &Record, root: &str) -> Value {
    let changed: Vec<&str> = record
        .steps
        .iter()
        .filter(|step| step.outcome == Outcome::Changed)
        .map(|step| step.step.as_str())
        .collect();
    json!({
        "schemaVersion": "quake-agent/summary/v1",
        "result": record.state,
        "ready": record.is_ready(),
        "exitStatus": record.exit_status(),
        "boot": record.boot,
        "root": root,
        "node": instance_json(record),
        "spec": spec_json(record),
        "elapsedMs": record.elapsed_ms,
        "writes": record.writes(),
        "changed": changed,
        "calls": record.calls,
        "warnings": record.warnings.iter().map(fault_json).collect::<Vec<_>>(),
        "fault": record.fault.as_ref().map(fault_json),
    })
}

/// The last lines of a boot in text: the timeline, what was written, and the verdict.
pub(crate) fn closing_text(record: &Record, root: &str) -> String {
    let mut text = String::from("\n");
    let sources = MachineSources::none("a boot reports only itself; see quake-agent timeline");
    let mut timeline = timeline(record, &[], &sources);
    timeline.machine.absent.clear();
    text.push_str(&timeline_text(record, &timeline));
    let _ = writeln!(text, "\n{} changes below {root}", record.writes());
    for row in PHASES {
        let of_phase = record.steps.iter().filter(|step| step.phase == row.phase);
        let changed = of_phase
            .filter(|step| step.outcome == Outcome::Changed)
            .count();
        if changed > 0 {
            let _ = writeln!(text, "  {:<12} {changed}", row.phase.name());
        }
    }
    match &record.fault {
        None if is_bastion(record) && record.writes() == 0 => {
            text.push_str(
                "\nready: a bastion runs no part of the cluster; there was nothing to do\n",
            );
        }
        None => text.push_str("\nready\n"),
        Some(fault) => {
            let class = fault.class();
            let next = if class.is_retried() {
                "the next start continues here"
            } else {
                "will not be retried"
            };
            let _ = write!(text, "\n{}", fault_text("error", fault));
            let _ = writeln!(text, "  exit: {} ({class}; {next})", record.exit_status());
        }
    }
    text
}
