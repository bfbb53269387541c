//! The conditions of a node and its startup taint, at a kube-apiserver and with a kube-scheduler where `QUAKE_KUBERNETES_BIN` names
//! them: kubelet's certificate is that of one node, and NodeRestriction is on.

use crate::residents::{Ground, LONGEST_LOOK, Resident};
use quake_integration::agent::{Running, run_command};
use quake_integration::ca::Ca;
use quake_integration::real_api_server::RealApiServer;
use quake_integration::skip::{SetUpError, unless_missing};
use quake_integration::waiting::wait_until;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The node's name, as its metadata has it.
const NAME: &str = "ip-10-0-0-10.ec2.internal";
const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";

const TAINT: &str = "quake.io/starting";

/// How many pods that tolerate nothing wait for the node.
const WAITING: usize = 5;

/// How long pods are looked at while nothing but the startup taint keeps them from the node. A scheduler that runs binds a pod
/// within a second.
const NOT_SCHEDULED_FOR: Duration = Duration::from_secs(20);

/// A change is reported after it was seen for a minute, and what is looked at is looked at twice a minute.
const REPORTED_WITHIN: Duration = Duration::from_secs(200);

struct World {
    ground: Ground,
    server: Arc<RealApiServer>,
    _scheduler: Running,
    /// kubelet's certificate and key.
    kubelet: (String, String),
}

fn start() -> Result<World, SetUpError> {
    let ca = Ca::new()?;
    let ca_pem = (ca.certificate()?, ca.key()?);
    let kops = ca.client_pair("/O=system:masters/CN=kops")?;
    let kubelet = ca.client_pair(&format!("/O=system:nodes/CN=system:node:{NAME}"))?;
    let server = Arc::new(RealApiServer::start_by(ca)?);
    let scheduler = server.schedule()?;
    let keys = [("ca", ca_pem), ("kops", kops), ("kubelet", kubelet.clone())];
    let ground = Ground::start(&[("control-plane", &["a"])], keys)?;
    Ok(World {
        ground,
        server,
        _scheduler: scheduler,
        kubelet,
    })
}

impl World {
    fn node(&self) -> Value {
        self.server
            .get(&format!("{NODES}/{NAME}"))
            .unwrap_or_default()
    }

    /// The agent's conditions: status and reason by name.
    fn reported(&self) -> BTreeMap<String, (String, String)> {
        let node = self.node();
        let conditions = node["status"]["conditions"].as_array().cloned();
        let conditions = conditions.unwrap_or_default();
        let ours = conditions.iter().filter_map(|one| {
            let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
            let name = text("type").strip_prefix("quake.io/")?.to_owned();
            Some((name, (text("status"), text("reason"))))
        });
        ours.collect()
    }

    #[track_caller]
    fn until(&self, what: &str, running: &Running, holds: impl Fn() -> bool) {
        let held = wait_until(REPORTED_WITHIN, holds);
        let (node, said) = (self.node(), running.stderr());
        assert!(
            held,
            "{what}: {:#}\n{:#}\n{said}",
            node["spec"], node["status"]["conditions"]
        );
    }

    fn is(&self, name: &str, status: &str, reason: &str) -> bool {
        let reported = self.reported();
        let found = reported.get(name).cloned().unwrap_or_default();
        found.0 == status && (reason.is_empty() || found.1 == reason)
    }

    fn taints(&self) -> Vec<String> {
        let node = self.node();
        let taints = node["spec"]["taints"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let keys = taints.iter().filter_map(|taint| taint["key"].as_str());
        keys.map(str::to_owned).collect()
    }

    /// As the controllers of a cluster and its administrator would: nothing but the startup taint keeps pods away.
    fn keep_only_the_startup_taint(&self) {
        let ours = json!([{ "key": TAINT, "effect": "NoSchedule" }]);
        let patch = json!({ "spec": { "taints": ours } });
        let path = format!("{NODES}/{NAME}");
        let answer = self.server.ask("PATCH", &path, &patch);
        assert_eq!(answer.map(|answer| answer.status), Ok(200));
    }

    fn scheduled(&self) -> usize {
        let pods = self.server.get(PODS).unwrap_or_default();
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        let bound = pods.iter().filter(|pod| pod["spec"]["nodeName"] == NAME);
        bound.count()
    }
}

#[test]
fn a_node_reports_conditions_and_no_pod_is_scheduled_before_its_taint_goes() {
    let Some(world) = unless_missing(start()) else {
        return;
    };
    let is_well = Arc::new(AtomicBool::new(false));
    let well = Arc::clone(&is_well);
    let node = world
        .ground
        .launch("control-plane", move || well.load(Ordering::SeqCst));
    let namespace = node.instance.lab.namespace();
    let door = namespace.listen("127.0.0.1:443");
    world
        .server
        .add_door(door.expect("nobody else listens inside"));
    let running = node.boot_reporting(&["--startup-taint", TAINT]);
    pods_wait(&world);
    kubelet_registers(&world, &node);

    world.until("it reports while it boots", &running, || {
        world.is("BootComplete", "Unknown", "")
    });
    // The agent says once what kind of node it is.
    world.until("it is marked", &running, || {
        world.taints().iter().any(|key| key.contains("master"))
    });
    world.keep_only_the_startup_taint();
    let was_scheduled = wait_until(NOT_SCHEDULED_FOR, || world.scheduled() > 0);
    assert!(!was_scheduled, "{:#}", world.node()["spec"]);
    assert_eq!(world.taints(), [TAINT]);
    kubelet_may_not_remove_it(&world);

    is_well.store(true, Ordering::SeqCst);
    let is_ready = |status: &Value| status["ready"] == true;
    node.until("it is ready", LONGEST_LOOK, &running, is_ready);
    world.until("the taint goes", &running, || {
        !world.taints().iter().any(|key| key == TAINT)
    });
    world.until("all pods are scheduled", &running, || {
        world.scheduled() == WAITING
    });
    let reported = world.reported();
    assert!(
        reported.values().all(|(status, _)| status == "True"),
        "{reported:?}"
    );
    assert_eq!(reported.len(), 6, "{reported:?}");
    let conditions = world.node()["status"]["conditions"].to_string();
    assert!(
        conditions.contains("KubeletReady"),
        "kubelet's own stays: {conditions}"
    );

    what_breaks_is_reported(&world, &node, &running);
    running.terminate().expect("it runs");
    let ended = running.end(Duration::from_secs(10));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    they_are_removed(&world, &node);
}

/// kubelet registers its node anew, and the taint with it, before an operator uninstalls the agent.
fn the_taint_is_back(world: &World) {
    world.keep_only_the_startup_taint();
    assert_eq!(world.taints(), [TAINT]);
}

/// Pods that tolerate nothing.
fn pods_wait(world: &World) {
    let exists = || world.server.get("/api/v1/namespaces/default").is_some();
    assert!(wait_until(LONGEST_LOOK, exists));
    for number in 0..WAITING {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": format!("waits-{number}") },
            "spec": { "containers": [{ "name": "c", "image": "registry.example/pause" }] },
        });
        world.server.put(PODS, &pod).expect("it is made");
    }
}

/// kubelet, which does not run here, registers the node as its flags say.
fn kubelet_registers(world: &World, node: &Resident) {
    let flags = node.instance.lab.root().join("etc/sysconfig/kubelet");
    let flag = format!("{TAINT}=:NoSchedule");
    let mut text = String::new();
    let is_reported = wait_until(LONGEST_LOOK, || {
        text = std::fs::read_to_string(&flags).unwrap_or_default();
        text.contains(&flag)
    });
    assert!(is_reported, "{text}");
    let ready = json!({ "type": "Ready", "status": "True", "reason": "KubeletReady" });
    let object = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": NAME },
        "spec": { "taints": [{ "key": TAINT, "effect": "NoSchedule" }] },
        "status": {
            "conditions": [ready],
            "allocatable": { "cpu": "4", "memory": "8Gi", "pods": "110" },
            "capacity": { "cpu": "4", "memory": "8Gi", "pods": "110" },
        },
    });
    let answer = world
        .server
        .ask_as(&world.kubelet, ("POST", NODES), &object)
        .expect("it answers");
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn kubelet_may_not_remove_it(world: &World) {
    let path = format!("{NODES}/{NAME}");
    let patch = json!({ "spec": { "taints": [] } });
    let answer = world
        .server
        .ask_as(&world.kubelet, ("PATCH", &path), &patch);
    let answer = answer.expect("it answers");
    assert_eq!(answer.status, 403);
    let said = answer.text();
    assert!(said.contains("is not allowed to modify taints"), "{said}");
}

/// A file of the agent's that somebody changed, and the pod network's configuration that is gone; then both are as they were.
fn what_breaks_is_reported(world: &World, node: &Resident, running: &Running) {
    let root = node.instance.lab.root();
    let file = root.join("etc/sysconfig/kubelet");
    let text = std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(&file, format!("{text}# mine\n")).expect("it can be written");
    let cni = root.join("etc/cni/net.d/10-quake-agent.conflist");
    let aside = root.join("aside");
    std::fs::rename(&cni, &aside).expect("the agent wrote it");
    world.until("drift is reported", running, || {
        world.is("NoDrift", "False", "Drifted")
    });
    world.until("a lost network is reported", running, || {
        world.is("NetworkReady", "False", "ReadyCniMissing")
    });
    assert!(world.is("VolumesSafe", "True", ""));
    std::fs::write(&file, text).expect("it can be written");
    std::fs::rename(&aside, &cni).expect("it can be put back");
    world.until("it is reported that it is over", running, || {
        world.is("NoDrift", "True", "") && world.is("NetworkReady", "True", "")
    });
}

fn they_are_removed(world: &World, node: &Resident) {
    the_taint_is_back(world);
    let root = node.instance.lab.root();
    let root = root.to_str().expect("a plain name");
    let command = node
        .instance
        .lab
        .elsewhere(&["conditions", "--remove", "--root", root]);
    let ended = run_command(command);
    assert_eq!(ended.status, 0, "{}", ended.text());
    assert!(
        ended.stdout.contains("quake.io/NoDrift"),
        "{}",
        ended.text()
    );
    assert!(ended.stdout.contains(TAINT), "{}", ended.text());
    assert_eq!(world.taints(), Vec::<String>::new(), "{}", ended.text());
    assert!(world.reported().is_empty(), "{:#}", world.node()["status"]);
    let conditions = world.node()["status"]["conditions"].to_string();
    assert!(conditions.contains("KubeletReady"), "{conditions}");
}
