//! Reports put together.

use super::*;
use quake_model::boot::BootId;
use quake_model::boot_report::{ReportedAgent, ReportedFault, ReportedInstance, ReportedPhase};

/// The boot of an instance that ended at this second: ready, or failed with this code.
fn boot(instance: &str, group: &str, ended: u64, took_ms: u64, code: Option<&str>) -> BootReport {
    let phase = |name: &str, took_ms, status| ReportedPhase {
        phase: name.to_owned(),
        status,
        started_ms: 0,
        took_ms,
        retries: 0,
    };
    let assets = match code {
        None => PhaseStatus::Done,
        Some(_) => PhaseStatus::Failed,
    };
    BootReport {
        schema_version: SCHEMA.to_owned(),
        boot: BootId::new(Timestamp(ended * 1000), 1),
        command: "boot".to_owned(),
        instance: ReportedInstance {
            id: instance.to_owned(),
            kind: "m5.large".to_owned(),
            zone: "us-test-1a".to_owned(),
            image: "ami-1".to_owned(),
        },
        cluster: Some("c.example".to_owned()),
        instance_group: group.to_owned(),
        role: Some("worker".to_owned()),
        kubernetes: Some("1.15.0".to_owned()),
        agent: ReportedAgent {
            version: "0.1.0".to_owned(),
            digest: None,
        },
        config: None,
        result: code.map_or(BootState::Ready, |_| BootState::Failed),
        exit_status: u8::from(code.is_some()) * 75,
        started_at: Timestamp(ended * 1000 - took_ms),
        ended_at: Timestamp(ended * 1000),
        took_ms,
        phases: vec![
            phase("assets", took_ms / 2, assets),
            phase("identity", 10, PhaseStatus::Done),
        ],
        fault: code.map(|code| ReportedFault {
            phase: Some("assets".to_owned()),
            code: code.to_owned(),
            class: "transient".to_owned(),
            summary: "no".to_owned(),
        }),
        warnings: BTreeMap::new(),
        bytes_fetched: 0,
        calls: BTreeMap::new(),
        throttled: BTreeMap::new(),
    }
}

fn found(boot: &BootReport) -> Found {
    Found {
        location: format!("s3://store/{}", boot.instance.id),
        bytes: Ok(crate::boot_report::to_json(boot)),
    }
}

fn of(boots: &[BootReport], question: Question) -> Fleet {
    let found: Vec<Found> = boots.iter().map(found).collect();
    fleet(&found, question)
}

fn ids(fleet: &Fleet) -> Vec<&str> {
    fleet
        .rows
        .iter()
        .map(|row| row.instance.id.as_str())
        .collect()
}

fn some() -> Vec<BootReport> {
    vec![
        boot("i-1", "nodes", 100, 40_000, None),
        boot("i-2", "nodes", 300, 60_000, Some("assets.unreachable")),
        boot("i-3", "masters", 200, 50_000, None),
        boot("i-4", "nodes", 300, 90_000, Some("assets.unreachable")),
        boot("i-5", "nodes", 250, 1_000, Some("config.yaml-syntax")),
    ]
}

#[test]
fn the_last_boot_comes_first_and_the_order_of_the_reports_does_not_matter() {
    let all = of(&some(), Question::default());
    assert_eq!(ids(&all), ["i-2", "i-4", "i-5", "i-3", "i-1"]);
    let mut turned = some();
    turned.reverse();
    assert_eq!(of(&turned, Question::default()), all);
    assert_eq!((all.boots, all.ready, all.failed), (5, 2, 3));
    assert!(!all.is_ready());
}

#[test]
fn failures_are_grouped_by_code_the_most_frequent_first() {
    let all = of(&some(), Question::default());
    let reported: Vec<(&str, usize, String)> = all
        .failures
        .iter()
        .map(|it| (it.code.as_str(), it.count, it.instances.join(" ")))
        .collect();
    assert_eq!(
        reported,
        [
            ("assets.unreachable", 2, "i-2 i-4".to_owned()),
            ("config.yaml-syntax", 1, "i-5".to_owned())
        ]
    );
    let remedy = Code::AssetsUnreachable.entry().remedy;
    assert_eq!(all.failures[0].remedy, Some(remedy));
}

#[test]
fn a_code_of_a_newer_agent_is_counted_and_has_no_remedy() {
    let boots = [boot("i-1", "nodes", 9, 1, Some("warp.core-cold"))];
    let all = of(&boots, Question::default());
    assert_eq!(all.failures[0].code, "warp.core-cold");
    assert_eq!(all.failures[0].remedy, None);
}

#[test]
fn what_ended_before_is_left_out_and_what_ended_just_then_is_not() {
    for (since, expected) in [(0, 5), (200, 4), (201, 3), (301, 0)] {
        let question = Question {
            since: Some(Timestamp(since * 1000)),
            rows: Rows::All,
        };
        assert_eq!(of(&some(), question).boots, expected, "since {since}");
    }
}

#[test]
fn rows_of_failures_alone_leave_counts_and_durations_as_they_are() {
    let question = Question {
        since: None,
        rows: Rows::NotReady,
    };
    let (failed, all) = (of(&some(), question), of(&some(), Question::default()));
    assert_eq!(ids(&failed), ["i-2", "i-4", "i-5"]);
    let rest = |fleet: &Fleet| (fleet.boots, fleet.failures.clone(), fleet.durations.clone());
    assert_eq!(rest(&failed), rest(&all));
}

#[test]
fn percentiles_are_by_nearest_rank() {
    let hundred: Vec<u64> = (1..=100).collect();
    for (durations, p50, p95) in [
        (&hundred[..1], 1, 1),
        (&hundred[..2], 1, 2),
        (&hundred[..3], 2, 3),
        (&hundred[..10], 5, 10),
        (&hundred[..19], 10, 19),
        (&hundred[..20], 10, 19),
        (&hundred[..], 50, 95),
    ] {
        let mut unsorted = durations.to_vec();
        unsorted.reverse();
        let found = percentiles(unsorted).expect("there are some");
        assert_eq!((found.p50_ms, found.p95_ms), (p50, p95), "{}", found.count);
    }
    assert_eq!(percentiles(Vec::new()), None);
}

#[test]
fn only_ready_boots_and_done_phases_tell_how_long_things_take() {
    let all = of(&some(), Question::default());
    let whole = all.durations.iter().map(|it| {
        let group = it.instance_group.as_deref().unwrap_or("all");
        let whole = it.total.expect("a boot of each is ready");
        (group, whole.count, whole.p95_ms)
    });
    assert_eq!(
        whole.collect::<Vec<_>>(),
        [
            ("all", 2, 50_000),
            ("masters", 1, 50_000),
            ("nodes", 1, 40_000)
        ]
    );
    let phases: Vec<(&str, usize)> = all.durations[0]
        .phases
        .iter()
        .map(|it| (it.phase.as_str(), it.took.count))
        .collect();
    assert_eq!(phases, [("identity", 5), ("assets", 2)], "in their order");
}

#[test]
fn a_report_that_cannot_be_read_is_named_and_stops_nothing() {
    let mut reports: Vec<Found> = some().iter().map(found).collect();
    let other = r#"{"schemaVersion":"quake-agent/boot-report/v9","instance":7}"#;
    for (location, bytes) in [
        ("z-gone", Err("there is no object".to_owned())),
        ("y-other", Ok(other.as_bytes().to_vec())),
        ("x-torn", Ok(b"{\"schemaVersion\":\"quake".to_vec())),
        ("w-else", Ok(b"{}".to_vec())),
        (
            "v-lacks",
            Ok(format!("{{\"schemaVersion\":\"{SCHEMA}\"}}").into_bytes()),
        ),
    ] {
        let location = location.to_owned();
        reports.push(Found { location, bytes });
    }
    let all = fleet(&reports, Question::default());
    assert_eq!(all.boots, 5);
    let named: Vec<&str> = all
        .unreadable
        .iter()
        .map(|it| it.location.as_str())
        .collect();
    assert_eq!(named, ["v-lacks", "w-else", "x-torn", "y-other", "z-gone"]);
    assert!(
        all.unreadable[3].why.contains("boot-report/v9"),
        "{:?}",
        all.unreadable[3]
    );
}

#[test]
fn what_a_newer_agent_adds_to_this_schema_is_passed_over() {
    let text = String::from_utf8(crate::boot_report::to_json(&some()[0])).expect("JSON is text");
    let added = text.replacen('{', "{\"warp\":9,", 1);
    let report = Found {
        location: "x".to_owned(),
        bytes: Ok(added.into_bytes()),
    };
    assert_eq!(fleet(&[report], Question::default()).boots, 1);
}

#[test]
fn a_fleet_is_ready_when_every_boot_is_and_there_is_one() {
    let ready = [boot("i-1", "nodes", 9, 1, None)];
    assert!(of(&ready, Question::default()).is_ready());
    assert!(!of(&[], Question::default()).is_ready());
    let mut stopped = boot("i-2", "nodes", 9, 1, Some("boot.interrupted"));
    stopped.result = BootState::Stopped;
    let both = of(&[ready[0].clone(), stopped], Question::default());
    assert_eq!((both.is_ready(), both.stopped), (false, 1));
}
