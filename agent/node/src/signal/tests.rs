//! What is told of which ending, and what the event says.

use super::*;
use quake_model::boot::BootId;
use quake_model::event::{Envelope, Event};
use quake_model::expected::Expected;
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use serde_json::Value;

fn config(on_fatal: &[&str], node_event: bool) -> SignalConfig {
    SignalConfig {
        on_fatal: on_fatal
            .iter()
            .map(|word| word.parse().expect("a literal"))
            .collect(),
        on_ready: vec!["continue:launch".parse().expect("a literal")],
        node_event,
    }
}

fn failed(class: Class, is_of_storage: bool, is_worker: bool, failed_lately: usize) -> Ending {
    Ending::Failed {
        class,
        is_of_storage,
        is_worker,
        failed_lately,
    }
}

/// Whether a failure is told under a reach.
fn is_reported(word: &str, ending: Ending) -> bool {
    let decided = decide(&config(&[word], false), ending);
    matches!(decided.as_slice(), [Decision::Send(Signal::SetUnhealthy)])
}

#[test]
fn which_failures_are_told_under_which_reach() {
    const CONTROL_PLANE: bool = false;
    const WORKER: bool = true;
    let table = [
        // class, of storage, role, failed lately; told under: plain, :refused, :all
        (Class::Denied, false, WORKER, 1, [true, true, true]),
        (Class::Invalid, true, CONTROL_PLANE, 1, [false, false, true]),
        (Class::Invalid, false, CONTROL_PLANE, 1, [true, true, true]),
        (Class::Invalid, true, WORKER, 1, [true, true, true]),
        (Class::Bug, false, CONTROL_PLANE, 9, [true, true, true]),
        (Class::Refused, false, WORKER, 4, [false, true, true]),
        (Class::Refused, true, WORKER, 1, [false, true, true]),
        (Class::Refused, false, CONTROL_PLANE, 1, [false, true, true]),
        (Class::Refused, true, CONTROL_PLANE, 4, [false, false, true]),
        (Class::Transient, false, WORKER, 3, [false, false, false]),
        (Class::Transient, false, WORKER, 4, [true, true, true]),
        (Class::NotYet, false, WORKER, 1, [false, false, false]),
        (Class::NotYet, true, CONTROL_PLANE, 5, [true, true, true]),
        (Class::Conflict, false, WORKER, 3, [false, false, false]),
        (Class::Conflict, false, WORKER, 4, [true, true, true]),
    ];
    for (class, is_of_storage, is_worker, lately, expected) in table {
        let ending = failed(class, is_of_storage, is_worker, lately);
        let reported = ["", ":refused", ":all"]
            .map(|reach| is_reported(&format!("set-unhealthy{reach}"), ending));
        assert_eq!(reported, expected, "{ending:?}");
    }
    let classes: std::collections::BTreeSet<String> =
        table.iter().map(|row| row.0.to_string()).collect();
    assert_eq!(classes.len(), Class::ALL.len(), "every class has a row");
}

#[test]
fn nothing_is_told_that_was_not_asked_for() {
    let endings = [
        Ending::Ready,
        Ending::Stopped,
        failed(Class::Bug, false, true, 9),
    ];
    for ending in endings {
        assert_eq!(decide(&SignalConfig::default(), ending), []);
    }
}

#[test]
fn a_ready_node_continues_and_a_failed_one_never_does() {
    let config = config(&["abandon:launch", "set-unhealthy"], true);
    let hook = || "launch".parse::<HookName>().expect("a literal");
    let ready = decide(&config, Ending::Ready);
    let proceed = Signal::Complete(hook(), HookResult::Continue);
    assert_eq!(
        ready,
        [Decision::Send(proceed), Decision::Send(Signal::NodeEvent)],
        "the launch waits, and the event may wait for the API server"
    );
    let broken = decide(&config, failed(Class::Invalid, false, true, 1));
    let abandon = Signal::Complete(hook(), HookResult::Abandon);
    assert_eq!(
        broken,
        [
            Decision::Send(Signal::NodeEvent),
            Decision::Send(abandon),
            Decision::Send(Signal::SetUnhealthy)
        ],
        "the event comes before what may terminate the instance"
    );
    assert_eq!(decide(&config, Ending::Stopped), []);
}

#[test]
fn what_is_withheld_says_why() {
    let why = |word: &str, ending| match decide(&config(&[word], false), ending).as_slice() {
        [Decision::Skip(Signal::SetUnhealthy, why)] => why.clone(),
        other => panic!("{other:?}"),
    };
    let once = why("set-unhealthy", failed(Class::NotYet, false, true, 1));
    assert!(
        once.contains("failed boot 1 of 4 within 10 minutes"),
        "{once}"
    );
    let refused = why("set-unhealthy", failed(Class::Refused, true, true, 1));
    assert!(refused.contains(":refused or :all"), "{refused}");
    let volume = why(
        "set-unhealthy:refused",
        failed(Class::Refused, true, false, 1),
    );
    assert!(volume.contains("only with :all"), "{volume}");
}

/// The record of a boot that started at this second and took three, with this fault or none.
fn record(started: u64, fault: Option<Fault>) -> Record {
    let phase = Phase::Storage;
    let end = match fault {
        None => Event::BootReady { changed: 1 },
        Some(fault) => Event::BootFailed { phase, fault },
    };
    let expected = Expected {
        node_name: "ip-10-0-0-9.ec2.internal".to_owned(),
        ..Expected::default()
    };
    let events = [
        Event::BootStarted {
            boot: BootId::new(Timestamp(started * 1000), 1),
            version: "0.1.0".to_owned(),
            command: "boot".to_owned(),
        },
        Event::SpecKnown {
            cluster: "c".to_owned(),
            instance_group: "nodes".to_owned(),
            role: "worker".to_owned(),
            kubernetes: "1.15.0".to_owned(),
            source: "s".to_owned(),
            digest: "d".to_owned(),
        },
        Event::NodeExpected {
            expected: Box::new(expected),
        },
        end,
    ];
    let mut record = Record::default();
    for (seq, event) in (1..).zip(events) {
        record.fold(&Envelope {
            seq,
            at: Timestamp(started * 1000 + (seq - 1) * 1000 + 7),
            elapsed_ms: (seq - 1) * 1000,
            event,
        });
    }
    record
}

#[test]
fn only_boots_that_failed_within_ten_minutes_count() {
    let record = record(10_000, Some(Fault::new(Code::StorageVolumeHeld, "held")));
    let seconds = |seconds: &[u64]| -> Vec<Timestamp> {
        seconds.iter().map(|at| Timestamp(at * 1000)).collect()
    };
    for (earlier, expected) in [
        (seconds(&[]), 1),
        (seconds(&[9_900, 9_800, 9_700]), 4),
        (seconds(&[9_900, 9_403, 8_000]), 2),
        (seconds(&[9_404, 99_999]), 2),
    ] {
        let ending = ending(&record, &earlier);
        let Ending::Failed {
            failed_lately,
            is_of_storage,
            is_worker,
            ..
        } = ending
        else {
            panic!("it failed: {ending:?}");
        };
        assert_eq!(failed_lately, expected, "{earlier:?}");
        assert!(is_of_storage && is_worker);
    }
}

#[test]
fn how_a_boot_ended_is_read_from_its_record() {
    assert_eq!(ending(&record(1, None), &[]), Ending::Ready);
    assert_eq!(ending(&Record::default(), &[]), Ending::Stopped);
    let mut stopped = record(1, Some(Fault::new(Code::BootInterrupted, "told to stop")));
    stopped.state = BootState::Stopped;
    assert_eq!(ending(&stopped, &[]), Ending::Stopped);
}

fn json(record: &Record) -> Value {
    let event = node_event(record).expect("there is one");
    serde_json::from_slice(&event.json).expect("it is JSON")
}

#[test]
fn the_event_of_a_ready_node_is_kubelets_kind_of_event() {
    let json = json(&record(1_700_000_000, None));
    for (pointer, wanted) in [
        (
            "/metadata/name",
            "ip-10-0-0-9.ec2.internal.17979cfe3694cfc0",
        ),
        ("/metadata/namespace", "default"),
        ("/involvedObject/uid", "ip-10-0-0-9.ec2.internal"),
        ("/reason", "QuakeAgentReady"),
        ("/type", "Normal"),
        ("/source/component", "quake-agent"),
        ("/firstTimestamp", "2023-11-14T22:13:23Z"),
        ("/message", "quake-agent 0.1.0 made the node ready in 3 s"),
    ] {
        assert_eq!(json.pointer(pointer), Some(&wanted.into()), "{pointer}");
    }
}

#[test]
fn the_event_of_a_failure_names_its_fault_without_secrets_and_in_bounds() {
    let key = "AKIAIOSFODNN7EXAMPLE";
    let summary = format!(
        "mirror https://u:hunter2@m/ with {key} {}",
        "é".repeat(2000)
    );
    let mut fault = Fault::new(Code::AssetsUnreachable, "x");
    fault.summary = summary;
    let json = json(&record(1, Some(fault)));
    assert_eq!(
        (&json["type"], &json["reason"]),
        (&"Warning".into(), &"QuakeAgentFailed".into())
    );
    let message = json["message"].as_str().expect("a text");
    assert!(
        message.len() <= 1024 && message.len() > 1000,
        "{}",
        message.len()
    );
    assert!(message.contains("assets.unreachable: mirror"), "{message}");
    assert!(
        !message.contains("hunter2") && !message.contains(key),
        "{message}"
    );
}

#[test]
fn a_node_without_a_name_has_no_event() {
    let mut nameless = record(1, None);
    nameless.expected = None;
    assert_eq!(node_event(&nameless), None);
    assert_eq!(node_event(&Record::default()), None);
}
