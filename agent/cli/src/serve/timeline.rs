//! The boot as a timeline: spans for programs, a Chrome trace, and a list for people.

use quake_model::phase::PHASES;
use quake_model::record::Record;
use serde_json::{Value, json};
use std::fmt::Write;

/// The spans of phases and steps, in milliseconds since the boot's start.
pub(crate) fn timeline_json(record: &Record) -> Value {
    let phases: Vec<Value> = PHASES
        .iter()
        .filter_map(|row| {
            let found = record.phases.get(&row.phase)?;
            let start_ms = found.started_ms?;
            Some(json!({
                "phase": row.phase,
                "startMs": start_ms,
                "endMs": found.ended_ms,
                "status": found.status,
                "steps": found.steps,
                "changed": found.changed,
                "retries": found.retries,
            }))
        })
        .collect();
    let steps: Vec<Value> = record
        .steps
        .iter()
        .map(|step| {
            json!({
                "phase": step.phase,
                "step": step.step,
                "startMs": step.ended_ms.saturating_sub(step.took_ms),
                "endMs": step.ended_ms,
                "outcome": step.outcome,
            })
        })
        .collect();
    json!({
        "schemaVersion": "quake-agent/timeline/v1",
        "boot": record.boot,
        "startedAt": record.started.to_string(),
        "elapsedMs": record.elapsed_ms,
        "phases": phases,
        "steps": steps,
    })
}

/// The same spans in the trace event format that Chrome and Perfetto open.
pub(crate) fn timeline_chrome(record: &Record) -> Value {
    let span = |name: &str, category: &str, lane: usize, start: u64, end: u64| {
        json!({
            "name": name, "cat": category, "ph": "X", "pid": 1, "tid": lane,
            "ts": start * 1000, "dur": (end - start) * 1000,
        })
    };
    let lane_of = |phase| {
        PHASES
            .iter()
            .position(|row| row.phase == phase)
            .unwrap_or_default()
            + 1
    };
    let mut events = Vec::new();
    for (phase, found) in &record.phases {
        if let Some(start) = found.started_ms {
            let end = found.ended_ms.unwrap_or(record.elapsed_ms).max(start);
            events.push(span(phase.name(), "phase", lane_of(*phase), start, end));
        }
    }
    for step in &record.steps {
        let start = step.ended_ms.saturating_sub(step.took_ms);
        events.push(span(
            &step.step,
            "step",
            lane_of(step.phase),
            start,
            step.ended_ms,
        ));
    }
    json!({ "traceEvents": events, "displayTimeUnit": "ms" })
}

/// The phases with a bar each, and the slowest steps.
pub(crate) fn timeline_text(record: &Record) -> String {
    const WIDTH: u64 = 40;
    let total = record.elapsed_ms.max(1);
    let mut text = String::new();
    for row in PHASES {
        let Some(found) = record.phases.get(&row.phase) else {
            continue;
        };
        let Some(start) = found.started_ms else {
            continue;
        };
        let end = found.ended_ms.unwrap_or(record.elapsed_ms);
        let left = usize::try_from(start * WIDTH / total).unwrap_or_default();
        let bar = usize::try_from((end - start) * WIDTH / total)
            .unwrap_or_default()
            .max(1);
        let lane = format!("{}{}", " ".repeat(left), "=".repeat(bar));
        let width = WIDTH as usize + 1;
        let _ = writeln!(
            text,
            "  {:<12}|{lane:<width$}| {:>7.3}s  {} of {} steps changed",
            row.phase.name(),
            (end - start) as f64 / 1000.0,
            found.changed,
            found.steps,
        );
    }
    let mut slowest: Vec<_> = record
        .steps
        .iter()
        .filter(|step| step.took_ms > 0)
        .collect();
    slowest.sort_by_key(|step| std::cmp::Reverse(step.took_ms));
    for step in slowest.iter().take(5) {
        let _ = writeln!(
            text,
            "  {:>7.3}s  {}",
            step.took_ms as f64 / 1000.0,
            step.step
        );
    }
    text
}
