//! A control plane whose pod network goes to labelled nodes alone, and whose agent sets the labels: it says what the node is while
//! it boots, or it would never become ready.

use crate::addons::ACCESS;
use crate::addons_boot::passes;
use crate::common::Keep;
use crate::kops::{conformance, node};
use quake_apisim::{Act, ApiServer, InjectedFault, Request as SignalConfig};
use quake_engine::{Emitter, Request, Verdict, boot, keep_looking, stop_signal};
use quake_model::event::Event;
use quake_model::fault::Code;
use quake_model::ports::{Clock, Sink};
use quake_model::record::Record;
use quake_node::addon_mode::KUBECONFIG;
use quake_testkit::SimHost;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NODE: &str = "i-0123456789abcdef0";

const LABEL: &str = "node-role.kubernetes.io/control-plane";

const NETWORK: &str = "/etc/cni/net.d/05-cilium.conflist";

const CHANNEL: &str =
    "s3://clusters.example.com/privatecilium.example.com/addons/bootstrap-channel.yaml";

const SECOND: Duration = Duration::from_secs(1);

/// The first control plane of a cluster whose pod network nobody has brought yet.
fn control_plane(root: &Path, takes_over_addons: bool) -> (Arc<SimHost>, Request) {
    let (host, request) = node(root, "privatecilium", "master-us-test-1a");
    let host = Arc::into_inner(host).expect("nobody shares it yet");
    let host = host.with_cluster(ApiServer::new("v1.32.0"));
    host.remove_file("/etc/cni/net.d/10-containerd-net.conflist");
    host.put_file(KUBECONFIG, ACCESS);
    // What else the channel has is not what this is about.
    host.put_object(
        CHANNEL,
        "kind: Addons\nmetadata: {name: b}\nspec: {addons: []}\n",
    );
    let request = Request {
        takes_over_addons,
        ..request
    };
    (Arc::new(host), request)
}

/// Registers the node, as kubelet does, which may not give it a label of this kind.
fn register(host: &SimHost) {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}});
    let made = SignalConfig::new("POST", "/api/v1/nodes").with_body("application/json", &node);
    let now = host.now();
    host.cluster(|server| {
        let _ = server.answer(&made, now);
    });
}

fn is_labelled(host: &SimHost) -> bool {
    let node = host.cluster(|server| server.object("Node", "", NODE).cloned());
    let node: Value = node.flatten().unwrap_or_default();
    node["metadata"]["labels"].get(LABEL).is_some()
}

/// Registers the node after these seconds, and brings its pod network once the node has its label.
async fn brings(host: &SimHost, registered_after: u32) {
    for second in 0..=1800 {
        if second == registered_after {
            register(host);
        }
        if is_labelled(host) {
            host.put_file(NETWORK, "{}");
            return;
        }
        passes(SECOND).await;
    }
}

/// What was told of the node's object: what was said of it, or the code of why nothing could be.
type Reports = Vec<Result<Vec<String>, Code>>;

/// A boot beside a world that changes, and two minutes of looks after it.
async fn booted(
    host: &Arc<SimHost>,
    request: &Request,
    changing: impl Future<Output = ()>,
) -> (Verdict, Record, Reports) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let clock = Arc::clone(host);
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Keep(Arc::clone(&kept)))];
    let emitter = Emitter::new(Box::new(move || clock.now()), sinks);
    let (handle, stop) = stop_signal();
    let booting = boot(host.as_ref(), &emitter, request, stop.clone());
    let (verdict, ()) = tokio::join!(booting, changing);
    let looking = keep_looking(host.as_ref(), &emitter, request, &verdict, stop);
    let ending = async {
        passes(SECOND * 120).await;
        handle.stop("the test is over");
    };
    tokio::join!(looking, ending);
    let events = kept.lock().expect("no other holder panics").clone();
    let reported = events.into_iter().filter_map(|event| match event {
        Event::NodeLabelled { changes, .. } => Some(Ok(changes)),
        Event::NodeNotLabelled { fault } => Some(Err(fault.code)),
        _ => None,
    });
    (verdict, emitter.record(), reported.collect())
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_network_waits_for_its_label_becomes_ready() {
    let Some(root) = conformance() else { return };
    // Registered at once, and long after the services run.
    for registered_after in [0, 600] {
        let (host, request) = control_plane(&root, true);
        let changing = brings(&host, registered_after);
        let (verdict, record, reported) = booted(&host, &request, changing).await;
        assert_eq!(verdict.fault, None, "registered after {registered_after} s");
        let [Ok(says)] = reported.as_slice() else {
            panic!("said once, before the boot ended or after it: {reported:?}");
        };
        assert!(says.contains(&format!("label {LABEL}=")), "{says:?}");
        let codes: Vec<Code> = record.warnings.iter().map(|fault| fault.code).collect();
        assert!(!codes.contains(&Code::ReadyNodeUnregistered), "{codes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_the_pod_sets_the_label_the_agent_says_nothing() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root, false);
    let (verdict, _, reported) = booted(&host, &request, brings(&host, 0)).await;
    let code = verdict.fault.map(|fault| fault.code);
    assert_eq!(
        (code, reported),
        (Some(Code::ReadyCniMissing), Vec::new()),
        "nobody sets it here"
    );
    assert!(!is_labelled(&host));
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_during_the_boot_is_tried_again_soon_and_is_a_warning_until_then() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root, true);
    register(&host);
    host.cluster(|server| server.inject(InjectedFault::new(Act::Forbid).writes().kind("Node")));
    let changing = async {
        passes(SECOND * 300).await;
        host.cluster(ApiServer::end_troubles);
        brings(&host, u32::MAX).await;
    };
    let (verdict, record, reported) = booted(&host, &request, changing).await;
    assert_eq!(verdict.fault, None);
    assert!(
        matches!(
            reported.as_slice(),
            [Err(Code::ReadyNodeIdentityDenied), Ok(says)] if !says.is_empty()
        ),
        "{reported:?}"
    );
    let is_of_object = |code: Code| code.entry().code.starts_with("ready.node-");
    let warnings = record.warnings.iter();
    assert_eq!(warnings.filter(|fault| is_of_object(fault.code)).count(), 0);
}
