//! A range of pods that holds the addresses of the hosts themselves: the pod network's route takes what is meant for them.

use super::range::Range;
use crate::checks::check::Finding;
use crate::checks::node::Node;

/// Where Calico has the range of pods.
const POOL: &str =
    "spec.cidr of Calico's IPPool: kubectl get ippools; a new pool, and the old one disabled";

/// Interfaces of pod networks over which routes to pods lead, and where their range is set.
const INTERFACES: &[(&str, &str)] = &[
    (
        "cilium_",
        "Cilium's values: ipam.mode=kubernetes, which takes the ranges of kops (spec.podCIDR), or ipam.operator.clusterPoolIPv4PodCIDRList with a range that the VPC has not (its default is 10.0.0.0/8); restart cilium-operator, kubectl delete ciliumnodes --all, so that it gives new ranges",
    ),
    (
        "flannel",
        "Network in net-conf.json of the ConfigMap kube-flannel-cfg, which must be spec.podCIDR of the cluster",
    ),
    ("vxlan.calico", POOL),
    ("tunl0", POOL),
    ("cni0", "the subnet in the file of /etc/cni/net.d"),
    ("cbr0", "spec.podCIDR (nonMasqueradeCIDR) of the cluster"),
];

/// The finding where a route of the pod network holds the address of the host's own interface.
pub(super) fn of_hosts(node: &Node<'_>) -> Option<Finding> {
    const HOST: u8 = 31;
    let network = node.survey().network.ok()?;
    let primary = network.primary()?;
    let own = || {
        let addresses = primary.addresses.iter();
        addresses.filter_map(|one| one.address.parse().ok())
    };
    let (route, range, set) = network.routes.iter().find_map(|route| {
        let (_, set) = INTERFACES
            .iter()
            .find(|(start, _)| route.interface.starts_with(start))?;
        let range = Range::read(&route.destination)?;
        let is_wide = range.prefix() > 0 && range.prefix() < HOST;
        let holds = own().any(|address| range.holds(address));
        (is_wide && holds).then_some((route, range, *set))
    })?;
    let interface = &route.interface;
    let finding = Finding::new(
        format!(
            "pods of this node have the range {range}, which the host itself is in ({} has its address): the route over {interface} takes what is meant for other nodes, the API server and the name server",
            primary.name
        ),
        format!(
            "give pods a range that does not overlap the VPC's: {set}; on this node at once: ip route del {range} dev {interface}, and the same for other ranges of the VPC over {interface}; then restart the pod of the pod network and the pods of the node, or replace it"
        ),
    );
    Some(finding.seen("route", format_args!("{range} dev {interface}")))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::{AddressFacts, LinkFacts, NetworkFacts, RouteFacts, Seen};

    #[test]
    fn a_range_of_pods_that_holds_the_host_takes_its_packets() {
        let link = LinkFacts {
            index: 2,
            name: "ens5".to_owned(),
            mac: "02:00:00:00:00:10".to_owned(),
            mtu: 9001,
            up: true,
            addresses: vec![AddressFacts {
                address: "10.0.1.7".to_owned(),
                prefix: 24,
            }],
        };
        let route = |destination: &str, interface: &str| RouteFacts {
            destination: destination.to_owned(),
            gateway: None,
            interface: interface.to_owned(),
        };
        for (destination, status) in [
            ("10.0.1.0/24", Status::Fail),
            ("10.0.1.7/32", Status::Ok),
            ("100.96.4.0/24", Status::Ok),
        ] {
            let mut node = Sample::worker();
            node.survey.network = Seen::Yes(NetworkFacts {
                links: vec![link.clone()],
                routes: vec![route("default", "ens5"), route(destination, "cilium_host")],
            });
            let report = node.judge("net.ranges");
            assert_eq!(report.status, status, "{}", report.note);
        }
    }
}
