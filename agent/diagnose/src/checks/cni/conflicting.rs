//! Pods of another network that run beside the network's own: its `DaemonSet` was left when the cluster got a new network.

use super::configuration::candidates;
use crate::checks::node::Node;
use quake_model::facts::PodSeen;
use quake_model::pod_networks::{Network, of_file, of_pod};

/// Where the pods of networks run; one elsewhere only has a name like theirs.
const NAMESPACES: &[&str] = &["kube-system", "kube-flannel", "calico-system", "cilium"];

/// A pod of another network than `own`, and that network.
pub(super) fn conflicting_pod<'a>(
    node: &Node<'a>,
    own: &Network,
) -> Option<(&'a PodSeen, &'static Network)> {
    let mut running = node.pods().filter(|pod| pod.state == "running");
    running.find_map(|pod| {
        if !NAMESPACES.contains(&pod.namespace.as_str()) {
            return None;
        }
        let network = of_pod(&pod.name).filter(|other| other.word() != own.word())?;
        Some((pod, network))
    })
}

/// How the `DaemonSet` of a pod is deleted: while it is there, it makes anew what is taken away on the node.
pub(super) fn deletion(pod: &PodSeen) -> String {
    const SUFFIX: usize = 5;
    let parts = pod.name.rsplit_once('-');
    let set = parts.filter(|(_, suffix)| suffix.len() == SUFFIX);
    let (namespace, set) = (&pod.namespace, set.map_or(pod.name.as_str(), |it| it.0));
    format!(
        "kubectl -n {namespace} delete daemonset {set}: its pod {} runs here and brings back what is taken away",
        pod.name
    )
}

/// Whether a network has its VXLAN device on the node.
pub(super) fn has_device(node: &Node<'_>, network: &Network) -> bool {
    let facts = node.survey().network.ok();
    let has_vxlan = |name: &str| network.vxlan.is_some_and(|start| name.starts_with(start));
    facts.is_some_and(|facts| facts.links.iter().any(|link| has_vxlan(&link.name)))
}

/// The configuration files that a network left on the node, as a command.
pub(super) fn files_removed(node: &Node<'_>, network: &Network) -> Option<String> {
    let files = candidates(node).ok()?;
    let of_network = |name: &str| of_file(name).is_some_and(|it| it.word() == network.word());
    let left = files.iter().find(|file| of_network(file.name))?;
    Some(format!("rm {}", left.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_set_has_the_name_of_its_pod_without_the_suffix() {
        let pod = PodSeen {
            namespace: "kube-flannel".to_owned(),
            name: "kube-flannel-ds-vb8gd".to_owned(),
            ..PodSeen::default()
        };
        let words = "kubectl -n kube-flannel delete daemonset kube-flannel-ds:";
        assert!(deletion(&pod).starts_with(words));
    }
}
