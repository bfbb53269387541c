//! The timeline for programs: `quake-agent/timeline/v1`. Times are milliseconds from the boot's first event.

use quake_diagnose::timeline::{BootSpans, Link, Machine, Part, PhaseSpan, Timeline, slack_ms};
use quake_model::record::Record;
use quake_model::transfer::{Fetched, asset_of};
use serde_json::{Value, json};

/// The spans of the boot and of the machine around it, and the chain that the end waited for.
pub(crate) fn timeline_json(record: &Record, timeline: &Timeline) -> Value {
    let boot = &timeline.boot;
    let phases: Vec<Value> = boot.phases.iter().map(|span| phase(boot, span)).collect();
    let critical: Vec<Value> = timeline.critical.iter().map(link).collect();
    json!({
        "schemaVersion": "quake-agent/timeline/v1",
        "boot": record.boot,
        "state": record.state,
        "startedAt": record.started.to_string(),
        "elapsedMs": record.elapsed_ms,
        "endMs": boot.end_ms,
        "phases": phases,
        "steps": steps(boot),
        "waits": waits(boot),
        "assets": boot.fetched.iter().map(|one| asset(boot, one)).collect::<Vec<_>>(),
        "machine": machine(&timeline.machine),
        "criticalPath": critical,
    })
}

fn phase(boot: &BootSpans, span: &PhaseSpan) -> Value {
    json!({
        "phase": span.phase,
        "startMs": span.start_ms,
        "endMs": span.end_ms,
        "status": span.status,
        "steps": span.steps,
        "changed": span.changed,
        "retries": span.retries,
        "slackMs": slack_ms(boot, span.phase),
    })
}

fn steps(boot: &BootSpans) -> Vec<Value> {
    let steps = boot.steps.iter();
    let step = steps.map(|step| {
        json!({
            "phase": step.phase,
            "step": step.step,
            "startMs": step.start_ms,
            "endMs": step.end_ms,
            "outcome": step.outcome,
        })
    });
    step.collect()
}

fn waits(boot: &BootSpans) -> Vec<Value> {
    let waits = boot.waits.iter();
    let wait = waits.map(|wait| {
        json!({
            "phase": wait.phase,
            "step": wait.step,
            "code": wait.code,
            "startMs": wait.start_ms,
            "endMs": wait.end_ms,
        })
    });
    wait.collect()
}

/// An asset that came in; its download ends within the step of its name.
fn asset(boot: &BootSpans, fetched: &Fetched) -> Value {
    let step = boot.steps.iter().find(|step| step.step == fetched.step);
    json!({
        "name": asset_of(&fetched.step),
        "startMs": step.map(|step| step.start_ms),
        "tookMs": fetched.took_ms,
        "bytes": fetched.bytes,
        "source": fetched.source,
        "mirror": fetched.mirror,
    })
}

fn machine(machine: &Machine) -> Value {
    let spans = machine.spans.iter().map(|span| {
        json!({
            "layer": span.layer.name(),
            "name": span.name,
            "startMs": span.start_ms,
            "endMs": span.end_ms,
            "clock": span.clock.name(),
        })
    });
    let absent = machine.absent.iter();
    let absent = absent.map(|one| json!({ "source": one.source.name(), "reason": one.reason }));
    json!({
        "clock": machine.clock.name(),
        "kernelStartMs": machine.kernel_start_ms,
        "spans": spans.collect::<Vec<_>>(),
        "absent": absent.collect::<Vec<_>>(),
    })
}

fn link(link: &Link) -> Value {
    json!({
        "layer": link.layer.name(),
        "phase": link.phase,
        "startMs": link.start_ms,
        "endMs": link.end_ms,
        "tookMs": link.took_ms(),
        "steps": link.parts.iter().map(part).collect::<Vec<_>>(),
    })
}

fn part(part: &Part) -> Value {
    json!({ "step": part.step, "tookMs": part.took_ms, "waitedMs": part.waits })
}
