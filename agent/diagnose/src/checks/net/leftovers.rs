//! `net.leftovers`: what an earlier mode of the cluster's network left on the host.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_model::facts::{AddressFacts, Unseen};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "net.leftovers",
    title: "no interface of Services has an address of something else, or is left of an earlier mode",
    severity: Severity::Warning,
    tags: &["network"],
    sources: &[Source::Network, Source::Files, Source::Names, Source::Reach],
    because: &[],
    why: "the host answers itself for the addresses that such an interface has",
    remedy: "ip link delete the interface, and reboot: a new node has none",
    judge,
}];

/// The interface that has the addresses of all Services where kube-proxy uses IPVS (cilium/cilium issue 20529).
const OF_IPVS: &str = "kube-ipvs0";

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let network = node.survey().network.get()?;
    let link = network.links.iter().find(|link| link.name == OF_IPVS);
    let Some(link) = link.filter(|link| !link.addresses.is_empty()) else {
        return Verdict::ok("there is none");
    };
    if let Some((address, name)) = foreign(node, &link.addresses) {
        return Finding::new(
            format!("this host answers itself for {address}, which {name} leads to: a Service has that address in externalIPs or in its status, and kube-proxy in IPVS mode gives it to {OF_IPVS}"),
            format!("take {address} out of externalIPs (or the status) of that Service from a control plane: kubectl get services -A -o wide | grep {address}; then here: ip addr del {address}/32 dev {OF_IPVS}; ipvsadm -Ln | grep {address} lists its virtual servers, ipvsadm -D -t {address}:PORT takes each away (or reboot): kube-proxy does so itself only when it reaches the API server again; forbid externalIPs (the admission plugin DenyServiceExternalIPs); certificates and DNS are right"),
        )
        .seen("addresses", format_args!("{OF_IPVS} has {address}"))
        .fail();
    }
    let manifests = node.survey().texts.iter().filter(|(path, _)| {
        path.starts_with("/etc/kubernetes/manifests/") && path.contains("kube-proxy")
    });
    let mut texts = manifests.filter_map(|(_, text)| text.ok());
    if texts.any(|text| text.contains("ipvs")) {
        return Verdict::ok("kube-proxy uses IPVS");
    }
    let addresses: Vec<&str> = link
        .addresses
        .iter()
        .map(|one| one.address.as_str())
        .collect();
    Finding::new(
        format!("{OF_IPVS} is left with the addresses of {} Services, and nothing uses IPVS any more: the host answers itself for them", addresses.len()),
        format!("ip link delete {OF_IPVS}; ipvsadm --clear; then restart the pod of kube-proxy or of the pod network, or replace the node"),
    )
    .seen("addresses", addresses.join(", "))
    .warn()
}

/// An address of the interface to which a name that the node needs leads, or a host that it connects to.
fn foreign<'a>(node: &Node<'a>, own: &[AddressFacts]) -> Option<(&'a str, &'a str)> {
    let names = node.survey().names.ok().into_iter().flatten();
    let names = names.flat_map(|seen| seen.addresses.iter().map(|it| (it.as_str(), &seen.name)));
    let hosts = node.survey().reach.ok().into_iter().flatten();
    let hosts = hosts.map(|seen| (seen.host.as_str(), &seen.host));
    let has = |address: &str| own.iter().any(|one| one.address == address);
    let mut all = names.chain(hosts);
    all.find(|(address, _)| has(address))
        .map(|(address, name)| (address, name.as_str()))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::{AddressFacts, LinkFacts, NetworkFacts, Seen};

    #[test]
    fn the_interface_of_ipvs_is_left_only_where_nothing_uses_it() {
        let mut node = Sample::worker();
        let address = AddressFacts {
            address: "100.64.0.10".to_owned(),
            prefix: 32,
        };
        let link = LinkFacts {
            index: 7,
            name: "kube-ipvs0".to_owned(),
            mac: String::new(),
            mtu: 1500,
            up: false,
            addresses: vec![address],
        };
        node.survey.network = Seen::Yes(NetworkFacts {
            links: vec![link],
            routes: Vec::new(),
        });
        node.assert("net.leftovers", Status::Warn, "ip link delete kube-ipvs0");
        let manifest = "/etc/kubernetes/manifests/kube-proxy.manifest";
        node.edit(manifest, "kind: Pod\n", "kind: Pod\n# --proxy-mode=ipvs\n");
        node.assert("net.leftovers", Status::Ok, "uses IPVS");
    }
}
