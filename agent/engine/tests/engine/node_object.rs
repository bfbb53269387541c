//! The object of a node that booted, in a cluster that is simulated: what the agent says of the node while it looks on.

use crate::addons::ACCESS;
use crate::common::{Change, EPOCH, Keep, machine, request};
use quake_apisim::{Act, ApiServer, InjectedFault, Request};
use quake_engine::{Emitter, boot, keep_looking, stop_signal};
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Clock, Sink};
use quake_model::record::Record;
use quake_node::addon_mode::KUBECONFIG;
use quake_testkit::{SimHost, Timing};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The node's name, as its metadata has it.
const NODE: &str = "ip-10-0-0-10.us-test-1.compute.internal";

/// The provider's id of the simulated instance.
const OURS: &str = "aws:///us-test-1a/i-0123456789abcdef0";

const MINUTE: Duration = Duration::from_secs(60);

/// A node of this group, and a cluster that has no object of it yet.
fn host(group: &str) -> Arc<SimHost> {
    let cluster = ApiServer::new("v1.15.12");
    let host = machine(group, Timing::default()).with_cluster(cluster);
    // The example has no keypair for it.
    host.put_file(KUBECONFIG, ACCESS);
    Arc::new(host)
}

/// Registers the node, as kubelet does of which no flag says what it is.
fn register(host: &SimHost, spec: &Value) {
    let node =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}, "spec": spec});
    let made = Request::new("POST", "/api/v1/nodes").with_body("application/json", &node);
    host.cluster(|server| {
        let _ = server.answer(&made, EPOCH);
        server.clear_journal();
    });
}

fn object(host: &SimHost) -> Value {
    let found = host.cluster(|server| server.object("Node", "", NODE).cloned());
    found.flatten().unwrap_or_default()
}

/// How often something was written of the node's object, since last asked.
fn writes(host: &SimHost) -> usize {
    let writes = host.cluster(|server| {
        let writes = server.journal().writes();
        server.clear_journal();
        writes
    });
    let writes = writes.unwrap_or_default();
    writes.iter().filter(|one| one.starts_with("Node/")).count()
}

/// Time that passes, and what changes the world then.
type Then<'a> = (Duration, Change<'a>);

/// What was told of the node's object, in its order: what was said of it, or why nothing could be.
type Reports = Vec<Result<Vec<String>, Fault>>;

/// Boots a node, which becomes ready, and looks on: for each of these times, after which the world is changed so.
async fn reported(host: &Arc<SimHost>, group: &str, changes: &[Then<'_>]) -> (Record, Reports) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let clock = Arc::clone(host);
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Keep(Arc::clone(&kept)))];
    let emitter = Emitter::new(Box::new(move || clock.now()), sinks);
    let (handle, stop) = stop_signal();
    let request = request(group);
    let verdict = boot(host.as_ref(), &emitter, &request, stop.clone()).await;
    assert_eq!(
        verdict.fault, None,
        "readiness does not wait for the object"
    );
    let looking = keep_looking(host.as_ref(), &emitter, &request, &verdict, stop);
    let changing = async {
        for (time, change) in changes {
            passes(*time).await;
            change(host);
        }
        handle.stop("the test is over");
    };
    tokio::join!(looking, changing);
    let events = kept.lock().expect("no other holder panics").clone();
    let reported = events.into_iter().filter_map(|event| match event {
        Event::NodeLabelled { changes, .. } => Some(Ok(changes)),
        Event::NodeNotLabelled { fault } => Some(Err(fault)),
        _ => None,
    });
    (emitter.record(), reported.collect())
}

/// Lets time pass; the clock is paused, so none does.
#[expect(
    clippy::disallowed_methods,
    reason = "the world changes while the agent pauses between looks"
)]
async fn passes(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The codes of what was told, and of the warnings that stand.
fn codes(reported: &Reports, record: &Record) -> (Vec<Code>, Vec<Code>) {
    let reported = reported
        .iter()
        .filter_map(|reported| reported.as_ref().err());
    let warnings = record.warnings.iter().map(|fault| fault.code);
    let of_node = |code: &Code| code.entry().code.starts_with("ready.node-");
    (
        reported.map(|fault| fault.code).collect(),
        warnings.filter(of_node).collect(),
    )
}

fn nothing(_: &SimHost) {}

#[tokio::test(start_paused = true)]
async fn a_control_plane_gets_its_labels_its_taint_and_its_id_once() {
    let host = host("control-plane");
    let registers = |host: &SimHost| register(host, &json!({}));
    let changes: &[Then<'_>] = &[(MINUTE * 2, &registers), (MINUTE * 2, &nothing)];
    let (record, reported) = reported(&host, "control-plane", changes).await;
    let node = object(&host);
    let labels = &node["metadata"]["labels"];
    assert_eq!(labels["kubernetes.io/role"], "master", "{node:#}");
    assert_eq!(labels["node-role.kubernetes.io/master"], "");
    assert_eq!(labels["kops.k8s.io/instancegroup"], "control-plane");
    let taint = &node["spec"]["taints"][0];
    assert_eq!(taint["key"], "node-role.kubernetes.io/master");
    assert_eq!(node["spec"]["providerID"], OURS);
    let said: Vec<String> = reported.iter().flatten().flatten().cloned().collect();
    assert!(
        said.contains(&"label kops.k8s.io/instancegroup=control-plane".to_owned())
            && said.contains(&format!("provider id {OURS}")),
        "{said:?}"
    );
    assert_eq!(codes(&reported, &record), (Vec::new(), Vec::new()));
    // Who takes a label away later means it, and a boot that finds the same object says nothing anew.
    assert_eq!(writes(&host), 3);
    let changes: &[Then<'_>] = &[(MINUTE * 2, &nothing)];
    let (_, again) = self::reported(&host, "control-plane", changes).await;
    assert_eq!((again, writes(&host)), (Vec::new(), 0));
}

#[tokio::test(start_paused = true)]
async fn the_object_of_another_instance_is_left_alone_and_is_a_warning() {
    let host = host("control-plane");
    register(&host, &json!({"providerID": "aws:///us-test-1a/i-other"}));
    let before = object(&host);
    let changes: &[Then<'_>] = &[(MINUTE * 5, &nothing)];
    let (record, reported) = reported(&host, "control-plane", changes).await;
    let foreign = vec![Code::ReadyNodeForeign];
    assert_eq!(codes(&reported, &record), (foreign.clone(), foreign));
    assert!(record.is_ready(), "a warning is no failure");
    assert_eq!(object(&host), before);
}

#[tokio::test(start_paused = true)]
async fn what_a_kubelet_may_not_say_is_a_warning_until_an_administrator_said_it() {
    let host = host("workers");
    register(&host, &json!({}));
    host.cluster(|server| server.inject(InjectedFault::new(Act::Forbid).writes().kind("Node")));
    let permits = |host: &SimHost| {
        host.cluster(ApiServer::end_troubles);
    };
    let changes: &[Then<'_>] = &[(MINUTE * 10, &nothing)];
    let (record, denied) = reported(&host, "workers", changes).await;
    let codes_denied = vec![Code::ReadyNodeIdentityDenied];
    assert_eq!(
        codes(&denied, &record),
        (codes_denied.clone(), codes_denied.clone())
    );
    assert!(record.is_ready(), "a warning is no failure");
    let reported_how = denied.iter().any(|reported| {
        let remedy = reported
            .as_ref()
            .err()
            .and_then(|fault| fault.remedy.clone());
        remedy.is_some_and(|remedy| remedy.contains("--node-labels"))
    });
    assert!(reported_how, "{denied:?}");
    // It is asked again seldom: within the next two hours, and then it is no warning any more.
    let changes: &[Then<'_>] = &[(MINUTE * 10, &permits), (MINUTE * 120, &nothing)];
    let (record, allowed) = reported(&host, "workers", changes).await;
    assert_eq!(codes(&allowed, &record), (codes_denied, Vec::new()));
    let labels = &object(&host)["metadata"]["labels"];
    assert_eq!(labels["kubernetes.io/role"], "node");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_never_registers_is_a_warning_after_the_deadline_and_not_before() {
    let host = host("workers");
    let changes: &[Then<'_>] = &[(MINUTE * 18, &nothing)];
    let (record, early) = reported(&host, "workers", changes).await;
    assert_eq!(
        codes(&early, &record),
        (Vec::new(), Vec::new()),
        "{early:?}"
    );
    let registers = |host: &SimHost| register(host, &json!({}));
    let changes: &[Then<'_>] = &[(MINUTE * 25, &registers), (MINUTE * 2, &nothing)];
    let (record, late) = reported(&host, "workers", changes).await;
    let unregistered = vec![Code::ReadyNodeUnregistered];
    assert_eq!(codes(&late, &record), (unregistered, Vec::new()));
    assert!(record.is_ready());
    assert_eq!(object(&host)["spec"]["providerID"], OURS);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_take_what_is_said_is_a_warning_until_it_does() {
    let host = host("control-plane");
    register(&host, &json!({}));
    let refused = InjectedFault::new(Act::Unavailable).writes().kind("Node");
    host.cluster(|server| server.inject(refused));
    let ends = |host: &SimHost| {
        host.cluster(ApiServer::end_troubles);
    };
    let changes: &[Then<'_>] = &[(MINUTE * 5, &ends), (MINUTE * 2, &nothing)];
    let (record, reported) = reported(&host, "control-plane", changes).await;
    let missing = vec![Code::ReadyNodeIdentityMissing];
    assert_eq!(codes(&reported, &record), (missing, Vec::new()));
    let labels = &object(&host)["metadata"]["labels"];
    assert_eq!(labels["kops.k8s.io/instancegroup"], "control-plane");
}
