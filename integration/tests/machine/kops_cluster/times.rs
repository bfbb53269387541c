//! How long a worker takes from the start of its machine: with the agent, and with the nodeup that is given, in one run.

use super::members::{KUBECTL, Node};
use super::{RealCluster, WORKERS, WORKERS_ROLE, stand_ins};
use quake_integration::machine::{Layer, MachineBackend, Programs};
use std::path::Path;
use std::time::Instant;

/// How kubelet comes to the settings where nodeup sets it up; the agent has it read them by a drop-in of its own.
const READS_SETTINGS: &str = "[Service]
ExecStart=
ExecStart=/usr/local/bin/kubelet \"$DAEMON_ARGS\" --config-dir=/etc/kubernetes/kubelet.conf.d
";

/// Seconds since the start of a machine.
struct Times {
    registered: f64,
    ready: f64,
}

/// Boots one more worker by the agent and one by nodeup, one after the other, and says how long each took; the table of
/// docs/operations.md is `times.md` of the evidence.
pub(super) fn are_taken(cluster: &RealCluster<'_>, programs: &Programs) {
    let agent = cluster.lab.base().agent().expect("the agent is built");
    let (by_agent, own) = taken(cluster, &agent, |layer| layer);
    let nodeup = programs.kops.join("nodeup");
    let (by_nodeup, _) = taken(cluster, &nodeup, |layer| {
        let drop_in = "/etc/systemd/system/kubelet.service.d/10-lab.conf";
        layer.file(drop_in, 0o644, READS_SETTINGS)
    });
    let row = |who: &str, times: &Times, own: &str| {
        format!(
            "| {who} | {:.1} | {:.1} | {own} |\n",
            times.registered, times.ready
        )
    };
    let own = own.map_or(String::new(), |seconds| format!("{seconds:.1}"));
    let table = [
        "| worker | registered, s | Ready, s | of it until the services run, s |\n|---|---|---|---|\n",
        &row("quake-agent", &by_agent, &own),
        &row("nodeup", &by_nodeup, ""),
    ]
    .concat();
    print!("{table}");
    cluster.lab.evidence().write("times.md", &table);
}

/// The times of a worker that this program boots, and the seconds until an agent's services ran. The worker is taken away
/// again.
fn taken(
    cluster: &RealCluster<'_>,
    program: &Path,
    more: impl Fn(Layer) -> Layer,
) -> (Times, Option<f64>) {
    let begun = Instant::now();
    let mut node = cluster.begin_by(program, WORKERS, WORKERS_ROLE, more);
    stand_ins::admit(cluster, &node);
    let registered = registered_after(cluster, &node, begun);
    cluster.becomes_ready(&node);
    let ready = begun.elapsed().as_secs_f64();
    let done = node.machine.events().into_iter();
    let mut done =
        done.filter(|event| event["event"] == "phase-done" && event["phase"] == "services");
    let own = done.next().and_then(|event| event["elapsedMs"].as_f64());
    node.machine.cut_power();
    cluster.lab.vpc().ec2().terminate(&node.name);
    cluster.kubectl(&format!("delete node {}", node.name));
    (
        Times { registered, ready },
        own.map(|millis| millis / 1000.0),
    )
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
