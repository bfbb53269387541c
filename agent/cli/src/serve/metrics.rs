//! `/metrics`: what is counted and measured of a boot. Labels come from closed sets; only assets on their way and add-ons are
//! named by their own names, a few at a time.

use super::addon_metrics::addon_metrics;
use super::exposition::{Family, Kind};
use quake_engine::{Budget, NODE_BUDGET};
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::record::{BootState, PhaseRecord, PhaseStatus, Record};
use quake_model::transfer::{Transfer, asset_of};
use std::collections::BTreeMap;

/// How many assets on their way have samples of their own.
const ASSETS_SHOWN: usize = 16;

/// The families of a record; those without a sample are not shown.
pub(crate) fn metrics(record: &Record) -> Vec<Family> {
    let mut all = Vec::new();
    all.extend(boot_state(record));
    all.extend(times(record));
    all.extend(phases(record));
    all.extend(faults(record));
    all.extend(assets(record));
    all.extend(in_progress(record));
    all.extend(requests(record));
    let changes = Family::new(
        "quake_agent_changes_total",
        Kind::Counter,
        "Steps that changed something",
    );
    all.push(changes.with(count(record.writes())));
    all.extend(drift(record));
    all.extend(addon_metrics(&record.addons));
    all
}

fn drift(record: &Record) -> [Family; 2] {
    let files = Family::new(
        "quake_agent_drift_files",
        Kind::Gauge,
        "Files that are not as the agent wrote them",
    );
    let units = Family::new(
        "quake_agent_drift_units",
        Kind::Gauge,
        "Units that are not as the agent enabled them",
    );
    [
        files.with(count(record.drift.files().count())),
        units.with(count(record.drift.units().count())),
    ]
}

fn boot_state(record: &Record) -> [Family; 3] {
    let build = Family::new("quake_agent_build_info", Kind::Info, "The agent's version");
    let ready = Family::new(
        "quake_agent_ready",
        Kind::Gauge,
        "Whether the node is ready",
    );
    let state = Family::new(
        "quake_agent_state",
        Kind::Gauge,
        "1 for the state the boot is in",
    );
    [
        build.with_label("version", env!("CARGO_PKG_VERSION"), 1.0),
        ready.with(flag(record.is_ready())),
        BootState::ALL.iter().fold(state, |family, state| {
            family.with_label("state", state, flag(record.state == *state))
        }),
    ]
}

/// How long the boot and its parts took.
fn times(record: &Record) -> [Family; 3] {
    let elapsed = Family::new(
        "quake_agent_boot_elapsed_seconds",
        Kind::Gauge,
        "Start of the boot to its last event",
    );
    let ready = Family::new(
        "quake_agent_boot_ready_seconds",
        Kind::Gauge,
        "Start of the boot to the node being ready",
    );
    let of_node = Family::new(
        "quake_agent_node_boot_ready_seconds",
        Kind::Gauge,
        "Start of the kernel to the node being ready",
    );
    let took_ms = ready_ms(record);
    let node_ms = took_ms
        .zip(record.began_ms())
        .map(|(took, began)| took + began);
    [
        elapsed.with(seconds(record.elapsed_ms)),
        some(ready, took_ms.map(seconds)),
        some(of_node, node_ms.map(seconds)),
    ]
}

/// Milliseconds of the boot until the node was ready, if it became so.
fn ready_ms(record: &Record) -> Option<u64> {
    let last = record.phases.get(&Phase::Ready)?;
    last.ended_ms.filter(|_| record.state == BootState::Ready)
}

fn phases(record: &Record) -> [Family; 3] {
    type Read = fn(&PhaseRecord) -> Option<f64>;
    let families: [(&'static str, Kind, &'static str, Read); 3] = [
        (
            "quake_agent_phase_done",
            Kind::Gauge,
            "Whether the phase is done",
            |found| Some(flag(found.status == PhaseStatus::Done)),
        ),
        (
            "quake_agent_phase_duration_seconds",
            Kind::Gauge,
            "How long the phase took",
            |found| Some(seconds(found.ended_ms?.saturating_sub(found.started_ms?))),
        ),
        (
            "quake_agent_retries_total",
            Kind::Counter,
            "Tries that failed and were tried again",
            |found| Some(f64::from(found.retries)),
        ),
    ];
    families.map(|(name, kind, help, read)| {
        let found = record.phases.iter();
        let found = found.filter_map(|(phase, found)| Some((phase, read(found)?)));
        found.fold(Family::new(name, kind, help), |family, (phase, value)| {
            family.with_label("phase", phase, value)
        })
    })
}

fn faults(record: &Record) -> [Family; 2] {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for fault in &record.warnings {
        *counts.entry(fault.code.entry().code).or_default() += 1;
    }
    let warnings = Family::new(
        "quake_agent_warnings_total",
        Kind::Counter,
        "Warnings by code",
    );
    let fault = Family::new(
        "quake_agent_fault",
        Kind::Gauge,
        "1 for the code the boot failed with",
    );
    let found = record.fault.iter();
    [
        counts.into_iter().fold(warnings, |family, (code, number)| {
            family.with_label("code", code, count(number))
        }),
        found.fold(fault, |family, found| {
            family.with_label("code", &found.code, 1.0)
        }),
    ]
}

/// Assets that came in, and those that were there before.
fn assets(record: &Record) -> [Family; 5] {
    let transfers = &record.transfers;
    let received = Family::new(
        "quake_agent_asset_bytes_total",
        Kind::Counter,
        "Bytes of assets that came in, those of broken attempts among them",
    );
    let fetched = Family::new(
        "quake_agent_assets_fetched_total",
        Kind::Counter,
        "Assets that came in whole",
    );
    let held = Family::new(
        "quake_agent_assets_held_total",
        Kind::Counter,
        "Assets that were in the store already, of a seed or an earlier boot",
    );
    let took = Family::new(
        "quake_agent_asset_fetch_seconds_total",
        Kind::Counter,
        "How long the assets that came in took, each on its own",
    );
    let requests = Family::new(
        "quake_agent_asset_requests_total",
        Kind::Counter,
        "Requests of the attempts by which assets came in",
    );
    let is_held = |step: &&quake_model::record::StepRecord| {
        step.phase == Phase::Assets && step.outcome == Outcome::Unchanged
    };
    let took_ms = transfers.fetched.iter().map(|one| one.took_ms).sum();
    let made: u64 = transfers.fetched.iter().map(|one| one.requests).sum();
    [
        received.with(transfers.received as f64),
        fetched.with(count(transfers.fetched.len())),
        held.with(count(record.steps.iter().filter(is_held).count())),
        took.with(seconds(took_ms)),
        requests.with(made as f64),
    ]
}

/// What each asset on its way has and wants.
fn in_progress(record: &Record) -> [Family; 4] {
    type Read = fn(&Transfer) -> Option<f64>;
    let families: [(&'static str, &'static str, Read); 4] = [
        ("quake_agent_asset_received_bytes", "Bytes so far", |one| {
            Some(one.done as f64)
        }),
        (
            "quake_agent_asset_size_bytes",
            "Bytes in all, where known",
            |one| one.total.map(|total| total as f64),
        ),
        (
            "quake_agent_asset_bytes_per_second",
            "Bytes per second, a weighted mean of the last seconds",
            |one| one.rate,
        ),
        (
            "quake_agent_asset_remaining_seconds",
            "Seconds until it is there at this rate",
            Transfer::remaining_seconds,
        ),
    ];
    families.map(|(name, help, read)| {
        let shown = record.transfers.in_progress.iter().take(ASSETS_SHOWN);
        let shown = shown.filter_map(|(step, one)| Some((asset_of(step), read(one)?)));
        let family = Family::new(name, Kind::Gauge, help);
        shown.fold(family, |family, (asset, value)| {
            family.with_label("asset", asset, value)
        })
    })
}

/// Requests to cloud services, and how many a boot may make.
fn requests(record: &Record) -> [Family; 2] {
    let made = Family::new(
        "quake_agent_cloud_requests_total",
        Kind::Counter,
        "Requests to cloud services",
    );
    let allowed = Family::new(
        "quake_agent_cloud_requests_allowed",
        Kind::Gauge,
        "Requests to each cloud service that a boot may make",
    );
    let Budget {
        imds,
        s3,
        ec2,
        route53,
    } = NODE_BUDGET;
    let budget = [
        ("ec2", ec2),
        ("imds", imds),
        ("route53", route53),
        ("s3", s3),
    ]
    .into_iter();
    [
        record.calls.iter().fold(made, |family, (call, count)| {
            let (service, operation) = call.split_once(':').unwrap_or((call, ""));
            let labels = [("service", service), ("operation", operation)];
            let labels = labels.map(|(name, value)| (name, value.to_owned()));
            family.labelled(labels.to_vec(), *count as f64)
        }),
        budget.fold(allowed, |family, (service, most)| {
            family.with_label("service", service, most as f64)
        }),
    ]
}

/// The family with its only sample, where there is one.
fn some(family: Family, value: Option<f64>) -> Family {
    match value {
        Some(value) => family.with(value),
        None => family,
    }
}

fn flag(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

fn count(number: usize) -> f64 {
    number as f64
}

fn seconds(millis: u64) -> f64 {
    millis as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::super::exposition::{Format, exposition};
    use super::*;
    use quake_model::transfer::Fetched;

    fn text(record: &Record) -> String {
        exposition(&metrics(record), Format::Text)
    }

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
            requests: 7,
        });
        let text = text(&record);
        for line in [
            "quake_agent_asset_bytes_total 23000",
            "quake_agent_assets_fetched_total 1",
            "quake_agent_asset_fetch_seconds_total 1.5",
            "quake_agent_asset_requests_total 7",
            "quake_agent_asset_received_bytes{asset=\"a\\\"01\"} 1000",
            "quake_agent_asset_size_bytes{asset=\"a\\\"01\"} 4000",
            "quake_agent_asset_bytes_per_second{asset=\"a\\\"01\"} 1000",
            "quake_agent_asset_remaining_seconds{asset=\"a\\\"01\"} 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert_eq!(text.matches("asset_received_bytes{").count(), ASSETS_SHOWN);
    }

    #[test]
    fn a_node_that_became_ready_says_how_long_that_took_from_both_starts() {
        let mut record = Record {
            elapsed_ms: 90_000,
            kernel: Some(quake_model::record::KernelRecord {
                boot: "k".into(),
                began_ms: 5_500,
            }),
            ..Record::default()
        };
        let last = record.phases.entry(Phase::Ready).or_default();
        last.ended_ms = Some(12_250);
        assert!(!text(&record).contains("boot_ready_seconds"));
        record.state = BootState::Ready;
        let text = text(&record);
        for line in [
            "quake_agent_boot_elapsed_seconds 90\n",
            "quake_agent_boot_ready_seconds 12.25\n",
            "quake_agent_node_boot_ready_seconds 17.75\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
