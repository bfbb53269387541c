//! The agent that stays with a control plane, at a kube-apiserver where `QUAKE_KUBERNETES_BIN` names one: what it does with the
//! stand-in (`tended`) is done with the real one too.

use crate::residents::{DNS, Ground, LONGEST_LOOK, Resident, addon, all_are};
use quake_integration::agent::{LIMIT, Running};
use quake_integration::ca::Ca;
use quake_integration::real_api_server::RealApiServer;
use quake_integration::skip::{SetUpError, unless_missing};
use quake_integration::waiting::{pause, wait_until};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The node's name, as its metadata has it.
const NODE: &str = "/api/v1/nodes/ip-10-0-0-10.ec2.internal";

/// How long the cluster has no API server at first: as long as one that is restored may take.
const DOWN: Duration = Duration::from_secs(180);

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/quake-agent";

fn start() -> Result<(Ground, Arc<RealApiServer>), SetUpError> {
    let ca = Ca::new()?;
    let ca_pem = (ca.certificate()?, ca.key()?);
    let kops = ca.client_pair("/O=system:masters/CN=kops")?;
    // Nobody binds a role to the user of kops legacy's kubelets here.
    let kubelet = ca.client_pair("/O=system:masters/CN=kubelet")?;
    let server = Arc::new(RealApiServer::start_by(ca)?);
    let ground = Ground::start(
        &[("control-plane", &["a"])],
        [("ca", ca_pem), ("kops", kops), ("kubelet", kubelet)],
    )?;
    Ok((ground, server))
}

fn holder(server: &RealApiServer) -> String {
    let lease = server.get(LEASE).unwrap_or_default();
    let holder = lease["spec"]["holderIdentity"].as_str();
    holder.unwrap_or_default().to_owned()
}

fn writes(server: &RealApiServer) -> Vec<String> {
    let mut writes = server.writes().expect("the log can be read");
    writes.retain(|written| written != "Lease/kube-system/quake-agent");
    writes
}

fn stop(running: Running) {
    running.terminate().expect("it runs");
    let ended = running.end(Duration::from_secs(10));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
}

#[test]
fn an_agent_that_stays_keeps_the_add_ons_and_its_node_at_a_kube_apiserver() {
    let Some((ground, server)) = unless_missing(start()) else {
        return;
    };
    let of_node = Arc::clone(&server);
    let node = ground.launch("control-plane", move || of_node.is_ready());
    let namespace = node.instance.lab.namespace();
    let door = namespace.listen("127.0.0.1:443");
    server.add_door(door.expect("nobody else listens inside"));
    let refusal = server.refuse(("apps", "deployments"), "coredns", "not from our registry");
    server.take_down();
    let running = node.boot();
    let waits = |status: &Value| {
        let why = &status["addons"]["fault"]["code"];
        all_are(status, "waiting-for-api") && why == "addons.api-unreachable"
    };
    node.until("the API server is down", LIMIT, &running, waits);
    pause(DOWN);
    assert!(waits(&node.status()), "{}", node.status());
    server.bring_back().expect("it comes back");
    register(&server);

    let is_refused = |status: &Value| addon(status, DNS)["state"] == "failed";
    let status = node.until("one is refused", LONGEST_LOOK, &running, is_refused);
    let failed = addon(&status, DNS).to_string();
    assert!(failed.contains("not from our registry"), "{failed}");
    server.allow_all().expect("it is removed");
    drop(refusal);
    let is_applied = |status: &Value| status["ready"] == true && all_are(status, "applied");
    node.until("all are applied", LONGEST_LOOK, &running, is_applied);
    assert_eq!(holder(&server), node.instance.id);

    is_marked(&server, &running);
    goes_and_comes_back(&server, &node, &running);
    writes(&server);
    ground.write_channel("150m");
    let written = || writes(&server);
    let mut seen = Vec::new();
    let came = wait_until(LONGEST_LOOK, || {
        seen.extend(written());
        seen.len() >= 2
    });
    assert!(came, "{seen:?}");
    assert_eq!(seen, ["LimitRange/default/limits", "Namespace/kube-system"]);

    stop(running);
    assert_eq!(holder(&server), "", "the lease is given back");
    let running = node.boot();
    node.until("it begins anew", LIMIT, &running, is_applied);
    running.kill();
    let running = node.boot();
    node.until("it was killed", LIMIT, &running, is_applied);
    stop(running);
    assert_eq!(writes(&server), Vec::<String>::new());
}

/// kubelet registers a node without a label.
fn register(server: &RealApiServer) {
    let name = NODE.rsplit('/').next();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    server.put("/api/v1/nodes", &node).expect("it is made");
}

/// The agent says of the node what kubelet's flags and protokube said.
fn is_marked(server: &RealApiServer, running: &Running) {
    let mut found = Value::Null;
    let is_marked = wait_until(LONGEST_LOOK, || {
        found = server.get(NODE).unwrap_or_default();
        found["spec"]["providerID"].is_string()
    });
    assert!(is_marked, "{found:#}\n{}", running.stderr());
    let labels = &found["metadata"]["labels"];
    assert_eq!(labels["kops.k8s.io/instancegroup"], "control-plane");
    assert_eq!(labels["node-role.kubernetes.io/master"], "");
    let taints = found["spec"]["taints"].to_string();
    assert!(
        taints.contains("node-role.kubernetes.io/master"),
        "{taints}"
    );
}

fn goes_and_comes_back(server: &RealApiServer, node: &Resident, running: &Running) {
    server.take_down();
    let is_reported =
        |status: &Value| status["addons"]["fault"]["code"] == "addons.api-unreachable";
    let status = node.until("it went", LONGEST_LOOK, running, is_reported);
    assert_eq!(status["ready"], true, "{status}");
    server.bring_back().expect("it comes back");
    let is_over = |status: &Value| {
        status["addons"]["fault"].is_null() && status["addons"]["reconciler"]["who"] == "me"
    };
    node.until("it came back", LONGEST_LOOK, running, is_over);
}
