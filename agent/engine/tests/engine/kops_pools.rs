//! Warm pools: an instance is made ready, stopped, and joins when it is needed.

use crate::common::{failing_boot, run, strike};
use crate::kops::{conformance, warnings, worker_with};
use crate::kops_items::writes;
use quake_model::facts::ActiveState;
use quake_model::fault::Code;
use quake_model::ports::Condition;
use quake_testkit::region::GroupState;
use quake_testkit::{Script, SimHost};
use std::collections::{BTreeMap, BTreeSet};

const STATE: &str = "autoscaling/target-lifecycle-state";
const HOOK: &str = "kops-warmpool";
const IMAGE: &str = "registry.k8s.io/pause:3.10";

/// The configuration of a group with a warm pool.
fn pooled(config: &str) -> String {
    format!("{config}EnableLifecycleHook: true\nwarmPoolImages:\n- {IMAGE}\n")
}

/// Lets the instance wait at the hook on its way to a state of the pool.
fn wait_for(host: &SimHost, state: &str) {
    host.change(|region| {
        region.metadata.insert(STATE.to_owned(), state.to_owned());
        let id = region.instance.instance_id.clone();
        let mut group = region.groups.pop().unwrap_or_default();
        group.name = "nodes.minimal.example.com".to_owned();
        group.members.insert(id.clone());
        let hooks = BTreeSet::from([HOOK.to_owned()]);
        group.waiting = BTreeMap::from([(id, hooks)]);
        region.groups.push(group);
    });
}

fn group(host: &SimHost) -> GroupState {
    host.region().groups.pop().unwrap_or_default()
}

fn kubelet(host: &SimHost) -> (bool, ActiveState) {
    let found = host.region().units.get("kubelet.service").cloned();
    found.map_or((false, ActiveState::Inactive), |unit| {
        (unit.enabled, unit.active)
    })
}

#[tokio::test(start_paused = true)]
async fn an_instance_warms_without_kubelet_and_joins_when_it_is_needed() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &pooled);
    wait_for(&host, "Warmed:Stopped");
    let (verdict, record) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(warnings(&record), [""; 0]);
    assert_eq!(kubelet(&host), (false, ActiveState::Inactive));
    assert!(host.region().pulled.contains(IMAGE));
    assert_eq!(group(&host).completed, [format!("{HOOK}=CONTINUE")]);

    // Started again while it warms, it changes nothing, and the group is told nothing twice.
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(writes(&host), []);
    assert_eq!(group(&host).completed.len(), 1);

    // It is put to use: the next boot is an ordinary one.
    wait_for(&host, "InService");
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(kubelet(&host), (true, ActiveState::Active));
    assert_eq!(group(&host).completed.len(), 2);
    assert_eq!(host.port_calls_of("pull_image"), 0);
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(writes(&host), []);
}

/// Kops' hook gives an instance up after ten minutes, and what others bring may take longer.
#[tokio::test(start_paused = true)]
async fn the_group_is_told_before_what_others_bring_is_awaited() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &pooled);
    wait_for(&host, "InService");
    let away = strike("look_node", 1..=9999, Condition::Unreachable);
    host.next_boot(Script::new(vec![away]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::ReadyNodeUnregistered);
    assert_eq!(kubelet(&host), (true, ActiveState::Active));
    assert_eq!(group(&host).completed, [format!("{HOOK}=CONTINUE")]);
}

#[tokio::test(start_paused = true)]
async fn kubelet_that_an_image_brought_up_is_stopped_while_the_instance_warms() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &pooled);
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(kubelet(&host), (true, ActiveState::Active));
    wait_for(&host, "Warmed:Running");
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(kubelet(&host), (false, ActiveState::Inactive));
}

#[tokio::test(start_paused = true)]
async fn an_image_that_is_not_pulled_is_a_warning_and_the_instance_warms_all_the_same() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &pooled);
    wait_for(&host, "Warmed:Stopped");
    host.lack_image(IMAGE);
    let (verdict, record) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    let codes: Vec<Code> = record.warnings.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, [Code::ServicesPullFailed]);
    assert!(host.port_calls_of("pull_image") > 1, "it is tried again");
    assert_eq!(group(&host).completed.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_group_without_the_hook_is_told_nothing() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &pooled);
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(host.port_calls_of("has_hook"), 1);
    assert_eq!(host.port_calls_of("complete_hook"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_may_not_be_completed_is_named_with_its_permission() {
    let Some(root) = conformance() else { return };
    for call in ["has_hook", "complete_hook"] {
        let (host, request) = worker_with(&root, &pooled);
        wait_for(&host, "InService");
        host.next_boot(Script::new(vec![strike(call, 1..=999, Condition::Denied)]));
        let (fault, _) = failing_boot(&host, &request).await;
        assert_eq!(fault.code, Code::ReadyHookDenied, "{call}");
        let lacking = "autoscaling:CompleteLifecycleAction";
        assert!(fault.code.page().actions.contains(&lacking));
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttled_group_is_asked_again() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &pooled);
    wait_for(&host, "InService");
    let faults =
        ["has_hook", "complete_hook"].map(|call| strike(call, 1..=3, Condition::Throttled));
    host.next_boot(Script::new(faults.into()));
    let (verdict, record) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(warnings(&record), [""; 0]);
    assert_eq!(group(&host).completed.len(), 1);
    let (host, request) = worker_with(&root, &pooled);
    wait_for(&host, "InService");
    let silent = strike("complete_hook", 1..=999, Condition::Unreachable);
    host.next_boot(Script::new(vec![silent]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::ReadyHookFailed);
}
