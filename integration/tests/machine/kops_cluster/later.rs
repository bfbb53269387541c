//! What happens to a cluster later: restarts, another instance for the control plane, and nodeup in the
//! agent's place and back.

use super::{CLUSTER, KUBECTL, Node, RealCluster, hands};
use quake_integration::machine::{KOPS_UNIT, MachineBackend, Programs};

/// How kops' user data installs its unit.
const INSTALL: &str =
    "cd /opt/kops/bin && ./nodeup --install-systemd-unit --conf=/opt/kops/conf/kube_env.yaml --v=8";

/// The workers are restarted, one after the other.
pub(super) fn workers_restart(cluster: &mut RealCluster<'_>) {
    let mut workers = std::mem::take(&mut cluster.workers);
    for worker in &mut workers {
        worker.machine.reboot().expect("it boots again");
        comes_back(cluster, worker);
    }
    cluster.workers = workers;
    for worker in &cluster.workers {
        hands::connect(cluster, worker);
    }
    cluster.note("both workers were restarted");
}

/// The control plane is restarted.
pub(super) fn control_plane_restarts(cluster: &mut RealCluster<'_>) {
    let mut node = cluster.control_plane.take().expect("it runs");
    node.machine.reboot().expect("it boots again");
    node.machine
        .becomes_ready(180)
        .expect("it becomes ready again");
    cluster.control_plane = Some(node);
    hands::becomes_ready(cluster, cluster.master());
    hands::connect(cluster, cluster.master());
    cluster.note("the control plane was restarted");
}

/// Another instance takes the control plane's place: the volumes move to it, and what the cluster knew is
/// there.
pub(super) fn control_plane_is_replaced(cluster: &mut RealCluster<'_>) {
    let before = cluster.kubectl("get deployment web -o jsonpath='{.metadata.uid}'");
    let mut old = cluster.control_plane.take().expect("it runs");
    old.machine.cut_power();
    let ec2 = cluster.lab.vpc().ec2();
    ec2.terminate(old.name());
    cluster.begin_control_plane();
    let after = cluster.kubectl("get deployment web -o jsonpath='{.metadata.uid}'");
    assert_eq!(after, before, "the data of {CLUSTER} is there");
    cluster.kubectl(&format!("delete node {}", old.name()));
    for worker in &cluster.workers {
        hands::becomes_ready(cluster, worker);
        hands::connect(cluster, worker);
    }
    cluster.note("the control plane has another instance, with the data of the one before");
}

/// On a worker the real nodeup takes the agent's place and gives it back: the node goes on as it is.
pub(super) fn nodeup_and_back(cluster: &RealCluster<'_>, programs: &Programs) {
    let worker = &cluster.workers[0];
    let machine = &worker.machine;
    let nodeup = std::fs::read(programs.kops.join("nodeup")).expect("nodeup is given");
    cluster.lab.vpc().serve("/real/nodeup", nodeup);
    let running = started(worker);
    machine.output("cp /opt/kops/bin/nodeup /root/agent");
    machine.output(
        "curl -sfo /opt/kops/bin/new http://172.20.0.1:8000/real/nodeup && chmod 755 /opt/kops/bin/new && mv /opt/kops/bin/new /opt/kops/bin/nodeup",
    );
    machine.output(INSTALL);
    let done = format!("systemctl show -p ActiveState --value {KOPS_UNIT} | grep -q inactive");
    let ended = machine.comes_true(&done, 300);
    let journal = machine.output(&format!("journalctl --no-pager -n 40 -u {KOPS_UNIT}"));
    assert!(ended, "nodeup comes to its end: {journal}");
    hands::becomes_ready(cluster, worker);
    cluster.note("nodeup ran in the agent's place");
    machine.output("mv /root/agent /opt/kops/bin/nodeup");
    machine.output(INSTALL);
    machine
        .becomes_ready(120)
        .expect("the agent is ready again");
    hands::becomes_ready(cluster, worker);
    cluster.note(&format!(
        "and back; programs were started at {running:?}, then {:?}",
        started(worker)
    ));
}

/// When the node's programs started.
fn started(node: &Node) -> [String; 2] {
    ["containerd.service", "kubelet.service"].map(|unit| {
        let script = format!("systemctl show --value -p ExecMainStartTimestampMonotonic {unit}");
        node.machine.output(&script).trim().to_owned()
    })
}

fn comes_back(cluster: &RealCluster<'_>, worker: &Node) {
    worker
        .machine
        .becomes_ready(180)
        .expect("it becomes ready again");
    let ready = format!(
        "{KUBECTL} wait --for=condition=Ready --timeout=1s node/{}",
        worker.name()
    );
    assert!(
        cluster.master().machine.comes_true(&ready, 120),
        "it is Ready again"
    );
}
