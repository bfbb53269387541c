//! The interface `lo`, over which the programs of a host reach each other (projectcalico/calico issue 4257).

use crate::checks::check::Finding;
use quake_model::facts::NetworkFacts;

/// The finding where it is down.
pub(super) fn down(network: &NetworkFacts) -> Option<Finding> {
    let loopback = network.links.iter().find(|link| link.name == "lo")?;
    (!loopback.up).then(|| {
        Finding::new(
            "the interface lo is down: nothing on the host reaches 127.0.0.1, such as kubelet's health check and the probes of calico-node",
            "ip link set lo up; find who took it down: journalctl -b -u systemd-networkd -u NetworkManager, and scripts of the image",
        )
    })
}
