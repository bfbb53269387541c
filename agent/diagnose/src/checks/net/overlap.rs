//! A range of pods that holds the addresses of the hosts themselves: the pod network's route takes what is meant for them.

use super::range::Range;
use crate::checks::check::Finding;
use crate::checks::node::Node;

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
    (
        "vxlan.calico",
        "spec.cidr of Calico's IPPool: kubectl get ippools; a new pool, and the old one disabled",
    ),
    (
        "tunl0",
        "spec.cidr of Calico's IPPool: kubectl get ippools; a new pool, and the old one disabled",
    ),
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
    use quake_model::facts::RouteFacts;

    #[test]
    fn a_range_of_pods_that_holds_the_host_takes_its_packets() {
        let mut node = Sample::worker();
        let own = node.survey.network.ok().expect("it is there").clone();
        let primary = own.primary().expect("it has a route").clone();
        let host = &primary.addresses[0].address;
        for (destination, status) in [
            (format!("{host}/24"), Status::Fail),
            (format!("{host}/32"), Status::Ok),
            ("100.96.4.0/24".to_owned(), Status::Ok),
        ] {
            let mut network = own.clone();
            network.routes.push(RouteFacts {
                destination,
                gateway: None,
                interface: "cilium_host".to_owned(),
            });
            node.survey.network = quake_model::facts::Seen::Yes(network);
            let report = node.judge("net.ranges");
            assert_eq!(report.status, status, "{}", report.note);
        }
    }
}
