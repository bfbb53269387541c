//! Addresses of Services that nothing on this node translates, where a pod waits for the API server at one.

use super::ranges::cluster_ranges;
use crate::checks::check::{Certainty, Finding};
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::PodSeen;
use std::net::Ipv4Addr;

/// Containers that translate addresses of Services while they run.
const TRANSLATORS: &[&str] = &["kube-proxy", "cilium-agent", "kube-router", "antrea-agent"];

/// The finding where the host reaches the API server by its name, a pod does not by the address of its Service, and neither
/// kube-proxy nor what replaces it is here.
pub(super) fn by_nobody(node: &Node<'_>) -> Option<Finding> {
    let has_manifest = |path: &String| path.starts_with("/etc/kubernetes/manifests/kube-proxy");
    if node.survey().texts.keys().any(has_manifest) {
        return None;
    }
    let runs = |pod: &PodSeen| {
        pod.state == "running" && TRANSLATORS.iter().any(|name| pod.container.contains(name))
    };
    if node.pods().any(runs) {
        return None;
    }
    let ranges = cluster_ranges(node);
    let (pod, line, address) = node.pods().find_map(|pod| {
        let mut lines = pod.log.iter().rev();
        lines.find_map(|line| {
            let address = waited_for(line)?;
            // kops gives Services a part of 100.64.0.0/10, which not every node's files name.
            let is_of_services = ranges.iter().any(|(_, range)| range.holds(address))
                || address.octets()[..2] == [100, 64];
            (is_of_services && is_late(line, node)).then_some((pod, line, address))
        })
    })?;
    let host = node.api_server_host()?;
    let name = &pod.name;
    let (why, fix) = match name.starts_with("cilium") {
        true => (
            "Cilium is to replace it, and is not told another address: k8sServiceHost is not set",
            format!(
                "set k8sServiceHost={host} and k8sServicePort=443 in Cilium's values (helm upgrade --reuse-values), and its pods start by themselves; where kops brings Cilium: kops update cluster --yes writes both; or spec.kubeProxy.enabled: true in kops edit cluster, and a roll"
            ),
        ),
        false => (
            "the cluster's spec turns it off, or its manifest is gone",
            "spec.kubeProxy.enabled: true in kops edit cluster, kops update cluster --yes, and a roll of the group; or a pod network that replaces it (networking.cilium.enableNodePort: true); at once: systemctl restart quake-agent.service writes the manifest where the spec has it".to_owned(),
        ),
    };
    let finding = Finding::new(
        format!(
            "no kube-proxy runs on this node, so {address}, the Service of the API server, leads nowhere, and {name} waits for it in vain: {why}; the host itself reaches the API server"
        ),
        fix,
    );
    Some(
        finding
            .by(Certainty::Likely)
            .seen("log", shorten(line, 300)),
    )
}

/// The address that a line says does not answer on port 443, where it is the first of a range: of Services it is the API
/// server's.
fn waited_for(line: &str) -> Option<Ipv4Addr> {
    let before = match line.split_once(":443: i/o timeout") {
        Some((before, _)) => before,
        None => {
            line.split_once(":443/")
                .filter(|(_, after)| after.contains("imeout"))?
                .0
        }
    };
    let address = before
        .rsplit(|c: char| !c.is_ascii_digit() && c != '.')
        .next()?;
    let address: Ipv4Addr = address.parse().ok()?;
    (address.octets()[3] == 1).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::node_sample::Sample;

    #[test]
    fn without_kube_proxy_a_service_leads_nowhere() {
        let line = "Error: Get \"https://100.64.0.1:443/api/v1/namespaces/kube-system\": dial tcp 100.64.0.1:443: i/o timeout";
        for (container, is_found) in [("config", true), ("cilium-agent", false)] {
            let mut node = Sample::worker();
            node.survey.texts.clear();
            node.pods().clear();
            let pod = node.pod("cilium-7xk2m", "running");
            pod.container = container.to_owned();
            pod.log = vec![line.to_owned()];
            let found = by_nobody(&Node::new(&node.survey));
            assert_eq!(found.is_some(), is_found, "{container}");
        }
    }
}
