//! The example cluster's nodes on the simulated machine and region.

use quake_engine::{
    Configuration, CredentialSource, Deadlines, Emitter, Mode, NODE_BUDGET, Request, Stop, Verdict,
    boot, keep_looking, stop_signal,
};
use quake_model::boot::BootId;
use quake_model::event::{Envelope, Event};
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Clock, Condition, Meter, Sink, SinkError};
use quake_model::record::Record;
use quake_model::time::Timestamp;
use quake_node::config::legacy::Document;
use quake_testkit::region::{EtcdSlot, Region, example_instance};
use quake_testkit::{Script, ScriptedFault, SimHost, Timing, When, example};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// When every simulated boot begins.
pub(crate) const EPOCH: Timestamp = Timestamp(1_700_000_000_000);

pub(crate) fn region(instance_group: &str) -> Region {
    let mut region = Region::with_instance(example_instance("us-test-1a"), example::CLUSTER);
    if instance_group == "control-plane" {
        for (etcd, volume_id) in [("main", "vol-0aa"), ("events", "vol-0bb")] {
            let slot = EtcdSlot {
                volume_id,
                etcd,
                member: "a",
                members: &["a"],
                created: EPOCH,
                encrypted: false,
            };
            region.add_etcd_volume(example::CLUSTER, &slot);
        }
    }
    region
}

pub(crate) fn host(instance_group: &str, timing: Timing) -> Arc<SimHost> {
    Arc::new(machine(instance_group, timing))
}

/// The same before anybody shares it.
pub(crate) fn machine(instance_group: &str, timing: Timing) -> SimHost {
    let host = SimHost::new(region(instance_group), timing, EPOCH);
    for (location, text) in example::objects() {
        host.put_object(&location, text);
    }
    for (url, bytes) in example::mirrors() {
        host.serve(&url, bytes);
    }
    host
}

pub(crate) fn request(instance_group: &str) -> Request {
    let text = example::kube_env(instance_group)
        .expect("the example has this group")
        .to_owned();
    let kube_env = Some(Document {
        source: "kube_env.yaml".to_owned(),
        text,
    });
    Request {
        boot: BootId::new(EPOCH, 1),
        version: "0.0.0".to_owned(),
        command: "boot".to_owned(),
        acting: Mode::Apply,
        configuration: Configuration {
            kube_env,
            ..Configuration::default()
        },
        credentials: CredentialSource::StandIn,
        needs_role: true,
        empty_slots: Vec::new(),
        patience: Deadlines::default(),
        conditions: quake_engine::ConditionsRequest::default(),
        takes_over_addons: false,
        repair: None,
        exit_when_ready: false,
        budget: NODE_BUDGET,
    }
}

pub(crate) async fn run_with(
    host: &Arc<SimHost>,
    request: &Request,
    stop: Stop,
) -> (Verdict, Record) {
    let clock = Arc::clone(host);
    let emitter = Emitter::new(Box::new(move || clock.now()), Vec::new());
    let verdict = boot(host.as_ref(), &emitter, request, stop).await;
    (verdict, emitter.record())
}

pub(crate) async fn run(host: &Arc<SimHost>, request: &Request) -> (Verdict, Record) {
    let (_handle, stop) = stop_signal();
    run_with(host, request, stop).await
}

/// Runs a boot whose `call`-th call of a port is never answered. It ends by its deadlines all the same, at once on the paused
/// clock, and says what it waited for.
pub(crate) async fn run_unanswered(
    host: &Arc<SimHost>,
    request: &Request,
    call: u64,
    when: When,
) -> Option<Fault> {
    host.next_boot(Script::halting_at(call, when));
    let longest = Duration::from_secs(48 * 3600);
    let ended = tokio::time::timeout(longest, run(host, request)).await;
    assert!(host.port_calls() >= call, "call {call} was not reached");
    let (verdict, _) = ended.expect("the boot ends");
    let code = verdict.fault.as_ref().map(|fault| fault.code);
    let late = [Code::BootPhaseTimedOut, Code::AssetsTooSlow];
    // What is asked beside the phases ends no boot.
    assert!(code.is_none_or(|code| late.contains(&code)), "{code:?}");
    verdict.fault
}

pub(crate) async fn failing_boot(host: &Arc<SimHost>, request: &Request) -> (Fault, Record) {
    let (verdict, record) = run(host, request).await;
    (verdict.fault.expect("the boot fails"), record)
}

pub(crate) fn strike(
    operation: &str,
    calls: std::ops::RangeInclusive<u64>,
    condition: Condition,
) -> ScriptedFault {
    ScriptedFault {
        operation: operation.to_owned(),
        calls,
        condition,
        when: When::Before,
    }
}

/// A sink that keeps every event.
pub(crate) struct Keep(pub(crate) Arc<Mutex<Vec<Event>>>);

impl Sink for Keep {
    fn accept(&mut self, envelope: &Envelope, _: &Record) -> Result<(), SinkError> {
        let mut kept = self.0.lock().expect("no other holder panics");
        kept.push(envelope.event.clone());
        Ok(())
    }
}

pub(crate) async fn events_of(host: &Arc<SimHost>, request: &Request) -> (Verdict, Vec<Event>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let clock = Arc::clone(host);
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Keep(Arc::clone(&kept)))];
    let emitter = Emitter::new(Box::new(move || clock.now()), sinks);
    let (_handle, stop) = stop_signal();
    let verdict = boot(host.as_ref(), &emitter, request, stop).await;
    let events = kept.lock().expect("no other holder panics").clone();
    (verdict, events)
}

/// Longer than two rounds of looks.
const LONG: Duration = Duration::from_secs(90);

/// Something that changes the world from outside.
pub(crate) type Change<'a> = &'a (dyn Fn(&SimHost) + Sync);

/// Boots a node, which must become ready, and lets the agent look on while its world is changed from outside, one change
/// after the other, with time to look before the first and after each. No cloud service is asked meanwhile, once a control plane
/// has read what add-ons there are.
pub(crate) async fn live(
    host: &Arc<SimHost>,
    request: &Request,
    changes: &[Change<'_>],
) -> (Record, Vec<Event>) {
    live_after(host, request, &|_| {}, changes).await
}

/// The same, with a change between the boot's end and the agent's first look.
pub(crate) async fn live_after(
    host: &Arc<SimHost>,
    request: &Request,
    first: Change<'_>,
    changes: &[Change<'_>],
) -> (Record, Vec<Event>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let clock = Arc::clone(host);
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Keep(Arc::clone(&kept)))];
    let emitter = Emitter::new(Box::new(move || clock.now()), sinks);
    let (handle, stop) = stop_signal();
    let verdict = boot(host.as_ref(), &emitter, request, stop.clone()).await;
    assert_eq!(verdict.fault, None);
    first(host);
    let before = host.calls();
    let looking = keep_looking(host.as_ref(), &emitter, request, &verdict, stop);
    let changing = async {
        looks_on().await;
        let calls = host.calls();
        for change in changes {
            change(host);
            looks_on().await;
        }
        handle.stop("the test is over");
        calls
    };
    let ((), calls) = tokio::join!(looking, changing);
    assert_eq!(host.calls(), calls, "no cloud service was asked");
    let sum = |calls: &BTreeMap<String, u64>| calls.values().sum::<u64>();
    assert!(
        sum(&calls) <= sum(&before) + 1,
        "a channel was read: {calls:?}"
    );
    let events = kept.lock().expect("no other holder panics").clone();
    (emitter.record(), events)
}

/// Lets time pass; the clock is paused, so none does.
#[expect(
    clippy::disallowed_methods,
    reason = "the world changes while the agent pauses between looks"
)]
async fn looks_on() {
    tokio::time::sleep(LONG).await;
}
