//! The names of a control plane that runs: looked at now and then, and put back where they are its own.

use crate::common::{Keep, request, strike};
use crate::dns::{API, EVENTS, MAIN, OURS, ZONE, addresses, zoned};
use quake_engine::{Budget, Emitter, Request, boot, keep_looking, stop_signal};
use quake_model::dns::AddressRecord;
use quake_model::event::Event;
use quake_model::facts::{InstanceState, InstanceView};
use quake_model::fault::Code;
use quake_model::ports::{Clock, Condition, Meter, Sink};
use quake_model::record::Record;
use quake_model::time::Timestamp;
use quake_testkit::{Script, ScriptedFault, SimHost, When};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// What one life of the agent after its boot came to.
struct NodeRun {
    record: Record,
    /// What was told of names after the boot.
    reported: Vec<Event>,
    /// Requests to Route 53 and EC2 after the boot.
    requests: BTreeMap<String, u64>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the world changes while the agent pauses between looks"
)]
async fn passes(time: Duration) {
    tokio::time::sleep(time).await;
}

/// What one look may need where nothing is in its way.
const LITTLE: Budget = Budget {
    imds: 1,
    s3: 0,
    ec2: 2,
    route53: 5,
};

/// Boots the node, changes the world, and looks on for this long.
async fn lives(host: &Arc<SimHost>, change: impl Fn(&SimHost), time: Duration) -> NodeRun {
    lives_with(host, change, LITTLE, time).await
}

/// The same, with this much for one look.
async fn lives_with(
    host: &Arc<SimHost>,
    change: impl Fn(&SimHost),
    budget: Budget,
    time: Duration,
) -> NodeRun {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let clock = Arc::clone(host);
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Keep(Arc::clone(&kept)))];
    let emitter = Emitter::new(Box::new(move || clock.now()), sinks);
    let (handle, stop) = stop_signal();
    let request = request("control-plane");
    let verdict = boot(host.as_ref(), &emitter, &request, stop.clone()).await;
    assert_eq!(verdict.fault, None);
    change(host);
    let before = host.calls();
    // A node that ran for long has made more requests than a boot may make; this is what one look may make beyond them.
    let spent = Request { budget, ..request };
    let looking = keep_looking(host.as_ref(), &emitter, &spent, &verdict, stop);
    let passing = async {
        passes(time).await;
        handle.stop("the test is over");
    };
    tokio::join!(looking, passing);
    let is_of_names = |event: &Event| {
        matches!(
            event,
            Event::DnsPublished { .. } | Event::DnsNotPublished { .. }
        )
    };
    let reported = kept.lock().expect("no other holder panics").clone();
    let requests = host.calls().into_iter().filter_map(|(call, count)| {
        let count = count - before.get(&call).copied().unwrap_or_default();
        let is_counted = call.starts_with("route53:") || call.starts_with("ec2:");
        (is_counted && count > 0).then_some((call, count))
    });
    NodeRun {
        record: emitter.record(),
        reported: reported.into_iter().filter(is_of_names).collect(),
        requests: requests.collect(),
    }
}

fn put(host: &SimHost, name: &str, addresses: &[&str]) {
    let addresses = addresses.iter().map(ToString::to_string);
    let record = AddressRecord::plain(name, 60, addresses);
    host.change(|region| region.names.put(ZONE, record.clone()));
}

fn put_back(node_run: &NodeRun) -> Vec<&str> {
    let names = node_run.reported.iter().flat_map(|event| match event {
        Event::DnsPublished { names, .. } => names.as_slice(),
        _ => &[],
    });
    names.map(String::as_str).collect()
}

/// Whether the node's status has a warning about names.
fn is_warned(node_run: &NodeRun) -> bool {
    let mut warnings = node_run.record.warnings.iter();
    warnings.any(|fault| fault.code.area() == "dns")
}

fn faults(node_run: &NodeRun) -> Vec<Code> {
    let faults = node_run.reported.iter().filter_map(|event| match event {
        Event::DnsNotPublished { fault } => Some(fault.code),
        _ => None,
    });
    faults.collect()
}

#[tokio::test(start_paused = true)]
async fn names_that_are_right_cost_one_question_every_half_hour_or_hour_and_no_write() {
    let host = zoned();
    let node_run = lives(&host, |_| {}, HOUR * 24).await;
    assert!(node_run.reported.is_empty(), "{:?}", node_run.reported);
    let requests: Vec<&String> = node_run.requests.keys().collect();
    assert_eq!(requests, ["route53:ListResourceRecordSets"]);
    let count = node_run.requests["route53:ListResourceRecordSets"];
    assert!((24..=48).contains(&count), "{count} a day");
    assert_eq!(host.region().names.batches.len(), 1, "the boot's");
}

#[tokio::test(start_paused = true)]
async fn what_somebody_changed_is_put_back_once_and_told() {
    let host = zoned();
    let change = |host: &SimHost| put(host, MAIN, &["10.9.9.9"]);
    let node_run = lives(&host, change, HOUR * 6).await;
    assert_eq!(
        put_back(&node_run),
        [MAIN],
        "{:?} {:?}",
        node_run.reported,
        node_run.requests
    );
    assert_eq!(addresses(&host, MAIN), [OURS]);
    assert_eq!(host.region().names.batches.len(), 2);
    assert_eq!(
        node_run.requests["ec2:DescribeVolumes"], 1,
        "before the write alone"
    );
    assert!(node_run.record.is_ready() && !is_warned(&node_run));
}

#[tokio::test(start_paused = true)]
async fn an_address_that_changed_is_put_in_place_of_the_old_one() {
    let host = zoned();
    let change = |host: &SimHost| {
        host.change(|region| {
            region.instance.private_ip = "10.0.0.77".to_owned();
            region.instances[0].private_ip = "10.0.0.77".to_owned();
            let key = "local-ipv4".to_owned();
            region.metadata.insert(key, "10.0.0.77".to_owned());
        });
    };
    let node_run = lives(&host, change, HOUR * 2).await;
    assert_eq!(put_back(&node_run), [API, MAIN, EVENTS]);
    for name in [API, MAIN, EVENTS] {
        assert_eq!(addresses(&host, name), ["10.0.0.77"], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_shared_name_only_the_own_address_is_looked_after() {
    let host = zoned();
    let stale = |host: &SimHost| put(host, API, &[OURS, "10.9.9.9"]);
    let node_run = lives(&host, stale, HOUR * 2).await;
    assert_eq!((put_back(&node_run).len(), node_run.requests.len()), (0, 1));
    assert_eq!(addresses(&host, API), [OURS, "10.9.9.9"]);
    let host = zoned();
    let without = |host: &SimHost| {
        put(host, API, &["10.0.0.11", "10.9.9.9"]);
        host.change(|region| {
            let mut tags = region.instances[0].tags.clone();
            tags.insert("k8s.io/role/master".to_owned(), "1".to_owned());
            region.instances.push(InstanceView {
                instance_id: "i-peer".to_owned(),
                state: InstanceState::Running,
                launched: Timestamp(0),
                zone: "us-test-1b".to_owned(),
                private_ip: "10.0.0.11".to_owned(),
                tags,
                device_names: Vec::new(),
            });
        });
    };
    let node_run = lives(&host, without, HOUR * 2).await;
    assert_eq!(put_back(&node_run), [API]);
    assert_eq!(addresses(&host, API), [OURS, "10.0.0.11"]);
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_volume_moved_is_left_to_its_new_holder() {
    let host = zoned();
    let moved = |host: &SimHost| {
        put(host, MAIN, &["10.0.0.11"]);
        host.change(|region| {
            for volume in &mut region.volumes {
                let attachments = volume.attachments.iter_mut();
                attachments.for_each(|it| it.instance_id = "i-other".to_owned());
            }
        });
    };
    let node_run = lives(&host, moved, HOUR * 6).await;
    assert!(put_back(&node_run).is_empty(), "{:?}", node_run.reported);
    assert_eq!(faults(&node_run), [Code::DnsConflict], "said once");
    assert!(is_warned(&node_run));
    assert_eq!(addresses(&host, MAIN), ["10.0.0.11"]);
    assert_eq!(host.region().names.batches.len(), 1);
}

/// Another node takes the volume with this tag, and writes its name.
fn takes(host: &SimHost, tag: &str, name: &str) {
    put(host, name, &["10.0.0.11"]);
    host.change(|region| {
        let volumes = region.volumes.iter_mut();
        let mut moved = volumes.filter(|volume| volume.tags.contains_key(tag));
        let volume = moved.next().expect("the member has a volume");
        let attachments = volume.attachments.iter_mut();
        attachments.for_each(|it| it.instance_id = "i-other".to_owned());
    });
}

/// The member `main` leads elsewhere, and Route 53 refuses for a minute to change it; meanwhile `meanwhile` happens.
async fn tries_through(host: &Arc<SimHost>, meanwhile: impl Fn(&SimHost)) -> NodeRun {
    const TRIES: u64 = 9;
    let change = |host: &SimHost| {
        put(host, MAIN, &["10.9.9.9"]);
        let throttled = strike("change_records", 1..=TRIES - 1, Condition::Throttled);
        host.next_boot(Script::new(vec![throttled]));
    };
    let budget = Budget {
        ec2: TRIES,
        route53: 2 * TRIES + 2,
        ..LITTLE
    };
    let requests = || {
        let calls = host.calls();
        calls
            .get("ec2:DescribeVolumes")
            .copied()
            .unwrap_or_default()
    };
    let moving = async {
        let mut before = None;
        for _ in 0..100_000 {
            passes(Duration::from_millis(200)).await;
            let is_wrong = addresses(host, MAIN) == ["10.9.9.9"];
            if is_wrong && before.is_none() {
                before = Some(requests());
            }
            if before.is_some_and(|before| requests() > before) {
                return meanwhile(host);
            }
        }
        assert!(before.is_none(), "the first try never began");
    };
    // A conflict is told by the second look that meets it.
    let living = lives_with(host, change, budget, HOUR * 3);
    let (node_run, ()) = tokio::join!(living, moving);
    node_run
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_moves_between_two_tries_takes_its_name_along() {
    let host = zoned();
    // The name of the other member was right when the look began: it is nobody's to write, whoever holds its volume now.
    let node_run = tries_through(&host, |host| takes(host, "k8s.io/etcd/events", EVENTS)).await;
    assert_eq!(
        addresses(&host, EVENTS),
        ["10.0.0.11"],
        "{:?}",
        node_run.reported
    );
    assert_eq!(
        (put_back(&node_run), addresses(&host, MAIN)),
        (vec![MAIN], vec![OURS.to_owned()])
    );
    assert_eq!(
        faults(&node_run),
        [Code::DnsConflict],
        "it leads elsewhere now"
    );
    let host = zoned();
    let node_run = tries_through(&host, |host| takes(host, "k8s.io/etcd/main", MAIN)).await;
    assert_eq!(
        addresses(&host, MAIN),
        ["10.0.0.11"],
        "{:?}",
        node_run.reported
    );
    assert!(put_back(&node_run).is_empty(), "{:?}", node_run.reported);
    assert_eq!(faults(&node_run), [Code::DnsConflict]);
    assert_eq!(host.region().names.batches.len(), 1, "the boot's");
}

#[tokio::test(start_paused = true)]
async fn a_name_whose_answer_was_lost_is_written_once_and_told() {
    let host = zoned();
    let change = |host: &SimHost| {
        put(host, MAIN, &["10.9.9.9"]);
        let lost = ScriptedFault {
            when: When::After,
            ..strike("change_records", 1..=1, Condition::Unreachable)
        };
        host.next_boot(Script::new(vec![lost]));
    };
    let node_run = lives(&host, change, HOUR * 2).await;
    assert_eq!(
        (put_back(&node_run), addresses(&host, MAIN)),
        (vec![MAIN], vec![OURS.to_owned()])
    );
    assert_eq!(host.region().names.batches.len(), 2, "the boot's, and this");
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_not_reported_and_a_role_that_lost_its_statement_is_until_it_has_it_again()
 {
    let throttled = zoned();
    let failure = |host: &SimHost| {
        let faults = vec![strike("read_records", 1..=1, Condition::Throttled)];
        host.next_boot(Script::new(faults));
    };
    let node_run = lives(&throttled, failure, HOUR * 6).await;
    assert!(node_run.reported.is_empty(), "{:?}", node_run.reported);
    let denied = zoned();
    let lost = |host: &SimHost| {
        let faults = vec![strike("read_records", 1..=3, Condition::Denied)];
        host.next_boot(Script::new(faults));
    };
    let node_run = lives(&denied, lost, HOUR * 6).await;
    let [
        Event::DnsNotPublished { fault },
        Event::DnsPublished { names, zone },
    ] = &node_run.reported[..]
    else {
        panic!("{:?}", node_run.reported);
    };
    assert_eq!(
        (fault.code, names.len(), zone.as_str()),
        (Code::DnsDenied, 0, ZONE)
    );
    assert!(!is_warned(&node_run), "it is over");
}
