//! What the cloud controller and a pod network would do.

use super::{KUBECTL, Node, RealCluster};
use quake_integration::machine::MachineBackend;

/// How pods of a node find each other: each by a route of its own. A bridge would need br_netfilter, which
/// not every kernel of a lab has.
const NETWORK: &str = r#"{"cniVersion": "1.0.0", "name": "routed", "plugins": [
  {"type": "ptp", "ipMasq": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "RANGE"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
"#;

/// The taint of a node that no cloud controller has looked at.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Waits until a node is registered, and admits it as the cloud controller does; then connects its pods.
pub(super) fn admit(cluster: &RealCluster<'_>, node: &Node) {
    let name = node.name();
    let machine = &cluster.master().machine;
    let registered = machine.comes_true(&format!("{KUBECTL} get node {name}"), 240);
    let journal = || {
        let lines = "journalctl --no-pager -n 80 -u kops-configuration -u kubelet";
        node.machine.output(lines)
    };
    assert!(registered, "{name} registers: {}", journal());
    let addresses = format!(
        r#"{{"status": {{"addresses": [{{"type": "InternalIP", "address": "{}"}}, {{"type": "Hostname", "address": "{name}"}}]}}}}"#,
        node.facts.address
    );
    cluster.kubectl(&format!(
        "patch node {name} --subresource=status --type=merge -p '{addresses}'"
    ));
    // It may be admitted already, when its instance was restarted.
    machine.output(&format!(
        "{KUBECTL} taint node {name} {UNINITIALIZED}- || :"
    ));
    connect(cluster, node);
}

/// Waits until the cluster says that a node is Ready.
pub(super) fn becomes_ready(cluster: &RealCluster<'_>, node: &Node) {
    let ready = format!(
        "{KUBECTL} wait --for=condition=Ready --timeout=1s node/{}",
        node.name()
    );
    let is_ready = cluster.master().machine.comes_true(&ready, 120);
    assert!(
        is_ready,
        "{}: {}",
        node.name(),
        cluster.kubectl("describe nodes")
    );
}

/// The range of a node's pods, as kube-controller-manager gave it.
fn range(cluster: &RealCluster<'_>, node: &Node) -> String {
    let given = format!(
        "{KUBECTL} get node {} -o jsonpath='{{.spec.podCIDR}}'",
        node.name()
    );
    let machine = &cluster.master().machine;
    assert!(
        machine.comes_true(&format!("{given} | grep -q /"), 60),
        "it has a range"
    );
    machine.output(&given).trim().to_owned()
}

/// Connects the pods of a node to those of all others.
pub(super) fn connect(cluster: &RealCluster<'_>, node: &Node) {
    let own = range(cluster, node);
    let network = NETWORK.replace("RANGE", &own);
    // As network plugins do it: kubelet reads a whole file or none.
    node.machine.output(&format!(
        "mkdir -p /etc/cni/net.d && cat > /etc/cni/net.d/.new <<'EOF'\n{network}EOF\nmv /etc/cni/net.d/.new /etc/cni/net.d/10-routed.conflist"
    ));
    for peer in cluster.nodes().filter(|peer| peer.name() != node.name()) {
        let known = format!("{KUBECTL} get node {}", peer.name());
        if cluster.master().machine.holds(&known) {
            let theirs = range(cluster, peer);
            let route =
                |to: &str, by: &Node| format!("ip route replace {to} via {}", by.facts.address);
            node.machine.output(&route(&theirs, peer));
            peer.machine.output(&route(&own, node));
        }
    }
}
