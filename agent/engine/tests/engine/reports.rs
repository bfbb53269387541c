//! The report of a boot, left in the state store after the verdict.

use crate::common::{Keep, host, request, strike};
use crate::kops::{conformance, node};
use quake_engine::{Configuration, Emitter, Request, Verdict, boot, report_boot, stop_signal};
use quake_model::boot_report::BootReport;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Clock, Condition, Meter};
use quake_model::record::{BootState, Record};
use quake_testkit::{Script, SimHost, Timing};
use std::sync::{Arc, Mutex};

const REPORT: &str =
    "s3://quake-example-state/demo.quake.example/boot-reports/workers/i-0123456789abcdef0.json";

/// A boot and its report; what happened after the boot ended.
async fn report(host: &Arc<SimHost>, request: &Request) -> (Verdict, Record, Vec<Event>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let clock = Arc::clone(host);
    let emitter = Emitter::new(
        Box::new(move || clock.now()),
        vec![Box::new(Keep(Arc::clone(&kept)))],
    );
    let (_handle, stop) = stop_signal();
    let verdict = boot(host.as_ref(), &emitter, request, stop).await;
    report_boot(
        host.as_ref(),
        &emitter,
        request,
        &verdict,
        Some("sha256:aa"),
    )
    .await;
    let events = kept.lock().expect("no other holder panics").clone();
    let ended = events.iter().position(Event::is_terminal);
    let after = events[ended.expect("it ended") + 1..].to_vec();
    (verdict, emitter.record(), after)
}

fn stored(host: &SimHost) -> BootReport {
    let bytes = host.object(REPORT).expect("the report is there");
    serde_json::from_slice(&bytes).expect("it is a report")
}

fn not_sent(events: &[Event]) -> Vec<(Code, bool)> {
    let not_sent = events.iter().filter_map(|event| match event {
        Event::NotificationFailed { fault, known, .. } => Some((fault.code, *known)),
        _ => None,
    });
    not_sent.collect()
}

#[tokio::test(start_paused = true)]
async fn a_ready_boot_leaves_its_report_after_the_verdict() {
    let host = host("workers", Timing::default());
    let (_, record, after) = report(&host, &request("workers")).await;
    assert!(
        matches!(after.as_slice(), [Event::NotificationSent { to, .. }] if to == REPORT),
        "{after:?}"
    );
    let report = stored(&host);
    assert_eq!(report.result, BootState::Ready);
    assert_eq!(
        report.took_ms, record.elapsed_ms,
        "the report is no part of it"
    );
    assert_eq!(report.agent.digest.as_deref(), Some("sha256:aa"));
    assert_eq!(report.cluster.as_deref(), Some("demo.quake.example"));
    assert_eq!(report.phases.len(), 9);
    assert_eq!(host.calls().get("s3:PutObject"), Some(&1));
}

#[tokio::test(start_paused = true)]
async fn a_boot_that_failed_of_the_configuration_still_leaves_its_report() {
    let host = host("workers", Timing::default());
    host.put_object(
        "s3://quake-example-state/demo.quake.example/cluster.spec",
        "spec: [",
    );
    let (verdict, _, after) = report(&host, &request("workers")).await;
    assert!(verdict.fault.is_some() && not_sent(&after).is_empty());
    let report = stored(&host);
    assert_eq!((report.result, report.config), (BootState::Failed, None));
    let fault = report.fault.expect("it failed");
    assert_eq!(fault.phase.as_deref(), Some("config"));
}

#[tokio::test(start_paused = true)]
async fn a_boot_whose_user_data_is_wrong_but_names_the_store_leaves_its_report() {
    let host = host("workers", Timing::default());
    let mut request = request("workers");
    let document = request.configuration.kube_env.as_mut();
    document
        .expect("the example has one")
        .text
        .push_str("\netcdManifests:\n- main.yaml\n");
    let (verdict, _, after) = report(&host, &request).await;
    assert!(verdict.fault.is_some() && not_sent(&after).is_empty());
    let fault = stored(&host).fault.expect("it failed");
    assert!(fault.code.starts_with("config."), "{fault:?}");
}

#[tokio::test(start_paused = true)]
async fn a_boot_that_never_learnt_the_store_says_that_there_is_no_report() {
    let host = host("workers", Timing::default());
    let request = Request {
        configuration: Configuration::default(),
        ..request("workers")
    };
    let (verdict, record, after) = report(&host, &request).await;
    assert!(verdict.fault.is_some(), "it has no user data");
    assert_eq!(not_sent(&after), [(Code::BootReportUnplaced, false)]);
    assert_eq!(record.state, BootState::Failed);
    assert_eq!(host.calls().get("s3:PutObject"), None);
}

/// It is configured by kops-controller: nothing is wrong, and nothing is reported.
#[tokio::test(start_paused = true)]
async fn a_worker_without_a_state_store_has_no_report_and_no_warning() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", "nodes");
    let (verdict, record, after) = report(&host, &request).await;
    assert_eq!((verdict.fault, record.state), (None, BootState::Ready));
    assert!(after.is_empty(), "{after:?}");
    assert_eq!(record.warnings, Vec::new());
    assert_eq!(host.calls().get("s3:PutObject"), None);
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_a_warning_once_and_again_after_it_was_there() {
    let host = host("workers", Timing::default());
    let denied = || Script::new(vec![strike("write_object", 1..=9, Condition::Denied)]);
    let mut seen = Vec::new();
    for script in [denied(), denied(), Script::default(), denied()] {
        host.next_boot(script);
        let (verdict, record, after) = report(&host, &request("workers")).await;
        assert_eq!((verdict.fault, record.exit_status()), (None, 0));
        let warned: Vec<&Fault> = record
            .warnings
            .iter()
            .filter(|fault| fault.code == Code::BootReportDenied)
            .collect();
        let known: Vec<bool> = not_sent(&after).iter().map(|(_, known)| *known).collect();
        seen.push((host.port_calls_of("write_object"), warned.len(), known));
    }
    assert_eq!(
        seen,
        [
            (1, 1, vec![false]),
            (1, 0, vec![true]),
            (1, 0, vec![]),
            (1, 1, vec![false])
        ],
        "tries, warnings, and whether it was known"
    );
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_for_a_moment_is_tried_again_and_one_that_is_gone_is_given_up() {
    let host = host("workers", Timing::default());
    host.next_boot(Script::new(vec![strike(
        "write_object",
        1..=2,
        Condition::Throttled,
    )]));
    let (_, _, after) = report(&host, &request("workers")).await;
    assert!(
        matches!(after.as_slice(), [Event::NotificationSent { .. }]),
        "{after:?}"
    );

    host.next_boot(Script::new(vec![strike(
        "write_object",
        1..=99,
        Condition::Unreachable,
    )]));
    let (verdict, record, after) = report(&host, &request("workers")).await;
    assert_eq!(not_sent(&after), [(Code::BootReportFailed, false)]);
    assert_eq!((verdict.fault, record.exit_status()), (None, 0));
    assert!(host.port_calls_of("write_object") < 20);
}

#[tokio::test(start_paused = true)]
async fn a_report_has_what_was_throttled() {
    let host = host("workers", Timing::default());
    let throttled = strike("describe_instances", 1..=2, Condition::Throttled);
    host.next_boot(Script::new(vec![throttled]));
    let (verdict, record, _) = report(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(record.throttled.values().sum::<u64>(), 2);
    assert_eq!(stored(&host).throttled, record.throttled);
}
