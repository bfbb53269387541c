//! What happens to a cluster later: restarts, another instance for the control plane, and nodeup in the
//! agent's place and back.

use super::{CLUSTER, RealCluster, stand_ins};
use quake_integration::machine::{KOPS_INSTALL, KOPS_UNIT, MIRROR, MachineBackend, Programs};

/// The workers are restarted, one after the other.
pub(super) fn workers_restart(cluster: &mut RealCluster<'_>) {
    let mut workers = std::mem::take(&mut cluster.workers);
    for worker in &mut workers {
        worker.machine.reboot().expect("it boots again");
        let ready = worker.machine.becomes_ready(180);
        ready.expect("it becomes ready again");
        stand_ins::becomes_ready(cluster, worker);
    }
    cluster.workers = workers;
    for worker in &cluster.workers {
        stand_ins::connect(cluster, worker);
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
    stand_ins::becomes_ready(cluster, cluster.master());
    stand_ins::connect(cluster, cluster.master());
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
        stand_ins::becomes_ready(cluster, worker);
        stand_ins::connect(cluster, worker);
    }
    cluster.note("the control plane has another instance, with the data of the one before");
}

/// On a worker the real nodeup takes the agent's place and gives it back: the node goes on as it is.
pub(super) fn nodeup_and_back(cluster: &RealCluster<'_>, programs: &Programs) {
    let worker = &cluster.workers[0];
    let machine = &worker.machine;
    let nodeup = std::fs::read(programs.kops.join("nodeup")).expect("nodeup is given");
    cluster.lab.vpc().serve("/real/nodeup", nodeup);
    let started = machine.programs_started();
    machine.output("cp /opt/kops/bin/nodeup /root/agent");
    machine.output(&format!(
        "cd /opt/kops/bin && curl -sfo new {MIRROR}/real/nodeup && chmod 755 new && mv new nodeup"
    ));
    machine.output(KOPS_INSTALL);
    let done = format!("systemctl show -p ActiveState --value {KOPS_UNIT} | grep -q inactive");
    let ended = machine.comes_true(&done, 300);
    let journal = machine.output(&format!("journalctl --no-pager -n 40 -u {KOPS_UNIT}"));
    assert!(ended, "nodeup comes to its end: {journal}");
    stand_ins::becomes_ready(cluster, worker);
    cluster.note("nodeup ran in the agent's place");
    machine.output("mv /root/agent /opt/kops/bin/nodeup");
    machine.output(KOPS_INSTALL);
    let ready = machine.becomes_ready(120);
    ready.expect("the agent is ready again");
    stand_ins::becomes_ready(cluster, worker);
    assert_eq!(machine.programs_started(), started, "the node went on");
    cluster.note("the agent is back, and no program was restarted");
}
