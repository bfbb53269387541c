//! What the cloud controller and a pod network would do.

use super::members::{KUBECTL, Members, Node};
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
pub(super) fn admit(members: &Members<'_>, node: &Node) {
    let name = &node.name;
    let machine = &members.master().machine;
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
    members.kubectl(&format!(
        "patch node {name} --subresource=status --type=merge -p '{addresses}'"
    ));
    // It may be admitted already, when its instance was restarted.
    machine.output(&format!(
        "{KUBECTL} taint node {name} {UNINITIALIZED}- || :"
    ));
    connect(members, node);
}

/// Connects the pods of a node to those of all others.
pub(super) fn connect(members: &Members<'_>, node: &Node) {
    let own = members.range(node);
    let network = NETWORK.replace("RANGE", &own);
    // As network plugins do it: kubelet reads a whole file or none.
    node.machine.output(&format!(
        "mkdir -p /etc/cni/net.d && cat > /etc/cni/net.d/.new <<'EOF'\n{network}EOF\nmv /etc/cni/net.d/.new /etc/cni/net.d/10-routed.conflist"
    ));
    members.route(node);
}
