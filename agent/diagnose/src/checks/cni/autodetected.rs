//! The address that Calico takes for the node's when it looks for one itself.

use crate::checks::check::{Certainty, Finding};
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::{LinkFacts, PodSeen};

/// What calico-node says of an address that another node has (projectcalico/calico, `node/pkg/lifecycle/startup`).
const TAKEN: &str = "is already using the IPv4 address ";

/// The finding where calico-node took the address of another interface than the machine's own, which other nodes have, too.
/// `how` says how its container ended, and `more` where its log is.
pub(super) fn of_another_interface(
    node: &Node<'_>,
    pod: &PodSeen,
    how: &str,
    more: &str,
) -> Option<Finding> {
    let mut lines = pod.log.iter().rev();
    let line = lines.find(|line| line.contains(TAKEN))?;
    let (_, rest) = line.split_once(TAKEN)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    let address = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
    let network = node.survey().network.ok()?;
    let primary = network.primary()?;
    let holds = |link: &&LinkFacts| {
        let mut addresses = link.addresses.iter();
        addresses.any(|one| one.address == address)
    };
    let other = network.links.iter().find(holds)?;
    if other.name == primary.name {
        return None;
    }
    let (wrong, right) = (&other.name, &primary.name);
    let finding = Finding::new(
        format!(
            "{how}: Calico takes {address} of {wrong} for the address of this node, and another node has the same: it looks at the first interface that it finds"
        ),
        format!(
            "kops edit cluster: spec.networking.calico.ipv4AutoDetectionMethod: interface={right} (or skip-interface={wrong}, kubernetes-internal-ip), then kops update cluster --yes: kops-channels rolls calico-node; on this node alone: ip link set {wrong} down, where nothing needs it, and delete the pod; {more}"
        ),
    );
    let finding = finding
        .by(Certainty::Certain)
        .seen("log", shorten(line, 300));
    Some(finding.seen(
        "interface",
        format_args!("{wrong} has {address}, and the default route leaves by {right}"),
    ))
}
