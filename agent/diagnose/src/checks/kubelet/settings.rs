//! `kubelet.settings`: settings of kubelet that are valid, and contradict the node.

use super::flags::flags;
use crate::checks::check::{Finding, Verdict};
use crate::checks::kubelet_config::{
    cluster_dns, kubelet_configuration, kubelet_flag, kubelet_key,
};
use crate::checks::node::Node;
use crate::checks::stage;
use quake_model::facts::Unseen;
use std::net::Ipv4Addr;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    flags(node)?;
    let registers = set(node, "register-node", "registerNode");
    if registers.as_deref() == Some("false") {
        return Finding::new(
            "kubelet is told not to register its node (registerNode: false)",
            format!("take --register-node out of /etc/sysconfig/kubelet, and registerNode out of {} and /etc/kubernetes/kubelet.conf.d; systemctl restart kubelet.service", kubelet_configuration(node)),
        )
        .fail();
    }
    let manifests = set(node, "pod-manifest-path", "staticPodPath");
    let wanted = expected.manifest_directory.trim_end_matches('/');
    let other = manifests.filter(|path| path.trim_end_matches('/') != wanted);
    if let Some(path) = other.filter(|_| !expected.static_pods.is_empty() && !wanted.is_empty()) {
        return Finding::new(
            format!("kubelet runs static pods from {path}, and the node's are in {wanted}"),
            format!("set staticPodPath: {wanted} in {}, or take the setting out of /etc/kubernetes/kubelet.conf.d; systemctl restart kubelet.service", kubelet_configuration(node)),
        )
        .fail();
    }
    match without_name_server(node) {
        Some(finding) => node.fail_after_boot(finding),
        None => Verdict::ok("none contradicts the node"),
    }
}

/// A setting of kubelet, by its flag or by the key of its configuration.
fn set(node: &Node<'_>, flag: &str, key: &str) -> Option<String> {
    kubelet_flag(node, flag).or_else(|| kubelet_key(node, key))
}

/// Pods that are given a name server of this host on which nothing answers: node-local-dns is turned on, and its pod or its
/// interface is not there.
fn without_name_server(node: &Node<'_>) -> Option<Finding> {
    let address = cluster_dns(node)?;
    let is_local = address
        .parse::<Ipv4Addr>()
        .is_ok_and(|it| it.is_link_local());
    let listeners = node.survey().listeners.ok().filter(|_| is_local)?;
    let network = node.survey().network.ok()?;
    let mut links = network.links.iter().flat_map(|link| &link.addresses);
    let mut answering = listeners.iter().filter(|one| one.port == 53);
    let answers = answering
        .any(|one| matches!(one.address.as_str(), "0.0.0.0" | "::") || one.address == address);
    let has_address = links.any(|one| one.address == address);
    let lacks = match (has_address, answers) {
        (_, true) => return None,
        (true, false) => "nothing listens there",
        (false, false) => "no interface has the address",
    };
    Some(Finding::new(
        format!(
            "pods of this node have the name server {address}, and {lacks}: node-local-dns does not run"
        ),
        "look at its pod: /var/log/pods/kube-system_node-local-dns-*/*/*.log; without it set kubeDNS.nodeLocalDNS.enabled: false in the cluster spec, and roll the group; Cilium in place of kube-proxy needs a local redirect policy for it",
    ))
}
