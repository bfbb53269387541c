//! How long a node takes from the start of its machine: with the agent, and with the nodeup that is given, in one run.

use super::members::{KUBECTL, Node};
use super::{RealCluster, WORKERS, WORKERS_ROLE, later, stand_ins};
use quake_integration::machine::{Layer, MachineBackend, Programs};
use std::path::Path;
use std::time::Instant;

/// How kubelet comes to the settings where nodeup sets it up; the agent has it read them by a drop-in of its own.
const READS_SETTINGS: &str = "[Service]
ExecStart=
ExecStart=/usr/local/bin/kubelet \"$DAEMON_ARGS\" --config-dir=/etc/kubernetes/kubelet.conf.d
";

/// Seconds since the start of a machine.
pub(super) struct Times {
    registered: f64,
    ready: f64,
    /// Until an agent's services ran.
    own: Option<f64>,
}

/// Boots one more worker by the agent and one by nodeup, one after the other, and says how long each took: a table of
/// docs/operations.md is `times-worker.md` of the evidence.
pub(super) fn of_workers(cluster: &RealCluster<'_>, programs: &Programs) {
    let by_agent = taken(cluster, &cluster.agent(), |layer| layer);
    let by_nodeup = taken(cluster, &programs.kops.join("nodeup"), reads_settings);
    publish(cluster, "worker", &by_agent, &by_nodeup);
}

/// Has an instance that nodeup boots, and then one that the agent boots, take the control plane's place, and says how
/// long each took: `times-control-plane.md`.
pub(super) fn of_control_planes(cluster: &mut RealCluster<'_>, programs: &Programs) {
    let nodeup = programs.kops.join("nodeup");
    let by_nodeup = later::control_plane_is_replaced(cluster, &nodeup, reads_settings);
    let agent = cluster.agent();
    let mut by_agent = later::control_plane_is_replaced(cluster, &agent, |layer| layer);
    let ready = cluster.master().machine.becomes_ready(120);
    ready.expect("the agent is ready");
    by_agent.own = own(cluster.master());
    publish(cluster, "control-plane", &by_agent, &by_nodeup);
}

fn reads_settings(layer: Layer) -> Layer {
    let drop_in = "/etc/systemd/system/kubelet.service.d/10-lab.conf";
    layer.file(drop_in, 0o644, READS_SETTINGS)
}

fn publish(cluster: &RealCluster<'_>, what: &str, by_agent: &Times, by_nodeup: &Times) {
    let row = |who: &str, times: &Times| {
        let own = times
            .own
            .map_or(String::new(), |seconds| format!("{seconds:.1}"));
        format!(
            "| {who} | {:.1} | {:.1} | {own} |\n",
            times.registered, times.ready
        )
    };
    let table = [
        &format!("| {what} | registered, s | Ready, s | of it until the services run, s |\n"),
        "|---|---|---|---|\n",
        &row("quake-agent", by_agent),
        &row("nodeup", by_nodeup),
    ]
    .concat();
    print!("{table}");
    let name = format!("times-{what}.md");
    cluster.lab.evidence().write(&name, &table);
}

/// The times of a worker that this program boots. The worker is taken away again.
fn taken(cluster: &RealCluster<'_>, program: &Path, more: impl Fn(Layer) -> Layer) -> Times {
    let begun = Instant::now();
    let mut node = cluster.begin_by(program, WORKERS, WORKERS_ROLE, more);
    let times = of_joining(cluster, &node, begun);
    let own = own(&node);
    node.machine.cut_power();
    cluster.lab.vpc().ec2().terminate(&node.name);
    cluster.kubectl(&format!("delete node {}", node.name));
    Times { own, ..times }
}

/// Waits until a node has joined, and is Ready.
pub(super) fn of_joining(cluster: &RealCluster<'_>, node: &Node, begun: Instant) -> Times {
    stand_ins::admit(cluster, node);
    let registered = registered_after(cluster, node, begun);
    cluster.becomes_ready(node);
    Times {
        registered,
        ready: begun.elapsed().as_secs_f64(),
        own: None,
    }
}

/// After how long an agent's services ran.
fn own(node: &Node) -> Option<f64> {
    let mut events = node.machine.events().into_iter();
    let done = events.find(|event| event["event"] == "phase-done" && event["phase"] == "services");
    done.and_then(|event| event["elapsedMs"].as_f64())
        .map(|millis| millis / 1000.0)
}

/// How long after `begun` a node was registered; its own time has whole seconds.
fn registered_after(cluster: &RealCluster<'_>, node: &Node, begun: Instant) -> f64 {
    let machine = &cluster.master().machine;
    let script = format!(
        "now=$(date +%s); then=$(date -d \"$({KUBECTL} get node {} -o jsonpath='{{.metadata.creationTimestamp}}')\" +%s); echo $((now - then))",
        node.name
    );
    let ago: f64 = machine.output(&script).trim().parse().expect("a number");
    begun.elapsed().as_secs_f64() - ago
}
