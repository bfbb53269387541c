//! Configuration of the network that an image kept of the instance that it was baked from.

use crate::checks::check::Finding;
use crate::checks::node::Node;

/// Where interfaces are configured by their hardware address: netplan, systemd-networkd, udev and ifcfg.
const PLACES: &[&str] = &[
    "/etc/netplan/",
    "/etc/systemd/network/",
    "/etc/udev/rules.d/70-persistent-net.rules",
    "/etc/sysconfig/network-scripts/ifcfg-",
];

/// The finding where a file names a hardware address that no interface of this host has.
pub(super) fn of_another(node: &Node<'_>) -> Option<Finding> {
    let network = node.survey().network.ok()?;
    let is_own = |mac: &str| {
        network
            .links
            .iter()
            .any(|link| link.mac.eq_ignore_ascii_case(mac))
    };
    let texts = node.survey().texts.iter();
    let mut files = texts.filter(|(path, _)| PLACES.iter().any(|place| path.starts_with(place)));
    let (path, mac) = files.find_map(|(path, text)| {
        let lines = text
            .ok()?
            .lines()
            .filter(|line| !line.trim().starts_with('#'));
        let mut macs = lines.flat_map(|line| line.split(|c: char| !is_of_mac(c)));
        let mac = macs.find(|word| is_mac(word) && !is_own(word))?;
        Some((path, mac))
    })?;
    let own = network.links.iter().find(|link| is_mac(&link.mac));
    let own = own.map_or("another one", |link| link.mac.as_str());
    Some(Finding::new(
        format!(
            "{path} is of another instance: it configures the interface {mac}, and this host has {own}, which gets no address"
        ),
        format!(
            "rm {path}; cloud-init clean --logs; reboot; make the image with both, and without network: {{config: disabled}} in /etc/cloud/cloud.cfg.d"
        ),
    ))
}

fn is_of_mac(c: char) -> bool {
    c.is_ascii_hexdigit() || c == ':'
}

fn is_mac(word: &str) -> bool {
    let parts: Vec<&str> = word.split(':').collect();
    parts.len() == 6 && parts.iter().all(|part| part.len() == 2)
}
