//! An agent that is told to take the add-ons over from kops' pod, and one that is told no more.

use crate::common::{Keep, run, strike};
use crate::kops::{conformance, node};
use quake_engine::{Emitter, Mode, Request, Verdict, boot, stop_signal};
use quake_model::event::Event;
use quake_model::fault::Code;
use quake_model::outcome::Outcome;
use quake_model::ports::{Clock, Condition, Sink};
use quake_node::addon_mode::AddonMode;
use quake_testkit::{Script, SimHost, When};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MANIFEST: &str = "/etc/kubernetes/manifests/kops-channels.manifest";

/// Where kops puts the pod in the state store.
const POD: &str = "s3://tests/minimal.example.com/manifests/channels/kops-channels.yaml";

const STEP: &str = "files:/etc/kubernetes/manifests/kops-channels.manifest";

fn control_plane(root: &Path) -> (Arc<SimHost>, Request) {
    node(root, "minimal-1.35", "master-us-test-1a")
}

fn taking_over(request: &Request) -> Request {
    Request {
        takes_over_addons: true,
        ..request.clone()
    }
}

fn is_laid_down(host: &SimHost) -> bool {
    host.tree().contains_key(MANIFEST)
}

/// Who looks after add-ons then: the agent, or the pod.
fn is_kept(verdict: &Verdict) -> bool {
    let addon_mode = verdict.addon_mode.as_ref();
    match addon_mode.expect("somebody looks after the add-ons") {
        AddonMode::Reconcile(keeping) => keeping.channels.len() == 1,
        AddonMode::Observe(watching) => {
            assert_eq!(watching.pod.name, "kops-channels");
            false
        }
    }
}

/// A boot, and what it told of the pod's manifest.
async fn reported(host: &Arc<SimHost>, request: &Request) -> (Verdict, Vec<Event>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let clock = Arc::clone(host);
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Keep(Arc::clone(&events)))];
    let emitter = Emitter::new(Box::new(move || clock.now()), sinks);
    let (_handle, stop) = stop_signal();
    let verdict = boot(host.as_ref(), &emitter, request, stop).await;
    let events = events.lock().expect("no other holder panics").clone();
    let of_pod = |event: &Event| match event {
        Event::StepStarted { step, .. } | Event::StepDone { step, .. } => step == STEP,
        Event::Warning { .. } => true,
        _ => false,
    };
    (verdict, events.into_iter().filter(of_pod).collect())
}

fn outcome(events: &[Event]) -> Option<Outcome> {
    events.iter().find_map(|event| match event {
        Event::StepDone { outcome, .. } => Some(*outcome),
        _ => None,
    })
}

#[tokio::test(start_paused = true)]
async fn the_pod_that_was_laid_down_is_removed_and_laid_down_again_without_the_flag() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    let mut before = None;
    for (takes_over, wanted) in [
        (false, Outcome::Changed),
        (true, Outcome::Changed),
        (true, Outcome::Unchanged),
        (false, Outcome::Changed),
        (false, Outcome::Unchanged),
    ] {
        let request = match takes_over {
            true => taking_over(&request),
            false => request.clone(),
        };
        host.next_boot(Script::default());
        let (verdict, events) = reported(&host, &request).await;
        assert_eq!(verdict.fault, None);
        assert_eq!(is_kept(&verdict), takes_over);
        assert_eq!(is_laid_down(&host), !takes_over);
        assert_eq!(outcome(&events), Some(wanted), "{events:?}");
        let is_begun = matches!(events.first(), Some(Event::StepStarted { .. }));
        assert_eq!(is_begun, wanted == Outcome::Changed, "{events:?}");
        if !takes_over {
            let pod = host.tree().remove(MANIFEST);
            assert!(before.is_none() || before == pod, "it is the same pod");
            before = pod;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_never_had_the_pod_gets_none() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    let (verdict, events) = reported(&host, &taking_over(&request)).await;
    assert_eq!(verdict.fault, None);
    assert!(is_kept(&verdict) && !is_laid_down(&host));
    assert_eq!(outcome(&events), Some(Outcome::Unchanged));
    assert_eq!(host.port_calls_of("remove_file"), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_the_pods_manifest_stays_and_is_told_of() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    let own = "apiVersion: v1\nkind: Pod\nmetadata: {name: my-channels}\n";
    host.put_file(MANIFEST, own);
    let (verdict, events) = reported(&host, &taking_over(&request)).await;
    assert_eq!(verdict.fault, None, "the node boots");
    assert!(is_kept(&verdict));
    assert_eq!(host.tree()[MANIFEST], own.as_bytes());
    assert_eq!(outcome(&events), Some(Outcome::Skipped));
    let is_named = |event: &Event| matches!(event, Event::Warning { fault } if fault.code == Code::AddonsPodForeign);
    assert!(events.iter().any(is_named), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_channels_the_agent_cannot_read_stays_and_is_told_of() {
    let Some(root) = conformance() else { return };
    let own = "- s3://tests/minimal.example.com/addons/bootstrap-channel.yaml\n";
    for (from, to, named) in [
        ("- args:", "- command:", "no channel is seen"),
        (
            own,
            &format!("{own}    - https://example.com/x.yaml\n"),
            "\"https://example.com/x.yaml\"",
        ),
    ] {
        let (host, request) = control_plane(&root);
        let pod = std::str::from_utf8(&host.object(POD).expect("it is in the store"))
            .expect("it is text")
            .replace(from, to);
        host.put_object(POD, pod);
        let (verdict, events) = reported(&host, &taking_over(&request)).await;
        assert_eq!(verdict.fault, None, "the node boots");
        assert!(!is_kept(&verdict) && is_laid_down(&host), "{to}");
        let warnings: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                Event::Warning { fault } => Some((fault.code, fault.summary.contains(named))),
                _ => None,
            })
            .collect();
        assert_eq!(warnings, [(Code::AddonsChannelInvalid, true)], "{events:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_fails_ends_no_boot_and_is_done_by_the_next() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    run(&host, &request).await;
    let script = vec![strike("remove_file", 1..=1, Condition::Io)];
    host.next_boot(Script::new(script));
    let (verdict, events) = reported(&host, &taking_over(&request)).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(outcome(&events), Some(Outcome::Skipped));
    assert!(is_laid_down(&host));
    // One that is another by the time it is removed is looked at again.
    let script = vec![strike("remove_file", 1..=1, Condition::Conflict)];
    host.next_boot(Script::new(script));
    let (_, events) = reported(&host, &taking_over(&request)).await;
    assert_eq!(outcome(&events), Some(Outcome::Changed));
    assert!(!is_laid_down(&host));
}

#[tokio::test(start_paused = true)]
async fn a_plan_shows_the_removal_and_removes_nothing() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    run(&host, &request).await;
    let planning = Request {
        acting: Mode::DryRun,
        ..taking_over(&request)
    };
    host.next_boot(Script::default());
    let (verdict, _) = run(&host, &planning).await;
    let planned: Vec<_> = verdict
        .planned
        .iter()
        .filter(|planned| planned.outcome == Outcome::WouldChange)
        .map(|planned| (planned.step.id.as_str(), planned.differs.as_deref()))
        .collect();
    let wanted = (
        STEP,
        Some("the pod kops-channels is laid down, and is removed"),
    );
    assert!(planned.contains(&wanted), "{planned:?}");
    assert!(is_laid_down(&host));
    assert_eq!(host.port_calls_of("remove_file"), 0);
}

/// A node that had the pod, on which a boot that takes over is cut off at this call.
async fn cut_off(root: &Path, call: u64, when: When) -> (Arc<SimHost>, Request) {
    let (host, request) = control_plane(root);
    run(&host, &request).await;
    let request = taking_over(&request);
    host.next_boot(Script::halting_at(call, when));
    let limit = Duration::from_secs(48 * 3600);
    let _ = tokio::time::timeout(limit, run(&host, &request)).await;
    host.next_boot(Script::default());
    (host, request)
}

#[tokio::test(start_paused = true)]
async fn a_boot_that_takes_over_and_is_cut_off_around_the_removal_converges_when_run_again() {
    let Some(root) = conformance() else { return };
    let (whole, request) = control_plane(&root);
    run(&whole, &request).await;
    whole.next_boot(Script::default());
    run(&whole, &taking_over(&request)).await;
    // The first call that leaves the pod removed.
    let (mut kept, mut removed) = (0, whole.port_calls());
    while kept + 1 < removed {
        let call = u64::midpoint(kept, removed);
        let (host, _) = cut_off(&root, call, When::After).await;
        match is_laid_down(&host) {
            true => kept = call,
            false => removed = call,
        }
    }
    for when in [When::Before, When::After] {
        for call in removed - 2..=removed + 3 {
            let (host, request) = cut_off(&root, call, when).await;
            let is_done = call > removed || (call == removed && when == When::After);
            assert_eq!(is_laid_down(&host), !is_done, "{when:?} call {call}");
            let (verdict, _) = run(&host, &request).await;
            assert_eq!(verdict.fault, None, "after a halt {when:?} call {call}");
            assert!(
                is_kept(&verdict) && !is_laid_down(&host),
                "{when:?} call {call}"
            );
        }
    }
}
