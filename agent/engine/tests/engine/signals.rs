//! What the Auto Scaling group and the API server are told once a boot has ended.

use crate::common::{EPOCH, Keep, host, request, strike};
use quake_engine::{Emitter, Request, Signalled, boot, signal_boot, stop_signal};
use quake_model::event::Event;
use quake_model::fault::Code;
use quake_model::notification::Notification::{
    self, HookAbandon, HookContinue, NodeEvent, Unhealthy,
};
use quake_model::ports::{Clock, Condition, Meter};
use quake_model::record::Record;
use quake_model::signal::SignalConfig;
use quake_model::time::Timestamp;
use quake_testkit::region::{EtcdSlot, GroupState};
use quake_testkit::{Script, SimHost, Timing, example};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ME: &str = "i-0123456789abcdef0";
const GROUP: &str = "nodes.demo.quake.example";
const CLUSTER_SPEC: &str = "s3://quake-example-state/demo.quake.example/cluster.spec";

/// A worker whose launch waits at the hook `launch`.
fn waiting_host() -> Arc<SimHost> {
    let host = host("workers", Timing::default());
    host.change(|region| {
        region.groups = vec![GroupState {
            name: GROUP.to_owned(),
            members: [ME.to_owned()].into(),
            waiting: [(ME.to_owned(), ["launch".to_owned()].into())].into(),
            ..GroupState::default()
        }];
    });
    host
}

fn config(on_fatal: &[&str], on_ready: &[&str], node_event: bool) -> SignalConfig {
    let literal = "a literal";
    SignalConfig {
        on_fatal: on_fatal
            .iter()
            .map(|word| word.parse().expect(literal))
            .collect(),
        on_ready: on_ready
            .iter()
            .map(|word| word.parse().expect(literal))
            .collect(),
        node_event,
    }
}

/// Makes the boot fail for good: its spec cannot be read.
fn break_spec(host: &SimHost) {
    host.put_object(CLUSTER_SPEC, "spec: [");
}

/// A boot and what is told of it; its record, and what happened after it ended.
async fn report(
    host: &Arc<SimHost>,
    request: &Request,
    config: &SignalConfig,
    earlier: &[Timestamp],
) -> (Record, Vec<Event>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let clock = Arc::clone(host);
    let emitter = Emitter::new(
        Box::new(move || clock.now()),
        vec![Box::new(Keep(Arc::clone(&kept)))],
    );
    let (_handle, stop) = stop_signal();
    boot(host.as_ref(), &emitter, request, stop.clone()).await;
    let before = emitter.record();
    let signalled = Signalled {
        config,
        earlier,
        event_deadline: Duration::from_secs(60),
    };
    signal_boot(host.as_ref(), &emitter, signalled, stop).await;
    let record = emitter.record();
    assert_eq!(
        (before.state, before.elapsed_ms, before.exit_status()),
        (record.state, record.elapsed_ms, record.exit_status()),
        "what is told changes nothing of the boot"
    );
    let events = kept.lock().expect("no other holder panics").clone();
    let ended = events.iter().position(Event::is_terminal);
    let after = events[ended.expect("it ended") + 1..].to_vec();
    (record, after)
}

fn group(host: &SimHost) -> GroupState {
    host.region().groups.pop().expect("it is there")
}

fn sent(events: &[Event]) -> Vec<Notification> {
    let sent = events.iter().filter_map(|event| match event {
        Event::NotificationSent { what, .. } => Some(*what),
        _ => None,
    });
    sent.collect()
}

fn not_sent(events: &[Event]) -> Vec<(Notification, Code, bool)> {
    let not_sent = events.iter().filter_map(|event| match event {
        Event::NotificationFailed { what, fault, known } => Some((*what, fault.code, *known)),
        _ => None,
    });
    not_sent.collect()
}

fn skipped(events: &[Event]) -> Vec<(Notification, &str)> {
    let skipped = events.iter().filter_map(|event| match event {
        Event::NotificationSkipped { what, why } => Some((*what, why.as_str())),
        _ => None,
    });
    skipped.collect()
}

#[tokio::test(start_paused = true)]
async fn without_being_asked_nobody_is_told() {
    for broken in [false, true] {
        let host = waiting_host();
        if broken {
            break_spec(&host);
        }
        let (_, after) = report(&host, &request("workers"), &SignalConfig::default(), &[]).await;
        assert_eq!(after, []);
        assert_eq!(
            host.calls()
                .keys()
                .find(|call| call.starts_with("autoscaling")),
            None
        );
        assert!(group(&host).unhealthy.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_fails_for_good_is_abandoned_and_its_instance_is_unhealthy() {
    let host = waiting_host();
    break_spec(&host);
    let config = config(
        &["abandon:launch", "set-unhealthy"],
        &["continue:launch"],
        false,
    );
    let (record, after) = report(&host, &request("workers"), &config, &[]).await;
    assert_eq!(sent(&after), [HookAbandon, Unhealthy]);
    assert_eq!(group(&host).completed, ["launch=ABANDON"]);
    assert!(group(&host).unhealthy.contains(ME));
    assert!(
        record
            .warnings
            .iter()
            .all(|fault| !fault.code.to_string().contains("signal"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_launch_goes_on_when_the_node_is_ready_and_a_reboot_is_no_warning() {
    let host = waiting_host();
    let config = config(&["abandon:launch"], &["continue:launch"], false);
    let (_, after) = report(&host, &request("workers"), &config, &[]).await;
    assert_eq!(sent(&after), [HookContinue]);
    assert_eq!(group(&host).completed, ["launch=CONTINUE"]);

    host.next_boot(Script::default());
    let (record, after) = report(&host, &request("workers"), &config, &[]).await;
    let why = format!("{ME} does not wait at the hook launch");
    assert_eq!(skipped(&after), [(HookContinue, why.as_str())]);
    assert_eq!((not_sent(&after), record.exit_status()), (Vec::new(), 0));
}

#[tokio::test(start_paused = true)]
async fn the_group_is_that_of_the_instances_tag_and_else_asked_for() {
    let config = config(&[], &["continue:launch"], false);
    let find = "autoscaling:DescribeAutoScalingInstances";
    for tagged in [true, false] {
        let host = waiting_host();
        host.change(|region| {
            if tagged {
                let tag = "aws:autoscaling:groupName".to_owned();
                region.instances[0].tags.insert(tag, GROUP.to_owned());
            }
        });
        report(&host, &request("workers"), &config, &[]).await;
        assert_eq!(group(&host).completed, ["launch=CONTINUE"]);
        let expected = if tagged { None } else { Some(&1) };
        assert_eq!(host.calls().get(find), expected, "tagged: {tagged}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_may_pass_is_told_when_the_restarts_are_used_up() {
    let config = config(&["set-unhealthy"], &[], false);
    for (earlier, is_sent) in [(2, false), (3, true)] {
        let host = waiting_host();
        host.next_boot(Script::new(vec![strike(
            "read_object",
            1..=9999,
            Condition::Unreachable,
        )]));
        let mut request = request("workers");
        request.patience.deadline = Some(Duration::from_secs(60));
        let earlier = vec![host.now(); earlier];
        let (record, after) = report(&host, &request, &config, &earlier).await;
        assert_eq!(record.exit_status(), 75, "{:?}", record.fault);
        assert_eq!(group(&host).unhealthy.contains(ME), is_sent, "{after:?}");
        assert_eq!(skipped(&after).len(), usize::from(!is_sent));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_storage_on_a_control_plane_is_told_only_with_all() {
    for (word, is_sent) in [
        ("set-unhealthy", false),
        ("set-unhealthy:refused", false),
        ("set-unhealthy:all", true),
    ] {
        let host = host("control-plane", Timing::default());
        host.change(|region| {
            region.groups = vec![GroupState {
                name: "masters".to_owned(),
                members: [ME.to_owned()].into(),
                ..GroupState::default()
            }];
            let slot = EtcdSlot {
                volume_id: "vol-0cc",
                etcd: "main",
                member: "a",
                members: &["a"],
                created: EPOCH,
                encrypted: false,
            };
            region.add_etcd_volume(example::CLUSTER, &slot);
        });
        let (record, after) = report(
            &host,
            &request("control-plane"),
            &config(&[word], &[], false),
            &[],
        )
        .await;
        assert_eq!(record.exit_status(), 80, "{:?}", record.fault);
        assert_eq!(
            group(&host).unhealthy.contains(ME),
            is_sent,
            "{word}: {after:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_signal_is_a_warning_and_is_not_tried_again() {
    let host = waiting_host();
    break_spec(&host);
    host.next_boot(Script::new(vec![strike(
        "set_unhealthy",
        1..=9,
        Condition::Denied,
    )]));
    let config = config(&["set-unhealthy"], &[], false);
    let (record, after) = report(&host, &request("workers"), &config, &[]).await;
    assert_eq!(
        not_sent(&after),
        [(Unhealthy, Code::BootSignalDenied, false)]
    );
    assert_eq!(host.port_calls_of("set_unhealthy"), 1);
    assert_eq!(
        record.warnings.last().map(|fault| fault.code),
        Some(Code::BootSignalDenied)
    );
}

#[tokio::test(start_paused = true)]
async fn a_group_that_fails_for_a_moment_is_told_again_and_one_that_is_gone_is_given_up() {
    let config = config(&["set-unhealthy"], &[], false);
    for (calls, is_sent) in [(1..=2, true), (1..=99, false)] {
        let host = waiting_host();
        break_spec(&host);
        host.next_boot(Script::new(vec![strike(
            "set_unhealthy",
            calls,
            Condition::Throttled,
        )]));
        let (_, after) = report(&host, &request("workers"), &config, &[]).await;
        assert_eq!(sent(&after).len(), usize::from(is_sent), "{after:?}");
        if !is_sent {
            assert_eq!(
                not_sent(&after),
                [(Unhealthy, Code::BootSignalFailed, false)]
            );
        }
        assert!(host.port_calls_of("set_unhealthy") < 30);
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_in_no_group_has_nobody_to_tell() {
    let host = host("workers", Timing::default());
    break_spec(&host);
    let config = config(&["abandon:launch", "set-unhealthy"], &[], false);
    let (_, after) = report(&host, &request("workers"), &config, &[]).await;
    let unplaced = |what| (what, Code::BootSignalUnplaced, false);
    assert_eq!(
        not_sent(&after),
        [unplaced(HookAbandon), unplaced(Unhealthy)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_ready_node_has_its_event_once_the_api_server_answers() {
    let host = waiting_host();
    host.next_boot(Script::new(vec![strike(
        "post_node_event",
        1..=3,
        Condition::Unreachable,
    )]));
    let (_, after) = report(&host, &request("workers"), &config(&[], &[], true), &[]).await;
    assert_eq!(sent(&after), [NodeEvent], "{after:?}");
    let events = host.region().node_events;
    let [json] = events.values().collect::<Vec<_>>()[..] else {
        panic!("there is one: {events:?}");
    };
    assert!(json.contains("QuakeAgentReady"), "{json}");
}

#[tokio::test(start_paused = true)]
async fn a_boot_that_failed_before_it_knew_the_api_server_withholds_its_event() {
    let host = waiting_host();
    break_spec(&host);
    let (_, after) = report(&host, &request("workers"), &config(&[], &[], true), &[]).await;
    assert!(matches!(skipped(&after)[..], [(NodeEvent, _)]), "{after:?}");
    assert_eq!(host.port_calls_of("post_node_event"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_forbidden_is_a_warning_once() {
    let host = waiting_host();
    let config = config(&[], &[], true);
    let denied = || Script::new(vec![strike("post_node_event", 1..=9, Condition::Denied)]);
    let mut seen = Vec::new();
    for script in [denied(), denied(), Script::default(), denied()] {
        host.next_boot(script);
        let (record, after) = report(&host, &request("workers"), &config, &[]).await;
        let of_event = |code: &Code| *code == Code::BootSignalDenied;
        let warned = record
            .warnings
            .iter()
            .map(|fault| fault.code)
            .filter(of_event)
            .count();
        let known: Vec<bool> = not_sent(&after).iter().map(|sent| sent.2).collect();
        assert_eq!(record.exit_status(), 0);
        seen.push((host.port_calls_of("post_node_event"), warned, known));
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
async fn who_is_told_to_stop_waits_for_no_api_server() {
    let host = waiting_host();
    let clock = Arc::clone(&host);
    let emitter = Emitter::new(Box::new(move || clock.now()), Vec::new());
    let (handle, stop) = stop_signal();
    boot(host.as_ref(), &emitter, &request("workers"), stop.clone()).await;
    host.next_boot(Script::new(vec![strike(
        "post_node_event",
        1..=9999,
        Condition::Unreachable,
    )]));
    let config = config(&[], &[], true);
    let signalled = Signalled {
        config: &config,
        earlier: &[],
        event_deadline: Duration::from_secs(600),
    };
    let began = tokio::time::Instant::now();
    let reporting = signal_boot(host.as_ref(), &emitter, signalled, stop);
    let stopping = async {
        tokio::time::timeout(Duration::from_secs(5), std::future::pending::<()>())
            .await
            .ok();
        handle.stop("SIGTERM");
    };
    tokio::join!(reporting, stopping);
    assert_eq!(began.elapsed().as_secs(), 5);
}
