//! `/metrics` in the Prometheus text format; labels come from closed sets only.

use quake_model::record::{BootState, PhaseStatus, Record};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Renders the record as metrics.
pub(crate) fn metrics(record: &Record) -> String {
    let mut text = String::new();
    header(
        &mut text,
        "quake_agent_build_info",
        "gauge",
        "The agent's version",
    );
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(text, "quake_agent_build_info{{version=\"{version}\"}} 1");
    header(
        &mut text,
        "quake_agent_ready",
        "gauge",
        "Whether the node is ready",
    );
    let _ = writeln!(text, "quake_agent_ready {}", u8::from(record.is_ready()));
    states(&mut text, record);
    header(
        &mut text,
        "quake_agent_boot_elapsed_seconds",
        "gauge",
        "Start of the boot to its last event",
    );
    let _ = writeln!(
        text,
        "quake_agent_boot_elapsed_seconds {}",
        record.elapsed_ms as f64 / 1000.0
    );
    phases(&mut text, record);
    faults(&mut text, record);
    header(
        &mut text,
        "quake_agent_cloud_requests_total",
        "counter",
        "Requests to cloud services",
    );
    for (call, count) in &record.calls {
        let (service, operation) = call.split_once(':').unwrap_or((call, ""));
        let _ = writeln!(
            text,
            "quake_agent_cloud_requests_total{{service=\"{service}\",operation=\"{operation}\"}} {count}"
        );
    }
    header(
        &mut text,
        "quake_agent_changes_total",
        "counter",
        "Steps that changed something",
    );
    let _ = writeln!(text, "quake_agent_changes_total {}", record.writes());
    text.push_str("# EOF\n");
    text
}

fn header(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}");
    let _ = writeln!(text, "# TYPE {name} {kind}");
}

fn states(text: &mut String, record: &Record) {
    header(
        text,
        "quake_agent_state",
        "gauge",
        "1 for the state the boot is in",
    );
    let all = [
        (BootState::Starting, "starting"),
        (BootState::Configuring, "configuring"),
        (BootState::Preparing, "preparing"),
        (BootState::Joining, "joining"),
        (BootState::Ready, "ready"),
        (BootState::Failed, "failed"),
        (BootState::Stopped, "stopped"),
    ];
    for (state, name) in all {
        let _ = writeln!(
            text,
            "quake_agent_state{{state=\"{name}\"}} {}",
            u8::from(record.state == state)
        );
    }
}

fn phases(text: &mut String, record: &Record) {
    header(
        text,
        "quake_agent_phase_done",
        "gauge",
        "Whether the phase is done",
    );
    for (phase, found) in &record.phases {
        let done = u8::from(found.status == PhaseStatus::Done);
        let _ = writeln!(text, "quake_agent_phase_done{{phase=\"{phase}\"}} {done}");
    }
    header(
        text,
        "quake_agent_phase_duration_seconds",
        "gauge",
        "How long the phase took",
    );
    for (phase, found) in &record.phases {
        if let (Some(start), Some(end)) = (found.started_ms, found.ended_ms) {
            let seconds = (end - start) as f64 / 1000.0;
            let _ = writeln!(
                text,
                "quake_agent_phase_duration_seconds{{phase=\"{phase}\"}} {seconds}"
            );
        }
    }
    header(
        text,
        "quake_agent_retries_total",
        "counter",
        "Tries that failed and were tried again",
    );
    for (phase, found) in &record.phases {
        let _ = writeln!(
            text,
            "quake_agent_retries_total{{phase=\"{phase}\"}} {}",
            found.retries
        );
    }
}

fn faults(text: &mut String, record: &Record) {
    header(
        text,
        "quake_agent_warnings_total",
        "counter",
        "Warnings by code",
    );
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for fault in &record.warnings {
        *counts.entry(fault.code.entry().code).or_default() += 1;
    }
    for (code, count) in counts {
        let _ = writeln!(
            text,
            "quake_agent_warnings_total{{code=\"{code}\"}} {count}"
        );
    }
    header(
        text,
        "quake_agent_fault",
        "gauge",
        "1 for the code the boot failed with",
    );
    if let Some(fault) = &record.fault {
        let _ = writeln!(text, "quake_agent_fault{{code=\"{}\"}} 1", fault.code);
    }
}
