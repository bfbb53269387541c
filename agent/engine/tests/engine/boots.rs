//! Whole boots of the example cluster against the simulated machine and region.

use crate::common::{failing_boot, host, request, run, run_unanswered, run_with, strike};
use quake_engine::{Mode, NODE_BUDGET, Request, stop_signal};
use quake_model::facts::{ActiveState, UnitFacts};
use quake_model::fault::{Class, Code};
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::ports::Condition;
use quake_testkit::{Script, ScriptedFault, Timing, When, example};
use std::time::Duration;

const LATE: Timing = Timing {
    tags_after: 3,
    role_after: 2,
    attached_after: 2,
    device_after: 2,
    healthy_after: 2,
};

#[tokio::test(start_paused = true)]
async fn every_group_becomes_ready_in_a_world_where_everything_is_late() {
    for group in example::INSTANCE_GROUPS {
        let host = host(group, LATE);
        let (verdict, record) = run(&host, &request(group)).await;
        assert_eq!(verdict.fault, None, "{group}");
        assert!(
            record.is_ready() && record.writes() > 20,
            "{group}: {} writes",
            record.writes()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_boot_changes_nothing() {
    for group in example::INSTANCE_GROUPS {
        let host = host(group, LATE);
        run(&host, &request(group)).await;
        let (tree, region) = (host.tree(), host.region());
        host.next_boot(Script::default());
        let (verdict, record) = run(&host, &request(group)).await;
        assert_eq!((verdict.fault, record.writes()), (None, 0), "{group}");
        assert!(host.tree() == tree && host.region() == region, "{group}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_boot_interrupted_at_any_call_converges_when_run_again() {
    let whole = host("control-plane", Timing::default());
    run(&whole, &request("control-plane")).await;
    let (calls, tree) = (whole.port_calls(), whole.tree());
    assert!(calls > 100, "{calls}");
    let mut named = 0;
    for when in [When::Before, When::After] {
        for call in 1..=calls {
            let host = host("control-plane", Timing::default());
            let request = request("control-plane");
            let fault = run_unanswered(&host, &request, call, when).await;
            let late = fault.filter(|fault| fault.code == Code::BootPhaseTimedOut);
            named += u32::from(late.is_some_and(|it| it.summary.contains("is still under way")));
            host.next_boot(Script::default());
            let (verdict, _) = run(&host, &request).await;
            assert_eq!(verdict.fault, None, "after a halt {when:?} call {call}");
            assert!(
                host.tree() == tree,
                "another tree after a halt {when:?} call {call}"
            );
        }
    }
    assert!(named > 100, "{named} steps were named");
}

#[tokio::test(start_paused = true)]
async fn transient_failures_of_every_service_are_waited_out_and_counted() {
    let host = host("control-plane", Timing::default());
    host.next_boot(Script::new(vec![
        strike("read_instance", 1..=2, Condition::Unreachable),
        strike("read_object", 1..=4, Condition::Throttled),
        strike("describe_volumes", 1..=3, Condition::Throttled),
        strike("attach_volume", 1..=2, Condition::Throttled),
        strike("fetch_asset", 1..=5, Condition::Unreachable),
        strike("look_unit", 1..=2, Condition::Unreachable),
    ]));
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    let retries: u32 = record.phases.values().map(|phase| phase.retries).sum();
    assert!(retries >= 16, "{retries}");
}

#[tokio::test(start_paused = true)]
async fn an_attach_whose_answer_was_lost_is_not_asked_for_twice() {
    let host = host("control-plane", Timing::default());
    let lost = ScriptedFault {
        when: When::After,
        ..strike("attach_volume", 1..=1, Condition::Conflict)
    };
    host.next_boot(Script::new(vec![lost]));
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(
        record.calls.get("ec2:AttachVolume"),
        Some(&2),
        "one for each etcd cluster"
    );
}

#[tokio::test(start_paused = true)]
async fn a_wrong_digest_is_invalid_and_names_both() {
    let host = host("workers", Timing::default());
    let (url, _) = example::mirrors().swap_remove(0);
    host.serve(&url, "<html>captive portal</html>");
    let (fault, record) = failing_boot(&host, &request("workers")).await;
    assert_eq!(
        (fault.code, record.exit_status()),
        (Code::AssetsDigestMismatch, 78)
    );
    for name in ["expected", "actual", "url"] {
        assert!(fault.evidence_named(name).is_some(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_given_a_grace_and_then_ends_the_boot() {
    let host = host("workers", Timing::default());
    host.next_boot(Script::new(vec![strike(
        "read_object",
        1..=1000,
        Condition::Denied,
    )]));
    let (fault, record) = failing_boot(&host, &request("workers")).await;
    assert_eq!(
        (fault.code, record.exit_status()),
        (Code::ConfigStoreDenied, 77)
    );
    assert!(record.elapsed_ms >= 30_000, "{}", record.elapsed_ms);
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_at_its_deadline_with_the_last_state_seen() {
    let host = host(
        "workers",
        Timing {
            tags_after: u32::MAX,
            ..Timing::default()
        },
    );
    let (fault, record) = failing_boot(&host, &request("workers")).await;
    assert_eq!(
        (fault.code, fault.class()),
        (Code::IdentityTagsPending, Class::NotYet)
    );
    assert!(fault.evidence_named("tries").is_some(), "{fault:?}");
    assert_eq!(record.exit_status(), 75);
    let region = host.region();
    let kubelet = region.units.get("kubelet.service");
    let is_up = |unit: &UnitFacts| unit.active == ActiveState::Active;
    assert!(!kubelet.is_some_and(is_up), "kubelet is held");
}

#[tokio::test(start_paused = true)]
async fn a_plan_changes_nothing_and_names_what_it_would() {
    let host = host("control-plane", Timing::default());
    let before = host.region();
    let request = Request {
        acting: Mode::DryRun,
        ..request("control-plane")
    };
    let (verdict, record) = run(&host, &request).await;
    assert_eq!((verdict.fault, record.writes()), (None, 0));
    assert!(host.region() == before && host.tree().is_empty());
    let would = || {
        let planned = verdict.planned.iter();
        planned.filter(|planned| planned.outcome == Outcome::WouldChange)
    };
    assert!(would().count() > 20);
    let assets = would().filter(|planned| planned.step.phase == Phase::Assets);
    assert_eq!(
        assets.count(),
        3,
        "each is named, though they are looked at together"
    );
}

#[tokio::test(start_paused = true)]
async fn a_budget_of_cloud_calls_is_never_exceeded_silently() {
    let host = host(
        "control-plane",
        Timing {
            attached_after: u32::MAX,
            ..Timing::default()
        },
    );
    let (fault, record) = failing_boot(&host, &request("control-plane")).await;
    assert!(
        record.calls.values().sum::<u64>() <= NODE_BUDGET.ec2 + NODE_BUDGET.s3 + NODE_BUDGET.imds
    );
    assert!(
        matches!(fault.class(), Class::NotYet | Class::Bug),
        "{fault}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_honoured_while_waiting() {
    let host = host(
        "workers",
        Timing {
            tags_after: u32::MAX,
            ..Timing::default()
        },
    );
    let (handle, stop) = stop_signal();
    let stopper = tokio::spawn(async move {
        tokio::time::advance(Duration::from_secs(5)).await;
        handle.stop("SIGTERM");
    });
    let (verdict, record) = run_with(&host, &request("workers"), stop).await;
    stopper.await.expect("the stopper does not panic");
    assert_eq!(
        verdict.fault.map(|fault| fault.code),
        Some(Code::BootInterrupted)
    );
    assert!(record.is_terminal() && !record.is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_module_the_node_can_do_without_is_a_warning() {
    let host = host("workers", Timing::default());
    host.lack_module("br_netfilter");
    let (verdict, record) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert!(
        record
            .warnings
            .iter()
            .any(|fault| fault.code == Code::NetworkModuleMissing)
    );
    assert!(record.phases[&Phase::Network].steps > 0);
}
