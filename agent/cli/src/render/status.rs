//! How a boot stands: what is served at `/v1/status`, and what `status` prints.

use super::fault::{fault_json, fault_text};
use super::transfer::transfer_text;
use crate::serve::{Condition, condition_of};
use quake_model::boot::BootId;
use quake_model::loss::Loss;
use quake_model::phase::{PHASES, Phase};
use quake_model::record::{PhaseRecord, PhaseStatus, Record};
use quake_model::transfer::{Fetched, Transfer, asset_of};
use serde_json::{Value, json};
use std::fmt::Write;

/// The status for programs.
pub(crate) fn status_json(record: &Record) -> Value {
    let (done, total) = record.transfers.sum();
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
        "assets": { "underWay": under_way(record), "fetched": fetched(record) },
        "writes": record.writes(),
        "calls": record.calls,
        "warnings": record.warnings.iter().map(fault_json).collect::<Vec<_>>(),
        "fault": record.fault.as_ref().map(fault_json),
        "agent": { "version": record.version },
    })
}

/// Assets on their way; rates are as of the last report of bytes.
fn under_way(record: &Record) -> Vec<Value> {
    let transfers = record.transfers.under_way.iter();
    let one = |(step, transfer): (&String, &Transfer)| {
        json!({
            "name": asset_of(step),
            "bytesDone": transfer.done,
            "bytesTotal": transfer.total,
            "bytesPerSecond": transfer.rate.map(f64::round),
            "remainingSeconds": transfer.remaining_seconds().map(tenths),
        })
    };
    transfers.map(one).collect()
}

/// Assets that came in.
fn fetched(record: &Record) -> Vec<Value> {
    let fetched = record.transfers.fetched.iter();
    let one = |fetched: &Fetched| {
        json!({
            "name": asset_of(&fetched.step),
            "bytes": fetched.bytes,
            "seconds": fetched.took_ms as f64 / 1000.0,
            "bytesPerSecond": fetched.rate().map(f64::round),
            "source": fetched.source,
            "mirror": fetched.mirror,
        })
    };
    fetched.map(one).collect()
}

fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

fn conditions(record: &Record) -> Vec<Value> {
    let truth = |found: &PhaseRecord, lost: Option<(&str, &Loss)>| match found.status {
        PhaseStatus::Done if lost.is_some() => "false",
        PhaseStatus::Done => "true",
        PhaseStatus::Failed => "false",
        PhaseStatus::Running if !found.unmet.is_empty() => "false",
        PhaseStatus::Running | PhaseStatus::Pending => "unknown",
    };
    PHASES
        .iter()
        .map(|row| {
            let status = record
                .phases
                .get(&row.phase)
                .map_or("unknown", |found| truth(found, record.losses.of(row.phase)));
            json!({ "type": row.phase, "status": status, "doneWhen": row.done_when })
        })
        .collect()
}

/// What is waited for, and what a failed phase failed with; each with the phases it holds up. And what a ready node lost.
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
    for (step, loss) in record.losses.iter() {
        let since = loss.since.to_string();
        all.push(json!({
            "condition": loss.phase, "step": step, "since": since, "blocking": [],
            "fault": fault_json(&loss.fault),
        }));
    }
    all
}

/// The status for people.
pub(crate) fn status_text(record: &Record) -> String {
    let state = serde_json::to_value(record.state).unwrap_or_default();
    let lost = match record.losses.is_empty() {
        true => "",
        false => ", and not ready any more",
    };
    let mut text = format!(
        "{} after {:.1}s{lost}, boot {}\n",
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
    for (step, found) in &record.transfers.under_way {
        let _ = writeln!(text, "fetching {} {}", asset_of(step), transfer_text(found));
    }
    for warning in &record.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    if let Some(fault) = &record.fault {
        text.push_str(&fault_text("error", fault));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_asset_is_shown_with_its_rate_until_it_came_in_and_with_its_source_then() {
        let mut record = Record::default();
        let step = "assets:kubelet";
        record.transfers.report(step, 0, 0, Some(9_000));
        record.transfers.report(step, 1_000, 4_000, Some(9_000));
        let assets = status_json(&record)["assets"].clone();
        let wanted = json!({
            "name": "kubelet", "bytesDone": 4_000, "bytesTotal": 9_000,
            "bytesPerSecond": 4_000.0, "remainingSeconds": 1.3,
        });
        assert_eq!(assets, json!({ "underWay": [wanted], "fetched": [] }));
        record.transfers.finish(Fetched {
            step: step.into(),
            bytes: 9_000,
            took_ms: 2_000,
            source: "https://example.com/kubelet".into(),
            mirror: 2,
        });
        let status = status_json(&record);
        let wanted = json!({
            "name": "kubelet", "bytes": 9_000, "seconds": 2.0, "bytesPerSecond": 4_500.0,
            "source": "https://example.com/kubelet", "mirror": 2,
        });
        assert_eq!(
            status["assets"],
            json!({ "underWay": [], "fetched": [wanted] })
        );
        assert_eq!(
            status["progress"],
            json!({ "bytesDone": 9_000, "bytesTotal": 9_000 })
        );
    }
}
