//! How a boot stands: what is served at `/v1/status`, and what `status` prints.

use super::fault::{fault_json, fault_text};
use crate::serve::{Condition, condition_of};
use quake_model::boot::BootId;
use quake_model::phase::{PHASES, Phase};
use quake_model::record::{PhaseRecord, PhaseStatus, Record};
use serde_json::{Value, json};
use std::fmt::Write;

/// The status for programs.
pub(crate) fn status_json(record: &Record) -> Value {
    let (done, total) = record
        .progress
        .values()
        .fold((0, 0), |(done, total), (d, t)| {
            (done + d, total + t.unwrap_or(*d))
        });
    json!({
        "schemaVersion": "quake-agent/status/v1",
        "seq": record.seq,
        "boot": record.boot,
        "state": record.state,
        "ready": record.is_ready(),
        "degraded": record.is_ready() && !record.warnings.is_empty(),
        "startedAt": record.started.to_string(),
        "updatedAt": record.updated.to_string(),
        "elapsedMs": record.elapsed_ms,
        "node": record.instance,
        "spec": record.spec,
        "conditions": conditions(record),
        "unmet": unmet(record),
        "progress": { "bytesDone": done, "bytesTotal": total },
        "writes": record.writes(),
        "calls": record.calls,
        "warnings": record.warnings.iter().map(fault_json).collect::<Vec<_>>(),
        "fault": record.fault.as_ref().map(fault_json),
        "agent": { "version": record.version },
    })
}

fn conditions(record: &Record) -> Vec<Value> {
    let truth = |found: &PhaseRecord| match found.status {
        PhaseStatus::Done => "true",
        PhaseStatus::Failed => "false",
        PhaseStatus::Running if !found.unmet.is_empty() => "false",
        PhaseStatus::Running | PhaseStatus::Pending => "unknown",
    };
    PHASES
        .iter()
        .map(|row| {
            let status = record.phases.get(&row.phase).map_or("unknown", truth);
            json!({ "type": row.phase, "status": status, "doneWhen": row.done_when })
        })
        .collect()
}

/// What is waited for, and what a failed phase failed with; each with the phases it holds up.
fn unmet(record: &Record) -> Vec<Value> {
    let mut all = Vec::new();
    for (phase, found) in &record.phases {
        let blocking: Vec<Phase> = PHASES
            .iter()
            .filter(|row| row.after.contains(phase))
            .map(|row| row.phase)
            .collect();
        for unmet in found.unmet.values() {
            all.push(json!({
                "condition": phase,
                "step": unmet.step,
                "since": unmet.since.to_string(),
                "attempt": unmet.attempt,
                "nextRetryAt": unmet.next_at.to_string(),
                "deadline": unmet.deadline.to_string(),
                "blocking": blocking,
                "fault": fault_json(&unmet.fault),
            }));
        }
        if let Some(fault) = &found.fault {
            all.push(
                json!({ "condition": phase, "blocking": blocking, "fault": fault_json(fault) }),
            );
        }
    }
    all
}

/// The status for people.
pub(crate) fn status_text(record: &Record) -> String {
    let state = serde_json::to_value(record.state).unwrap_or_default();
    let mut text = format!(
        "{} after {:.1}s, boot {}\n",
        state.as_str().unwrap_or_default(),
        record.elapsed_ms as f64 / 1000.0,
        record.boot.as_ref().map_or("-", BootId::as_str),
    );
    if let Some(instance) = &record.instance {
        let (id, kind, zone) = (
            &instance.instance_id,
            &instance.instance_type,
            &instance.zone,
        );
        let _ = writeln!(text, "instance {id} ({kind}) in {zone}");
    }
    if let Some(spec) = &record.spec {
        let (role, cluster, version) = (&spec.role, &spec.cluster, &spec.kubernetes);
        let _ = writeln!(
            text,
            "{role} of {cluster}, group {}, Kubernetes {version}",
            spec.instance_group
        );
    }
    for row in PHASES {
        let (mark, why) = match condition_of(record, row.phase) {
            Condition::Met => ("ok  ", row.done_when.to_owned()),
            Condition::Pending(why) => ("    ", why),
            Condition::Failing(why) => ("FAIL", why),
        };
        let _ = writeln!(text, "  {mark} {:<12} {why}", row.phase.name());
    }
    for warning in &record.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    if let Some(fault) = &record.fault {
        text.push_str(&fault_text("error", fault));
    }
    text
}
