//! Packets that are too small, and which file of the host makes them so.

use crate::checks::check::Finding;
use crate::checks::node::Node;

/// Where settings of interfaces are, and how each kind of file begins the line with the size: systemd.network(5) and
/// systemd.link(5), netplan, and those of the network scripts and of ifupdown.
const PLACES: &[(&str, &str)] = &[
    ("/etc/systemd/network/", "MTUBytes="),
    ("/run/systemd/network/", "MTUBytes="),
    ("/usr/lib/systemd/network/", "MTUBytes="),
    ("/etc/netplan/", "mtu:"),
    ("/etc/sysconfig/network-scripts/", "MTU="),
    ("/etc/NetworkManager/", "mtu="),
    ("/etc/network/interfaces", "mtu "),
    ("/etc/dhcp/", "supersede interface-mtu"),
];

/// The file that sets the size for an interface, and its line; of several one that names the interface.
fn setter<'a>(node: &Node<'a>, interface: &str) -> Option<(&'a str, &'a str)> {
    let texts = node.survey().texts.iter();
    let found = texts.filter_map(|(path, text)| {
        let (_, key) = PLACES.iter().find(|(place, _)| path.starts_with(place))?;
        let text = text.ok()?;
        let line = text
            .lines()
            .map(str::trim)
            .find(|line| line.starts_with(key))?;
        let names = text.contains(interface) || path.contains(interface);
        Some((names, path.as_str(), line))
    });
    let (_, path, line) = found.max_by_key(|(names, ..)| *names)?;
    Some((path, line))
}

/// The finding of an interface whose packets are smaller than Ethernet's.
pub(super) fn small(node: &Node<'_>, name: &str, most: u32) -> Finding {
    let summary = format!("{name} takes packets of {most} bytes, less than Ethernet's 1500");
    let at_once = format!("ip link set {name} mtu 9001 (1500 outside of a VPC)");
    match setter(node, name) {
        Some((path, line)) => Finding::new(
            format!("{summary}: {path} sets {line}"),
            format!("take {line} out of {path}, then: networkctl reload, or reboot; at once: {at_once}; pods that run keep their size until they are made anew"),
        )
        .seen(path, line),
        None => Finding::new(
            summary,
            format!("{at_once}; find who sets it: grep -ri mtu /etc/systemd/network /run/systemd/network /etc/netplan /etc/sysconfig/network-scripts /etc/dhcp; an option interface-mtu of DHCP does it too"),
        ),
    }
}
