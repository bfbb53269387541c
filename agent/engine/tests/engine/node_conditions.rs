//! The conditions of a node that booted, in a cluster that is simulated: what is reported while the agent looks on, and when the
//! startup taint goes.

use crate::addons::ACCESS;
use crate::common::{EPOCH, Keep, machine, request, run};
use quake_apisim::{Act, ApiServer, InjectedFault, Request};
use quake_engine::{
    ConditionsRequest, Emitter, boot, keep_looking, remove_conditions, stop_signal,
};
use quake_model::event::Event;
use quake_model::facts::ActiveState;
use quake_model::fault::Code;
use quake_model::ports::{Clock, Sink};
use quake_model::record::Record;
use quake_node::addon_mode::KUBECONFIG;
use quake_node::node_conditions::{RemoverChoice, StartupTaint, UNTIL, reason};
use quake_testkit::{Script, SimHost, Timing};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const NODE: &str = "ip-10-0-0-10.us-test-1.compute.internal";
pub(crate) const KUBELETS: &str = "/var/lib/kubelet/kubeconfig";
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const ALL: &str =
    "BootComplete CertificatesValid ImagesPresent NetworkReady NoDrift VolumesSafe";

/// A node of this group, and a cluster of this version that has no object of it yet.
pub(crate) fn host(group: &str, version: &str) -> Arc<SimHost> {
    let host = machine(group, Timing::default()).with_cluster(ApiServer::new(version));
    host.put_file(KUBECONFIG, ACCESS);
    Arc::new(host)
}

/// Registers the node, as kubelet does with these taints.
pub(crate) fn register(host: &SimHost, taints: &Value) {
    register_as(host, NODE, taints);
}

/// The same under this name.
pub(crate) fn register_as(host: &SimHost, name: &str, taints: &Value) {
    let ready = json!({ "type": "Ready", "status": "True" });
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
        "spec": { "taints": taints }, "status": { "conditions": [ready] },
    });
    let made = Request::new("POST", "/api/v1/nodes").with_body("application/json", &node);
    host.cluster(|server| {
        let _ = server.answer(&made, EPOCH);
        server.clear_journal();
    });
}

pub(crate) fn object(host: &SimHost) -> Value {
    // Today's kops names a node by its instance.
    let instance = host.region().instance.instance_id;
    let found = host.cluster(|server| {
        let of = |name: &str| server.object("Node", "", name).cloned();
        of(NODE).or_else(|| of(&instance))
    });
    found.flatten().unwrap_or_default()
}

/// The agent's conditions in the Node object: status and reason by name.
fn reported(host: &SimHost) -> BTreeMap<String, (String, String)> {
    let node = object(host);
    let conditions = node["status"]["conditions"].as_array().cloned();
    let conditions = conditions.unwrap_or_default();
    let ours = conditions.iter().filter_map(|one| {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let name = text("type").strip_prefix("quake.io/")?.to_owned();
        Some((name, (text("status"), text("reason"))))
    });
    ours.collect()
}

pub(crate) fn with_status(host: &SimHost, wanted: &str) -> String {
    let reported = reported(host);
    let such = reported.iter().filter(|(_, (status, _))| status == wanted);
    let names: Vec<&str> = such.map(|(name, _)| name.as_str()).collect();
    names.join(" ")
}

/// How often the object was written since last requested.
fn writes(host: &SimHost) -> usize {
    let writes = host.cluster(|server| {
        let writes = server.journal().writes();
        server.clear_journal();
        writes
    });
    let writes = writes.unwrap_or_default();
    writes.iter().filter(|one| one.starts_with("Node/")).count()
}

pub(crate) fn requested(taint: Option<RemoverChoice>) -> ConditionsRequest {
    let startup_taint = taint.map(|remover| StartupTaint {
        taint: StartupTaint::read_taint("quake.io/starting").expect("it is one"),
        until: UNTIL.to_vec(),
        remover,
    });
    ConditionsRequest {
        reports: true,
        startup_taint,
    }
}

/// Boots a node of this group, which becomes ready, and looks on while `then` happens; the record, and the events.
pub(crate) async fn look_on(
    host: &Arc<SimHost>,
    group: &str,
    conditions: ConditionsRequest,
    then: impl AsyncFnOnce(&SimHost),
) -> (Record, Vec<Event>) {
    let request = quake_engine::Request {
        conditions,
        ..request(group)
    };
    look_on_by(host, request, then).await
}

/// The same by a request.
pub(crate) async fn look_on_by(
    host: &Arc<SimHost>,
    request: quake_engine::Request,
    then: impl AsyncFnOnce(&SimHost),
) -> (Record, Vec<Event>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let clock = Arc::clone(host);
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Keep(Arc::clone(&kept)))];
    let emitter = Emitter::new(Box::new(move || clock.now()), sinks);
    let (handle, stop) = stop_signal();
    let verdict = boot(host.as_ref(), &emitter, &request, stop.clone()).await;
    assert_eq!(verdict.fault, None);
    let looking = keep_looking(host.as_ref(), &emitter, &request, &verdict, stop);
    let changing = async {
        then(host).await;
        handle.stop("the test is over");
    };
    tokio::join!(looking, changing);
    let events = kept.lock().expect("no other holder panics").clone();
    (emitter.record(), events)
}

/// Lets time pass; the clock is paused, so none does.
#[expect(
    clippy::disallowed_methods,
    reason = "the world changes while the agent pauses between looks"
)]
pub(crate) async fn passes(time: Duration) {
    tokio::time::sleep(time).await;
}

pub(crate) fn changes(events: &[Event]) -> Vec<String> {
    let changes = events.iter().filter_map(|event| match event {
        Event::NodeConditionsReported { changes } => Some(changes.clone()),
        _ => None,
    });
    changes.flatten().collect()
}

pub(crate) fn warned(record: &Record) -> Vec<Code> {
    let codes = record.warnings.iter().map(|fault| fault.code);
    let ours = codes.filter(|code| {
        let code = code.to_string();
        code.starts_with("ready.conditions") || code.starts_with("ready.startup")
    });
    ours.collect()
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_ready_says_so_by_each_condition_on_servers_of_both_generations() {
    for (group, version) in [
        ("workers", "v1.35.0"),
        ("workers", "v1.15.12"),
        ("control-plane", "v1.15.12"),
    ] {
        let host = host(group, version);
        let (record, _) = look_on(&host, group, requested(None), async |host| {
            passes(MINUTE).await;
            register(host, &json!([]));
            passes(2 * MINUTE).await;
            assert_eq!(with_status(host, "True"), ALL, "{group} {version}");
            let conditions = object(host)["status"]["conditions"].to_string();
            assert!(conditions.contains("\"Ready\""), "kubelet's own stays");
        })
        .await;
        assert_eq!(warned(&record), [], "{group} {version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stays_as_it_is_writes_every_ten_minutes() {
    let host = host("workers", "v1.35.0");
    look_on(&host, "workers", requested(None), async |host| {
        register(host, &json!([]));
        passes(5 * MINUTE).await;
        writes(host);
        passes(60 * MINUTE).await;
        let count = writes(host);
        assert!((5..=6).contains(&count), "{count} writes in an hour");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_is_reported_with_its_code_and_what_is_lost_for_a_moment_is_not() {
    let host = host("workers", "v1.35.0");
    let (_, events) = look_on(&host, "workers", requested(None), async |host| {
        register(host, &json!([]));
        passes(2 * MINUTE).await;
        kubelet(host, ActiveState::Failed);
        passes(MINUTE / 2).await;
        kubelet(host, ActiveState::Active);
        passes(3 * MINUTE).await;
        assert_eq!(with_status(host, "False"), "");
        kubelet(host, ActiveState::Failed);
        passes(3 * MINUTE).await;
        let boot = reported(host)["BootComplete"].clone();
        assert_eq!(boot.0, "False");
        assert!(boot.1.starts_with("ServicesUnit"), "{}", boot.1);
        kubelet(host, ActiveState::Active);
        passes(3 * MINUTE).await;
        assert_eq!(with_status(host, "True"), ALL);
    })
    .await;
    let of_boot: Vec<String> = changes(&events)
        .into_iter()
        .filter(|change| change.starts_with("BootComplete"))
        .collect();
    assert_eq!(of_boot.len(), 3, "{of_boot:?}");
}

/// The warnings of a node while its API server is in this trouble for 20 minutes, and after that.
async fn in_trouble(act: Act) -> (Vec<Code>, Vec<Code>) {
    let host = host("workers", "v1.35.0");
    let (record, events) = look_on(&host, "workers", requested(None), async |host| {
        register(host, &json!([]));
        host.cluster(|server| {
            server.inject(InjectedFault::new(act).writes().kind("Node"));
        });
        passes(20 * MINUTE).await;
        assert_eq!(reported(host).len(), 0);
        host.cluster(ApiServer::end_troubles);
        passes(15 * MINUTE).await;
        assert_eq!(with_status(host, "True"), ALL);
    })
    .await;
    let codes = events.into_iter().filter_map(|event| match event {
        Event::NodeConditionsNotReported { fault } => Some(fault.code),
        _ => None,
    });
    (codes.collect(), warned(&record))
}

#[tokio::test(start_paused = true)]
async fn what_kubelet_may_not_report_is_a_warning_until_it_may() {
    let seen = in_trouble(Act::Forbid).await;
    assert_eq!(seen, (vec![Code::ReadyConditionsDenied], Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_gone_for_long_is_a_warning_until_it_is_back() {
    let seen = in_trouble(Act::Refuse).await;
    assert_eq!(seen, (vec![Code::ReadyConditionsUnreported], Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_boot_that_fails_is_reported_as_it_ends() {
    let host = host("workers", "v1.35.0");
    register(&host, &json!([]));
    let request = quake_engine::Request {
        conditions: requested(None),
        ..request("workers")
    };
    // The first boot leaves kubelet's kubeconfig behind.
    let (_, record) = run(&host, &request).await;
    assert!(record.is_ready());
    host.next_boot(Script::default());
    kubelet(&host, ActiveState::Failed);
    host.fail_starts("kubelet.service", u32::MAX);
    let (verdict, _) = run(&host, &request).await;
    let code = verdict.fault.expect("it fails").code;
    let wanted = ("False".to_owned(), reason(code));
    assert_eq!(reported(&host)["BootComplete"], wanted);
    assert_eq!(reported(&host)["VolumesSafe"].0, "True");
}

fn kubelet(host: &SimHost, active: ActiveState) {
    host.change(|region| {
        let unit = region.units.get_mut("kubelet.service").expect("it runs");
        unit.active = active;
    });
}

#[tokio::test(start_paused = true)]
async fn the_conditions_of_a_host_that_the_agent_leaves_are_removed_and_no_others() {
    for version in ["v1.35.0", "v1.15.12"] {
        let host = host("workers", version);
        look_on(&host, "workers", requested(None), async |host| {
            register(host, &json!([]));
            passes(2 * MINUTE).await;
        })
        .await;
        assert_eq!(reported(&host).len(), 6);
        let removed = remove_conditions(host.as_ref(), KUBELETS, NODE).await;
        assert_eq!(
            removed.map(|removed| removed.types.len()),
            Ok(6),
            "{version}"
        );
        assert!(reported(&host).is_empty(), "{:#}", object(&host));
        let left = object(&host)["status"]["conditions"].to_string();
        assert!(left.contains("\"Ready\""), "{left}");
        let again = remove_conditions(host.as_ref(), KUBELETS, NODE).await;
        assert_eq!(again.map(|removed| removed.types.len()), Ok(0));
    }
}
