//! How a boot stands: what is served at `/v1/status`, and what `status` prints.

use super::addon_status::{addons_json, addons_text};
use super::certificates::{certificates_json, certificates_text};
use super::drift::{drift_json, drift_text};
use super::fault::{fault_json, fault_text};
use super::node::{configured_by, generation_of, instance_json, spec_json, static_pods};
use super::repair::{repair_json, repair_line};
use super::throttled::{throttled_json, throttled_of};
use super::transfer::{clock_text, transfer_text};
use crate::output::style;
use crate::serve::{Condition, condition_of, fault_of_condition};
use quake_model::boot::BootId;
use quake_model::loss::LostCondition;
use quake_model::phase::{PHASES, Phase};
use quake_model::record::{BootState, PhaseRecord, PhaseStatus, Record};
use quake_model::spec::Role;
use quake_model::time::Timestamp;
use quake_model::transfer::{Fetched, Transfer, asset_of};
use serde_json::{Value, json};
use std::fmt::Write;

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
        "node": instance_json(record),
        "spec": spec_json(record),
        "kopsGeneration": generation_of(record),
        "staticPods": static_pods(record),
        "conditions": conditions(record),
        "pending": unmet(record),
        "progress": { "bytesDone": done, "bytesTotal": total },
        "assets": { "inProgress": in_progress(record), "fetched": fetched(record) },
        "writes": record.writes(),
        "drift": drift_json(record, DRIFTED_SHOWN),
        "repair": repair_json(record),
        "certificates": certificates_json(record),
        "addons": addons_json(record),
        "calls": record.calls,
        "throttled": throttled_json(record),
        "warnings": record.warnings.iter().map(fault_json).collect::<Vec<_>>(),
        "fault": record.fault.as_ref().map(fault_json),
        "agent": { "version": record.version },
    })
}

/// How many files and units that drifted a status names; `/v1/drift` names all that are known.
const DRIFTED_SHOWN: usize = 20;

/// Assets on their way; rates are as of the last report of bytes.
fn in_progress(record: &Record) -> Vec<Value> {
    let transfers = record.transfers.in_progress.iter();
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
    let truth = |found: &PhaseRecord, lost: Option<(&str, &LostCondition)>| match found.status {
        PhaseStatus::Done if lost.is_some() => "false",
        PhaseStatus::Done => "true",
        PhaseStatus::Failed => "false",
        PhaseStatus::Running if !found.unmet.is_empty() => "false",
        PhaseStatus::Running | PhaseStatus::Pending => "unknown",
    };
    PHASES
        .iter()
        .map(|row| {
            let status = record.phases.get(&row.phase).map_or("unknown", |found| {
                truth(found, record.losses.for_phase(row.phase))
            });
            json!({ "type": row.phase, "status": status, "until": row.done_when })
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

/// How many warnings are told in full; the rest is a number, and in JSON.
const WARNINGS: usize = 5;

/// Where else a boot is told of.
const ELSEWHERE: &str = "\
logs      journalctl -b -u @UNIT@
          /var/lib/quake-agent/boots/ has the events of the last boots
times     quake-agent timeline
";

/// The status for people: what it is and for how long, what is amiss and what to do, each condition, and where to look on.
/// `now` is the time of the reader, `unit` that of the agent.
pub(crate) fn status_text(record: &Record, now: Timestamp, unit: &str) -> String {
    let mut text = format!("{}\n", headline(record, now));
    if let Some(instance) = &record.instance {
        let _ = writeln!(
            text,
            "node      {} {}, {} in {}, {}",
            instance.local_hostname,
            instance.instance_id,
            instance.instance_type,
            instance.zone,
            instance.private_ip
        );
    }
    if let Some(spec) = &record.spec {
        let (role, cluster, version) = (&spec.role, &spec.cluster, &spec.kubernetes);
        let group = &spec.instance_group;
        let _ = if is_bastion(record) {
            writeln!(
                text,
                "to be     bastion of {cluster}, group {group}: it runs no part of the cluster"
            )
        } else {
            writeln!(
                text,
                "to be     {role} of {cluster}, group {group}, Kubernetes {version}"
            )
        };
    }
    text.push_str(&configured_by(record));
    text.push_str(&certificates_text(record));
    text.push_str(&addons_text(record));
    text.push_str(&amiss(record, now));
    for row in PHASES {
        let (mark, why) = match condition_of(record, row.phase) {
            Condition::Met => (style::good("ok  "), row.done_when.to_owned()),
            Condition::Pending(why) => (style::faint("    "), why),
            Condition::Failing(_) => (style::bad("FAIL"), short(record, row.phase)),
        };
        let _ = writeln!(text, "  {mark} {:<12} {why}", row.phase.name());
    }
    for (step, found) in &record.transfers.in_progress {
        let _ = writeln!(text, "fetching {} {}", asset_of(step), transfer_text(found));
    }
    text.push_str(&drift_text(record).unwrap_or_default());
    text.push_str(&repair_line(record).unwrap_or_default());
    text.push_str(&throttled_of(record));
    let earlier = record.warnings.len().saturating_sub(WARNINGS);
    if earlier > 0 {
        let _ = writeln!(
            text,
            "{earlier} earlier warnings: quake-agent status --output json"
        );
    }
    for warning in record.warnings.iter().skip(earlier) {
        let _ = writeln!(text, "{}: {warning}", style::warning("warning"));
    }
    text.push_str(&ELSEWHERE.replace("@UNIT@", unit));
    text
}

/// The state, for how long, and since when: `ready in 31.4s, 2h05m ago, boot …`.
fn headline(record: &Record, now: Timestamp) -> String {
    let state = serde_json::to_value(record.state).unwrap_or_default();
    let state = state.as_str().unwrap_or_default().to_uppercase();
    let boot = record.boot.as_ref().map_or("-", BootId::as_str);
    let ended = record
        .phases
        .values()
        .filter_map(|phase| phase.ended_ms)
        .max();
    let age = ago(record.started, now);
    match (record.state, record.losses.is_empty()) {
        (BootState::Ready, is_so) => {
            let took = ended.unwrap_or(record.elapsed_ms) as f64 / 1000.0;
            let lost = if is_so {
                ""
            } else {
                ", and not ready any more"
            };
            format!("{state} after {took:.1}s{lost}; boot {boot}, begun {age}")
        }
        (BootState::Failed | BootState::Stopped, _) => {
            let took = record.elapsed_ms as f64 / 1000.0;
            format!("{state} after {took:.1}s; boot {boot}, begun {age}")
        }
        _ => format!("{state}, not ready yet; boot {boot}, begun {age}"),
    }
}

/// How long ago something was, in words; the clock may have been set in between.
fn ago(then: Timestamp, now: Timestamp) -> String {
    match now.millis_since(then) / 1000 {
        0 => "just now".to_owned(),
        seconds => format!("{} ago", clock_text(seconds)),
    }
}

/// What an operator is to know first: why the boot failed, else what it waits for, else what a ready node lost. Each with
/// since when and what to do.
fn amiss(record: &Record, now: Timestamp) -> String {
    if let Some(fault) = &record.fault {
        return fault_text("error", fault);
    }
    let mut text = String::new();
    for found in record.phases.values() {
        for unmet in found.unmet.values() {
            let (step, attempt) = (&unmet.step, unmet.attempt);
            let left = clock_text(unmet.deadline.millis_since(now) / 1000);
            let label = format!("waiting for {step}");
            text.push_str(&fault_text(&label, &unmet.fault));
            let _ = writeln!(
                text,
                "  since: {} ({}), attempt {attempt}, deadline in {left}",
                unmet.since,
                ago(unmet.since, now)
            );
        }
    }
    for (step, loss) in record.losses.iter() {
        text.push_str(&fault_text(&format!("lost {step}"), &loss.fault));
        let _ = writeln!(text, "  since: {} ({})", loss.since, ago(loss.since, now));
    }
    text
}

/// Why a condition fails, in its code and what happened; the rest is told above.
fn short(record: &Record, phase: Phase) -> String {
    fault_of_condition(record, phase).map_or_else(String::new, ToString::to_string)
}

/// Whether the node is one that only people log in to.
pub(crate) fn is_bastion(record: &Record) -> bool {
    let spec = record.spec.as_ref();
    spec.is_some_and(|spec| spec.role == Role::Bastion.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::event::{Envelope, Event};
    use quake_model::fault::{Code, Fault};

    #[test]
    fn what_is_waited_for_comes_first_with_since_when_and_what_to_do() {
        let fault = Fault::new(Code::AssetsUnreachable, "no mirror answered");
        let mut record = Record::default();
        let events = [
            Event::PhaseStarted {
                phase: Phase::Assets,
            },
            Event::Waiting {
                phase: Phase::Assets,
                step: "assets:kubelet".into(),
                attempt: 3,
                retry_in_ms: 1_000,
                deadline_in_ms: 900_000,
                fault: fault.remedied_by("open the way to the mirror"),
            },
        ];
        for (seq, event) in (1..).zip(events) {
            let (at, elapsed_ms) = (Timestamp(60_000), 500);
            record.fold(&Envelope {
                seq,
                at,
                elapsed_ms,
                event,
            });
        }
        let text = status_text(&record, Timestamp(125_000), "x.service");
        let text = anstream::adapter::strip_str(&text).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("PREPARING, not ready yet; boot -"),
            "{text}"
        );
        assert_eq!(
            lines[1],
            "waiting for assets:kubelet: assets.unreachable: no mirror answered"
        );
        for line in [
            "  fix: open the way to the mirror",
            "  since: 1970-01-01T00:01:00.000Z (1m05s ago), attempt 3, deadline in 13m55s",
            "  FAIL assets       assets.unreachable: no mirror answered",
        ] {
            assert!(lines.contains(&line), "{line} in {text}");
        }
    }

    #[test]
    fn only_the_last_warnings_are_told_in_full() {
        let warning = |number: u32| Fault::new(Code::AssetsUnreachable, format!("number {number}"));
        let record = Record {
            warnings: (1..=7).map(warning).collect(),
            ..Record::default()
        };
        let text = status_text(&record, Timestamp(0), "x.service");
        assert!(text.contains("2 earlier warnings: "), "{text}");
        assert!(
            !text.contains("number 2") && text.contains("number 3"),
            "{text}"
        );
    }

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
        assert_eq!(assets, json!({ "inProgress": [wanted], "fetched": [] }));
        record.transfers.finish(Fetched {
            step: step.into(),
            bytes: 9_000,
            took_ms: 2_000,
            source: "https://example.com/kubelet".into(),
            mirror: 2,
            requests: 3,
        });
        let status = status_json(&record);
        let wanted = json!({
            "name": "kubelet", "bytes": 9_000, "seconds": 2.0, "bytesPerSecond": 4_500.0,
            "source": "https://example.com/kubelet", "mirror": 2,
        });
        assert_eq!(
            status["assets"],
            json!({ "inProgress": [], "fetched": [wanted] })
        );
        assert_eq!(
            status["progress"],
            json!({ "bytesDone": 9_000, "bytesTotal": 9_000 })
        );
    }
}
