//! `/metrics` in the Prometheus text format. Labels come from closed sets; only assets on their way are named by their
//! own names, a few at a time.

use quake_model::record::{BootState, PhaseStatus, Record};
use quake_model::transfer::{Transfer, asset_of};
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
    fetched(&mut text, record);
    under_way(&mut text, record);
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

/// How many assets on their way have samples of their own.
const ASSETS_SHOWN: usize = 16;

fn fetched(text: &mut String, record: &Record) {
    let transfers = &record.transfers;
    let name = "quake_agent_asset_bytes_total";
    header(
        text,
        name,
        "counter",
        "Bytes of assets that came in, those of broken attempts among them",
    );
    let _ = writeln!(text, "{name} {}", transfers.received);
    let name = "quake_agent_assets_fetched_total";
    header(text, name, "counter", "Assets that came in whole");
    let _ = writeln!(text, "{name} {}", transfers.fetched.len());
    let name = "quake_agent_asset_fetch_seconds_total";
    header(
        text,
        name,
        "counter",
        "How long those assets took, each on its own",
    );
    let took: u64 = transfers.fetched.iter().map(|one| one.took_ms).sum();
    let _ = writeln!(text, "{name} {}", took as f64 / 1000.0);
}

/// What each asset on its way has and wants.
fn under_way(text: &mut String, record: &Record) {
    type Read = fn(&Transfer) -> Option<f64>;
    let families: [(&str, &str, Read); 4] = [
        ("received_bytes", "Bytes so far", |one| {
            Some(one.done as f64)
        }),
        ("size_bytes", "Bytes in all, where known", |one| {
            one.total.map(|total| total as f64)
        }),
        (
            "bytes_per_second",
            "Bytes per second, a weighted mean of the last seconds",
            |one| one.rate,
        ),
        (
            "remaining_seconds",
            "Seconds until it is there at this rate",
            Transfer::remaining_seconds,
        ),
    ];
    for (name, help, read) in families {
        let name = format!("quake_agent_asset_{name}");
        header(text, &name, "gauge", help);
        for (step, transfer) in record.transfers.under_way.iter().take(ASSETS_SHOWN) {
            if let Some(value) = read(transfer) {
                let asset = label(asset_of(step));
                let _ = writeln!(text, "{name}{{asset=\"{asset}\"}} {value}");
            }
        }
    }
}

/// A label's value as the format wants it.
fn label(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n")
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

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::transfer::Fetched;

    #[test]
    fn assets_on_their_way_are_few_and_those_that_came_in_are_a_sum() {
        let mut record = Record::default();
        for number in 0..20 {
            let step = format!("assets:a\"{number:02}");
            record.transfers.report(&step, 0, 0, Some(4_000));
            record.transfers.report(&step, 1_000, 1_000, Some(4_000));
        }
        record.transfers.finish(Fetched {
            step: "assets:a\"00".into(),
            bytes: 4_000,
            took_ms: 1_500,
            source: "https://example.com/a".into(),
            mirror: 1,
        });
        let text = metrics(&record);
        for line in [
            "quake_agent_asset_bytes_total 23000",
            "quake_agent_assets_fetched_total 1",
            "quake_agent_asset_fetch_seconds_total 1.5",
            "quake_agent_asset_received_bytes{asset=\"a\\\"01\"} 1000",
            "quake_agent_asset_size_bytes{asset=\"a\\\"01\"} 4000",
            "quake_agent_asset_bytes_per_second{asset=\"a\\\"01\"} 1000",
            "quake_agent_asset_remaining_seconds{asset=\"a\\\"01\"} 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert_eq!(text.matches("asset_received_bytes{").count(), ASSETS_SHOWN);
    }
}
