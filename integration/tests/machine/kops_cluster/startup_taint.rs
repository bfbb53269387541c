//! One more worker, which registers with a startup taint: the agent removes it once its conditions hold, and no pod that tolerates
//! nothing is bound to the node at a look that finds the taint.

use super::members::{KUBECTL, Node};
use super::{API, RealCluster, WORKERS, WORKERS_ROLE, stand_ins};
use quake_integration::machine::{Layer, MachineBackend, WORKLOAD};
use quake_integration::waiting::wait_until;
use std::time::Duration;

const TAINT: &str = "quake.io/starting";

/// kubelet's certificate may not remove it (NodeRestriction), so the agent has a kubeconfig for it.
const REMOVER: &str = "/etc/quake-remover.kubeconfig";

/// Hands the taint to the agent's unit, which user data of kops names.
const DROP_IN: &str = "/etc/systemd/system/kops-configuration.service.d/10-startup-taint.conf";

/// A pod that tolerates nothing, and that only this node may run.
const WAITS: &str = r#"apiVersion: v1
kind: Pod
metadata: {name: waits}
spec:
  terminationGracePeriodSeconds: 1
  nodeSelector: {kubernetes.io/hostname: NODE}
  containers:
  - name: waits
    image: IMAGE
    command: ["/bin/sh", "-c", "exec sleep 3600"]
"#;

pub(super) fn goes(cluster: &RealCluster<'_>) {
    let master = &cluster.master().machine;
    let own = master.output("cat /var/lib/kubectl/kubeconfig");
    let server = own.lines().find(|line| line.trim().starts_with("server:"));
    let kubeconfig = own.replace(
        server.expect("it names one"),
        &format!("    server: https://{API}"),
    );
    let more = |layer: Layer| {
        let variables = format!(
            "[Service]\nEnvironment=QUAKE_AGENT_STARTUP_TAINT={TAINT}\nEnvironment=QUAKE_AGENT_STARTUP_TAINT_REMOVER={REMOVER}\n"
        );
        layer
            .file(REMOVER, 0o600, kubeconfig.clone())
            .file(DROP_IN, 0o644, variables)
    };
    let mut node = cluster.begin_by(&cluster.agent(), WORKERS, WORKERS_ROLE, more);
    let pod = WAITS.replace("NODE", &node.name).replace("IMAGE", WORKLOAD);
    master.output(&format!("{KUBECTL} apply -f - <<'EOF'\n{pod}EOF"));
    is_registered_with_it(cluster, &node);
    stand_ins::admit(cluster, &node);
    let mut looks = 0;
    let is_gone = wait_until(Duration::from_secs(180), || {
        // In this order: what is bound before a look that finds the taint was bound in spite of it.
        let pod = bound(cluster);
        let is_there = taints(cluster, &node).contains(TAINT);
        assert!(!is_there || pod.is_empty(), "{pod} in spite of the taint");
        looks += usize::from(is_there);
        !is_there
    });
    let journal = node
        .machine
        .output("journalctl --no-pager -n 60 -u kops-configuration");
    assert!(is_gone, "{}\n{journal}", taints(cluster, &node));
    cluster.note(&format!(
        "a worker's startup taint goes, after {looks} looks"
    ));
    node.machine.becomes_ready(120).expect("it is ready");
    let runs = format!("{KUBECTL} wait --for=condition=Ready --timeout=1s pod/waits");
    assert!(
        master.comes_true(&runs, 120),
        "{}",
        cluster.kubectl("describe pod waits")
    );
    reports_all(cluster, &node);
    cluster.note("a pod that tolerates nothing runs on it, and its six conditions are True");
    cluster.kubectl("delete pod waits --now");
    node.machine.cut_power();
    cluster.lab.vpc().ec2().terminate(&node.name);
    cluster.kubectl(&format!("delete node {}", node.name));
}

/// The node is registered with the taint, which its kubelet was started with.
fn is_registered_with_it(cluster: &RealCluster<'_>, node: &Node) {
    let registered = format!("{KUBECTL} get node {}", node.name);
    assert!(
        cluster.master().machine.comes_true(&registered, 240),
        "it registers"
    );
    let found = taints(cluster, node);
    assert!(found.contains(TAINT), "{found}");
    let flags = format!("grep -q {TAINT} /etc/sysconfig/kubelet /var/lib/kubelet/kubelet.conf");
    assert!(node.machine.holds(&flags), "kubelet was started with it");
}

fn taints(cluster: &RealCluster<'_>, node: &Node) -> String {
    cluster.kubectl(&format!(
        "get node {} -o jsonpath='{{.spec.taints[*].key}}'",
        node.name
    ))
}

/// Where the pod is scheduled; empty while it waits.
fn bound(cluster: &RealCluster<'_>) -> String {
    cluster.kubectl("get pod waits -o jsonpath='{.spec.nodeName}'")
}

fn reports_all(cluster: &RealCluster<'_>, node: &Node) {
    let path = "{range .status.conditions[?(@.status==\"True\")]}{.type}{\"\\n\"}{end}";
    let count = format!(
        "[ $({KUBECTL} get node {} -o jsonpath='{path}' | grep -c ^quake.io/) = 6 ]",
        node.name
    );
    let all = cluster.master().machine.comes_true(&count, 120);
    let shown = format!(
        "get node {} -o jsonpath='{{.status.conditions}}'",
        node.name
    );
    assert!(all, "{}", cluster.kubectl(&shown));
}
