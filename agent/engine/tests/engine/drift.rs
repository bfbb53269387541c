//! What somebody changes of what the agent wrote: told on a ready node, in a plan, and before a boot overwrites it.

use crate::common::{Change, events_of, host, live, live_after, request, run};
use quake_engine::Mode;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::record::Record;
use quake_model::step::WriteFile;
use quake_node::managed_files::{self, ManagedFile, ManagedFiles};
use quake_testkit::{SimHost, Timing};
use std::sync::{Arc, Mutex};

const GROUP: &str = "workers";
/// A unit that the agent enables; kubelet is none, it waits for the volumes.
const TIMER: &str = "logrotate.timer";
const PROGRAM: &str = "/usr/local/bin/kubelet";
const FILE: &str = "/etc/sysctl.d/99-k8s-general.conf";

/// What is told of drift while the world of a ready node is changed from outside, one change after the other.
async fn reported(host: &Arc<SimHost>, changes: &[Change<'_>]) -> (Record, Vec<String>) {
    let (record, events) = live(host, &request(GROUP), changes).await;
    (record, drifts(&events))
}

/// What is told of drift, each time.
fn drifts(events: &[Event]) -> Vec<String> {
    let reported = events.iter().filter_map(|event| match event {
        Event::DriftChanged { drifted, .. } => {
            let named = drifted
                .iter()
                .map(|one| format!("{}: {}", one.name, one.what));
            Some(named.collect::<Vec<_>>().join("; "))
        }
        _ => None,
    });
    reported.collect()
}

fn warnings(events: &[Event]) -> Vec<&Fault> {
    let faults = events.iter().filter_map(|event| match event {
        Event::Warning { fault } => Some(fault),
        _ => None,
    });
    faults
        .filter(|fault| fault.code == Code::FilesOverwritten)
        .collect()
}

fn bytes_of(host: &SimHost, path: &str) -> Vec<u8> {
    let tree = host.tree();
    tree.get(path).expect("the boot wrote it").clone()
}

#[tokio::test(start_paused = true)]
async fn a_file_that_somebody_changed_is_told_once_and_the_node_stays_ready() {
    let host = host(GROUP, Timing::default());
    let changed = |host: &SimHost| host.put_file(FILE, "mine");
    let removed = |host: &SimHost| host.remove_file(FILE);
    let (record, reported) = reported(&host, &[&changed, &removed]).await;
    let wanted = [
        format!("{FILE}: other contents, mode 0600 instead of 0644"),
        format!("{FILE}: removed"),
    ];
    assert_eq!(reported, wanted);
    assert_eq!((record.is_ready(), record.drift.count()), (true, 1));
    assert!(!host.tree().contains_key(FILE), "nothing is fixed");
}

#[tokio::test(start_paused = true)]
async fn a_program_that_is_gone_at_the_first_look_is_told() {
    let host = host(GROUP, Timing::default());
    let removed = |host: &SimHost| {
        assert!(host.tree().contains_key(PROGRAM), "the boot placed it");
        host.remove_file(PROGRAM);
    };
    let (_, events) = live_after(&host, &request(GROUP), &removed, &[]).await;
    assert_eq!(drifts(&events), [format!("{PROGRAM}: removed")]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_nobody_touches_is_stamped_and_never_read() {
    let host = host(GROUP, Timing::default());
    let counts = Mutex::new(Vec::new());
    let count = |host: &SimHost| {
        let calls = ["look_file", "write_file", "look_unit", "stamp_files"];
        let made = calls.map(|call| host.port_calls_of(call));
        counts.lock().expect("no other holder panics").push(made);
    };
    let (_, reported) = reported(&host, &[&count, &count]).await;
    assert!(reported.is_empty(), "{reported:?}");
    let counts = counts.into_inner().expect("no other holder panics");
    let made = |call: usize| counts[1][call] - counts[0][call];
    assert_eq!((made(0), made(1)), (0, 0), "no file is read or written");
    // The units that are watched anyway are two, every 20 to 40 s.
    let rounds = made(2) / 2;
    assert_eq!(made(2) % 2, 0, "no unit is asked about for its links");
    assert!((2..=5).contains(&rounds), "{rounds} rounds in 90 s");
    assert!((4..=10).contains(&made(3)), "two stamps a round");
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_somebody_disabled_is_told_until_it_is_enabled() {
    let host = host(GROUP, Timing::default());
    let set = |host: &SimHost, enabled: bool| {
        host.change(|region| {
            let unit = region.units.get_mut(TIMER).expect("it runs");
            unit.enabled = enabled;
        });
    };
    let disabled = |host: &SimHost| set(host, false);
    let enabled = |host: &SimHost| set(host, true);
    let (record, reported) = reported(&host, &[&disabled, &enabled]).await;
    let wanted = [
        format!("{TIMER}: not enabled at boot any more"),
        String::new(),
    ];
    assert_eq!(reported, wanted);
    assert_eq!(record.drift.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_boot_names_each_file_it_overwrites_that_somebody_changed_and_no_other() {
    let host = host(GROUP, Timing::default());
    run(&host, &request(GROUP)).await;
    let written = bytes_of(&host, FILE);
    host.put_file(FILE, "mine");
    let (verdict, events) = events_of(&host, &request(GROUP)).await;
    assert_eq!(verdict.fault, None);
    let warnings = warnings(&events);
    let paths: Vec<_> = warnings
        .iter()
        .filter_map(|fault| fault.evidence_named("path"))
        .collect();
    assert_eq!(paths, [FILE]);
    assert_eq!(bytes_of(&host, FILE), written);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_the_agent_itself_rendered_otherwise_before_is_nobodys_change() {
    let host = host(GROUP, Timing::default());
    run(&host, &request(GROUP)).await;
    let mut managed =
        ManagedFiles::parse(&bytes_of(&host, managed_files::PATH)).expect("it is noted");
    let before = WriteFile::plain(FILE, 0o600, "as rendered by an older agent");
    managed
        .files
        .insert(FILE.to_owned(), ManagedFile::from_file(&before));
    host.put_file(managed_files::PATH, managed.file().contents.0);
    host.put_file(FILE, before.contents.0);
    let (_, events) = events_of(&host, &request(GROUP)).await;
    assert!(warnings(&events).is_empty(), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_boot_of_a_node_that_is_as_it_was_left_writes_no_note() {
    let host = host(GROUP, Timing::default());
    run(&host, &request(GROUP)).await;
    let before = host.port_calls_of("write_file");
    let (verdict, _) = run(&host, &request(GROUP)).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(host.port_calls_of("write_file"), before);
}

#[tokio::test(start_paused = true)]
async fn a_plan_tells_what_somebody_changed_from_what_is_not_there_yet() {
    let host = host(GROUP, Timing::default());
    run(&host, &request(GROUP)).await;
    host.put_file(FILE, "mine");
    host.change(|region| {
        let unit = region.units.get_mut(TIMER).expect("it runs");
        unit.enabled = false;
    });
    let mut requested = request(GROUP);
    requested.acting = Mode::DryRun;
    let (verdict, _) = run(&host, &requested).await;
    let drifted: Vec<_> = verdict
        .planned
        .iter()
        .filter_map(|step| Some((step.step.id.as_str(), step.drift.as_deref()?)))
        .collect();
    let (file, timer) = (format!("files:{FILE}"), format!("services:{TIMER}"));
    let wanted = [
        (file.as_str(), "other contents, mode 0600 instead of 0644"),
        (timer.as_str(), "not enabled at boot"),
    ];
    assert_eq!(drifted, wanted);
    host.remove_file(managed_files::PATH);
    let (verdict, _) = run(&host, &requested).await;
    let first = verdict.planned.iter().find(|step| step.step.id == file);
    let first = first.expect("it is planned");
    assert_eq!((&first.drift, first.differs.is_some()), (&None, true));
}
