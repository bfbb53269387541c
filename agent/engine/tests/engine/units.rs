//! The units of a node, brought up together: how often systemd is asked for what, and what of one that fails.

use crate::common::{events_of, failing_boot, host, request, run, strike};
use quake_model::event::Event;
use quake_model::facts::ActiveState;
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::ports::Condition;
use quake_model::record::Record;
use quake_testkit::{Script, SimHost, Timing, example};
use std::sync::Arc;

/// The hooks that make eight units of a worker's four.
const HOOKS: &str = "  hooks:
  - {name: one, manifest: Type=oneshot}
  - {name: two, manifest: Type=oneshot, before: [docker.service]}
  - {name: three, manifest: Type=oneshot, requires: [kubelet.service]}
  - {name: four, manifest: Type=oneshot}
";

/// Places of units in the batch.
const TIMER: u64 = 1;
const DOCKER: u64 = 4;
const KUBELET: u64 = 7;

fn worker_of_eight_units() -> Arc<SimHost> {
    let host = host("workers", Timing::default());
    let objects = example::objects();
    let group = objects
        .iter()
        .find(|(location, _)| location.ends_with("/workers"));
    let (location, text) = group.expect("the example has workers");
    host.put_object(location, format!("{}\n{HOOKS}", text.trim_end()));
    host
}

/// Reloads, calls that enable, batches of jobs, and jobs.
fn counts(host: &SimHost) -> [u64; 4] {
    let jobs = host.port_calls_of("start_unit") + host.port_calls_of("restart_unit");
    let [reloads, enables, batches] =
        ["reload_units", "enable_units", "run_jobs"].map(|call| host.port_calls_of(call));
    [reloads, enables, batches, jobs]
}

fn outcomes(record: &Record) -> Vec<(&str, Outcome)> {
    let steps = record.steps.iter();
    steps
        .filter(|step| step.phase == Phase::Services)
        .map(|step| (step.step.as_str(), step.outcome))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_set_back_restarts_no_unit() {
    let host = worker_of_eight_units();
    run(&host, &request("workers")).await;
    host.set_back(std::time::Duration::from_secs(24 * 3600));
    // Units that were started after the clock was set back have files of the future.
    host.lose_power(&mut || true);
    host.next_boot(Script::default());
    run(&host, &request("workers")).await;
    host.next_boot(Script::default());
    let (verdict, _) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    let jobs = host.port_calls_of("start_unit") + host.port_calls_of("restart_unit");
    assert_eq!(jobs, 0, "a converged node is left as it is");
}

#[tokio::test(start_paused = true)]
async fn a_first_boot_of_eight_units_takes_one_reload_one_enabling_and_one_batch() {
    let host = worker_of_eight_units();
    let (verdict, record) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(counts(&host), [1, 1, 1, 8]);
    let changed = outcomes(&record);
    let changed = changed
        .iter()
        .filter(|(_, outcome)| *outcome == Outcome::Changed);
    // The ninth is logrotate.service, whose file systemd reads, and which its timer starts.
    assert_eq!(changed.count(), 9, "each unit has a step of its own");
    let up = |name: &str| host.region().units[name].active == ActiveState::Active;
    assert!(up("one.service") && up("docker.service") && up("kubelet.service"));
}

/// How long kubelet was waited for, in milliseconds.
fn waited_for_kubelet(events: &[Event]) -> u64 {
    let took = events.iter().find_map(|event| match event {
        Event::StepDone { step, took_ms, .. } if step == "services:kubelet.service/await" => {
            Some(*took_ms)
        }
        _ => None,
    });
    took.expect("kubelet is waited for")
}

#[tokio::test(start_paused = true)]
async fn a_kubelet_that_answers_is_believed_and_a_silent_one_has_to_stay_up() {
    let host = worker_of_eight_units();
    let (verdict, events) = events_of(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert!(waited_for_kubelet(&events) < 500, "{events:?}");
    let host = worker_of_eight_units();
    let silent = strike("probe", 1..=30, Condition::Unreachable);
    host.next_boot(Script::new(vec![silent]));
    let (verdict, events) = events_of(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    let took = waited_for_kubelet(&events);
    assert!((2000..3000).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_second_boot_asks_systemd_for_nothing() {
    let host = worker_of_eight_units();
    run(&host, &request("workers")).await;
    host.next_boot(Script::default());
    run(&host, &request("workers")).await;
    assert_eq!(counts(&host), [0, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn one_changed_unit_file_takes_one_reload_and_one_restart() {
    let host = worker_of_eight_units();
    run(&host, &request("workers")).await;
    host.put_file("/etc/systemd/system/docker.service", "[Service]\n");
    host.next_boot(Script::default());
    let (verdict, record) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(counts(&host), [1, 0, 1, 1]);
    assert!(outcomes(&record).contains(&("services:docker.service", Outcome::Changed)));
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_fails_names_itself_and_hides_no_other() {
    let host = worker_of_eight_units();
    host.next_boot(Script::new(vec![
        strike("start_unit", TIMER..=TIMER, Condition::Unknown),
        strike("start_unit", DOCKER..=DOCKER, Condition::Unknown),
        strike("start_unit", KUBELET..=KUBELET, Condition::Unknown),
    ]));
    let (fault, record) = failing_boot(&host, &request("workers")).await;
    let unit = |fault: &Fault| fault.evidence_named("unit").map(str::to_owned);
    assert_eq!(fault.code, Code::ServicesUnitUnknown);
    assert_eq!(unit(&fault).as_deref(), Some("docker.service"));
    assert!(fault.evidence_named("journal").is_some(), "{fault:?}");
    let warned: Vec<_> = record.warnings.iter().filter_map(unit).collect();
    assert!(warned.contains(&"kubelet.service".to_owned()), "{warned:?}");
    assert_eq!(
        warned.len(),
        2,
        "the optional unit and the other required one: {warned:?}"
    );
    let outcomes = outcomes(&record);
    assert!(
        outcomes.contains(&("services:three.service", Outcome::Changed)),
        "{outcomes:?}"
    );
    assert_eq!(
        outcomes
            .iter()
            .filter(|(_, outcome)| *outcome == Outcome::Skipped)
            .count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_fails_to_start_is_tried_again_alone() {
    let host = worker_of_eight_units();
    let fails = strike("start_unit", DOCKER..=DOCKER, Condition::Io);
    host.next_boot(Script::new(vec![fails]));
    let (verdict, _) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(counts(&host), [1, 1, 2, 9]);
}

#[tokio::test(start_paused = true)]
async fn units_that_cannot_be_enabled_together_are_enabled_alone() {
    let host = worker_of_eight_units();
    let fails = strike("enable_units", 1..=1, Condition::Unknown);
    host.next_boot(Script::new(vec![fails]));
    let (verdict, _) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    let region = host.region();
    let disabled = region.units.values().filter(|unit| !unit.enabled);
    let disabled: Vec<&str> = disabled.map(|unit| unit.name.as_str()).collect();
    // The agent starts kubelet, and the timer starts the rotation of logs.
    assert_eq!(disabled, ["kubelet.service", "logrotate.service"]);
    assert_eq!(counts(&host), [1, 8, 1, 8], "and all are started together");
}

#[tokio::test(start_paused = true)]
async fn a_reload_that_fails_for_a_moment_is_tried_again_and_made_once() {
    let host = worker_of_eight_units();
    let failure = strike("reload_units", 1..=2, Condition::Unreachable);
    host.next_boot(Script::new(vec![failure]));
    let (verdict, _) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(counts(&host)[0], 3, "two failures and the one reload");
}

/// The faults that the boot waited for.
fn waited_for(events: &[Event]) -> Vec<&Fault> {
    let faults = events.iter().map(|event| match event {
        Event::Waiting { fault, .. } => Some(fault),
        _ => None,
    });
    faults.flatten().collect()
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_ends_again_and_again_is_told_as_failed_and_the_boot_waits_for_it_to_stay_up() {
    let host = worker_of_eight_units();
    host.fail_starts("kubelet.service", 7);
    let (verdict, events) = events_of(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None, "it came up in the end");
    let waited = waited_for(&events);
    let mut waited = waited.iter();
    let fault = waited.find(|fault| fault.code == Code::ServicesUnitFailed);
    let fault = fault.expect("it was told");
    assert!(
        fault.summary.contains("kubelet.service does not stay up"),
        "{fault:?}"
    );
    assert!(
        fault.summary.contains("exit status 255, restarted "),
        "{fault:?}"
    );
    assert!(
        fault
            .remedy_text()
            .contains("journalctl -b -u kubelet.service"),
        "{fault:?}"
    );
    assert!(
        fault
            .remedy_text()
            .contains("systemctl restart kubelet.service"),
        "{fault:?}"
    );
    let evidence = ["journal", "restarts", "ended with"].map(|name| fault.evidence_named(name));
    assert!(evidence.iter().all(Option::is_some), "{fault:?}");
}

#[tokio::test(start_paused = true)]
async fn one_failed_start_is_no_verdict() {
    let host = worker_of_eight_units();
    host.fail_starts("kubelet.service", 1);
    let (verdict, events) = events_of(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    // systemd's second start succeeds before the first look, and to watch a unit that is up is no wait that is told.
    assert_eq!(waited_for(&events), Vec::<&Fault>::new());
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_never_stays_up_ends_the_boot_at_the_deadline_with_its_journal() {
    let host = worker_of_eight_units();
    host.fail_starts("kubelet.service", u32::MAX);
    let (fault, _) = failing_boot(&host, &request("workers")).await;
    assert_eq!(
        (fault.code, fault.class().exit_status()),
        (Code::ServicesUnitFailed, 75)
    );
    assert!(fault.evidence_named("journal").is_some(), "{fault:?}");
    assert!(fault.evidence_named("waited").is_some(), "{fault:?}");
}
