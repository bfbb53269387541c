//! Links of Calico's pods that no route leads to: Felix removes what it has no endpoint of, and it has none of new pods where
//! the Typha that it hears no longer knows them.

use crate::checks::check::{Certainty, Finding};
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use quake_model::facts::{NetworkFacts, PodSeen};
use std::collections::BTreeSet;

/// What the kernel answers where a blackhole is the longest route (`fib_props`, `RTN_BLACKHOLE` is EINVAL). Calico makes one for
/// each block of addresses of the node.
const INTO_BLACKHOLE: &str = ": connect: invalid argument";

/// What Felix logs as it removes a route of which it knows no endpoint (projectcalico/calico, `felix/routetable`).
const REMOVED: &str = "Remove old route dest=";

/// What clients of Typha log (projectcalico/calico, `typha/pkg/syncclient` and `typha/pkg/discovery`).
const CONNECTED: &str = "Connected to Typha.";
const READY: &str = "Found ready Typha addresses.";

/// Pods of this node that have a link and no route, where that is more than a pod that is being made.
pub(super) fn unrouted(node: &Node<'_>) -> Option<Finding> {
    let network = node.survey().network.ok();
    let links: Vec<&str> = network.map(bare_links).unwrap_or_default();
    // A pod that just ended has no link any more, and its last probe may end so, too.
    let probe = unreached(node, network).filter(|_| !links.is_empty());
    let removed = removed(node, network, &links);
    // A link alone may be of a pod that is being made.
    if probe.is_none() && (links.is_empty() || links.len() < 2 && removed.is_empty()) {
        return None;
    }
    let probed = probe.map(|(_, address)| address);
    let addresses: BTreeSet<&str> = removed.iter().copied().chain(probed).collect();
    let addresses: Vec<&str> = addresses.into_iter().collect();
    let of_which = match addresses.is_empty() {
        true => format!("with the links {}", links.join(", ")),
        false => format!("({})", addresses.join(", ")),
    };
    let felix = felix(node);
    let finding = match felix.and_then(|pod| Some((pod, stale_typha(pod)?))) {
        Some((pod, typha)) => of_typha(pod, &typha, &of_which),
        None => of_felix(felix, &of_which),
    };
    let finding = match links.is_empty() {
        true => finding,
        false => finding.seen("links without route", links.join(", ")),
    };
    let finding = match probe {
        Some((line, _)) => finding.seen("kubelet", quote(line, 300)),
        None => finding,
    };
    let last = felix.and_then(|pod| pod.log.iter().rfind(|line| line.contains(REMOVED)));
    Some(match last {
        Some(line) => finding.seen("Felix", quote(line, 300)),
        None => finding,
    })
}

/// The links of Calico's pods that are up and that no route leads by; none where no link has one, for which
/// `policy::lost` knows another cause.
fn bare_links(network: &NetworkFacts) -> Vec<&str> {
    let is_of_pod = |name: &str| name.len() > 8 && name.starts_with("cali");
    let leads = |name: &str| {
        let mut routes = network.routes.iter();
        routes.any(|route| route.interface == name && !route.destination.starts_with("fe80:"))
    };
    let links = network.links.iter();
    let links = links.filter(|link| link.up && is_of_pod(&link.name));
    let (routed, bare): (Vec<&str>, Vec<&str>) = links
        .map(|link| link.name.as_str())
        .partition(|name| leads(name));
    match routed.is_empty() {
        true => Vec::new(),
        false => bare,
    }
}

/// Kubelet's latest probe that ended in the blackhole, and the address. No route of this address alone is there.
fn unreached<'a>(node: &Node<'a>, network: Option<&NetworkFacts>) -> Option<(&'a str, &'a str)> {
    let lines = node.journal("kubelet.service").iter().rev();
    let mut late = lines.filter(|line| line.contains(INTO_BLACKHOLE) && is_late(line, node));
    late.find_map(|line| {
        let (before, _) = line.split_once(INTO_BLACKHOLE)?;
        let (_, address) = before.rsplit_once("dial tcp ")?;
        let (address, _) = address.rsplit_once(':')?;
        let address = address.trim_matches(['[', ']']);
        let is_of_host = address.starts_with("fe80:") || address.starts_with("127.");
        let is_bare = network.is_some_and(|network| !has_route(network, address));
        (is_bare && !is_of_host).then_some((line.as_str(), address))
    })
}

fn has_route(network: &NetworkFacts, address: &str) -> bool {
    let mut routes = network.routes.iter();
    routes.any(|route| route.destination.split('/').next() == Some(address))
}

/// The addresses of the routes to these links that Felix removed, and that are still missing.
fn removed<'a>(node: &Node<'a>, network: Option<&NetworkFacts>, links: &[&str]) -> Vec<&'a str> {
    let lines = felix(node).into_iter().flat_map(|pod| &pod.log);
    let found: BTreeSet<&str> = lines
        .filter_map(|line| {
            let (_, rest) = line.split_once(REMOVED)?;
            let address = rest.split(['/', ' ']).next()?;
            let is_of_link = links.iter().any(|link| rest.contains(link));
            let is_missing = !network.is_some_and(|network| has_route(network, address));
            (is_of_link && is_missing).then_some(address)
        })
        .collect();
    found.into_iter().collect()
}

fn felix<'a>(node: &Node<'a>) -> Option<&'a PodSeen> {
    node.pods().find(|pod| pod.container == "calico-node")
}

/// The Typha that Felix hears, and those that were ready when somebody on this node looked last.
struct Typha<'a> {
    heard: &'a str,
    ready: Vec<&'a str>,
    line: &'a str,
}

/// The Typha that Felix is connected to, where a later look found others alone.
fn stale_typha(pod: &PodSeen) -> Option<Typha<'_>> {
    let connected = |line: &String| line.contains(CONNECTED) && line.contains("felix/");
    let at = pod.log.iter().rposition(connected)?;
    let heard = *addresses(&pod.log[at]).first()?;
    let line = pod.log[at..].iter().rfind(|line| line.contains(READY))?;
    let ready = addresses(line);
    let is_gone = !ready.is_empty() && !ready.contains(&heard);
    is_gone.then_some(Typha { heard, ready, line })
}

/// The addresses with ports that a line of a client of Typha names.
fn addresses(line: &str) -> Vec<&str> {
    let parts = line.split("Addr:\"").skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

fn of_typha(pod: &PodSeen, typha: &Typha<'_>, of_which: &str) -> Finding {
    let (heard, ready) = (typha.heard, typha.ready.join(", "));
    let host = heard.rsplit_once(':').map_or(heard, |(host, _)| host);
    let (namespace, name) = (&pod.namespace, &pod.name);
    Finding::new(
        format!("Felix has no routes to new pods {of_which} and removes them: it hears only the Typha {heard}, which is no longer among the ready ones ({ready}) and does not tell it of new pods"),
        format!("kubectl -n {namespace} delete pod {name}: the new one connects to a ready Typha, and the pods have routes again; then end the Typha at {host}, which other nodes may hear, too: kubectl get pods -A -l k8s-app=calico-typha -o wide, and look at that host (aws ec2 describe-instances --filters Name=private-ip-address,Values={host})"),
    )
    .by(Certainty::Likely)
    .seen("ready Typhas", quote(typha.line, 400))
}

fn of_felix(felix: Option<&PodSeen>, of_which: &str) -> Finding {
    let restart = match felix {
        Some(pod) => format!(
            "kubectl -n {0} logs {1} -c calico-node | grep -e route_table -e Typha -e 'Local endpoint' shows what Felix knows of them; kubectl -n {0} delete pod {1} makes it read all endpoints anew",
            pod.namespace, pod.name
        ),
        None => "look why calico-node does not run here: it writes the routes".to_owned(),
    };
    Finding::new(
        format!("no route leads to pods of this node {of_which}: packets to them end in the blackhole of the node's block of addresses"),
        format!("{restart}; ip route get ADDRESS of the pod shows it"),
    )
    .by(Certainty::Likely)
}

#[cfg(test)]
mod tests {
    use super::unrouted;
    use crate::checks::node::Node;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::{LinkFacts, NetworkFacts, RouteFacts, Seen};

    fn link(name: &str) -> LinkFacts {
        LinkFacts {
            index: 7,
            name: name.to_owned(),
            mac: String::new(),
            mtu: 8981,
            up: true,
            addresses: Vec::new(),
        }
    }

    fn with_links(routed: &[(&str, &str)]) -> Sample {
        let mut node = Sample::worker();
        let routes = routed.iter().map(|(destination, interface)| RouteFacts {
            destination: (*destination).to_owned(),
            gateway: None,
            interface: (*interface).to_owned(),
        });
        node.survey.network = Seen::Yes(NetworkFacts {
            links: vec![link("cali7e1f0ad2b90"), link("cali0c4de19b7a5")],
            routes: routes.collect(),
        });
        node
    }

    const OLD: (&str, &str) = ("100.97.12.66/32", "cali7e1f0ad2b90");

    #[test]
    fn a_typha_that_is_not_ready_any_more_is_why_new_pods_have_no_routes() {
        let mut node = with_links(&[OLD]);
        assert_eq!(unrouted(&Node::new(&node.survey)), None);
        let log = [
            "2026-11-21 01:48:46.903 [INFO][61] felix/sync_client.go 240: Connected to Typha. address=discovery.Typha{Addr:\"10.0.0.57:5473\", IP:\"10.0.0.57\"} connID=0x0 type=\"\"",
            "2026-11-21 03:06:12.204 [INFO][61] felix/route_table.go 936: Remove old route dest=100.97.12.71/32 ifaceName=\"cali0c4de19b7a5\" ifaceRegex=\"^cali.*\"",
            "2026-11-21 03:18:30.133 [INFO][64] confd/discovery.go 260: Found ready Typha addresses. addresses=[]discovery.Typha{discovery.Typha{Addr:\"10.0.0.42:5473\", IP:\"10.0.0.42\"}}",
        ];
        node.pod("calico-node", "running").log =
            log.iter().map(|line| (*line).to_owned()).collect();
        let found = unrouted(&Node::new(&node.survey)).expect("a finding");
        assert!(found.summary.contains("10.0.0.57:5473"), "{found:?}");
        assert!(found.summary.contains("100.97.12.71"), "{found:?}");
        let other = ("100.97.12.71/32", "cali0c4de19b7a5");
        let routed = with_links(&[OLD, other]);
        assert_eq!(unrouted(&Node::new(&routed.survey)), None);
    }

    #[test]
    fn a_probe_that_ends_in_a_blackhole_is_never_silent() {
        let mut node = with_links(&[OLD]);
        node.journal(
            "kubelet.service",
            &["I1121 03:20:16.220114 1201 prober.go:111] \"Probe failed\" output=\"Get \\\"http://100.97.12.72:8080/healthz\\\": dial tcp 100.97.12.72:8080: connect: invalid argument\""],
        );
        let found = unrouted(&Node::new(&node.survey)).expect("a finding");
        assert!(found.summary.contains("100.97.12.72"), "{found:?}");
    }
}
