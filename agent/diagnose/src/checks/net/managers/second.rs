//! Second interfaces, which the pod network attached and sets up itself, in the hands of the image's network service.

use super::has_vpc_cni;
use crate::checks::check::{Certainty, Finding};
use crate::checks::node::Node;
use quake_formats::yaml;
use quake_model::time::Timestamp;

/// Whether the pod network makes rules of its own for second interfaces: the VPC CNI, and Cilium, which may do so (ENI mode).
fn attaches(node: &Node<'_>) -> bool {
    let expected = node.expected().ok();
    let is_cilium = expected.is_some_and(|expected| expected.network.name.starts_with("cilium"));
    has_vpc_cni(node) || is_cilium
}

/// The interface of the instance itself.
fn primary<'a>(node: &Node<'a>) -> Option<&'a str> {
    Some(node.survey().network.ok()?.primary()?.name.as_str())
}

fn is_ethernet(name: &str) -> bool {
    name.starts_with("ens") || name.starts_with("eth") || name.starts_with("enp")
}

/// What amazon-ec2-net-utils wrote for another interface (amazonlinux/amazon-ec2-net-utils issue 100).
pub(super) fn files_of_net_utils(node: &Node<'_>) -> Option<Finding> {
    const START: &str = "/run/systemd/network/70-";
    if !attaches(node) {
        return None;
    }
    let primary = primary(node)?;
    let mut paths = node.survey().texts.keys();
    let (path, name) = paths.find_map(|path| {
        let name = path.strip_prefix(START)?.split('.').next()?;
        (is_ethernet(name) && name != primary).then_some((path, name))
    })?;
    Some(Finding::new(
        format!(
            "{path} is of amazon-ec2-net-utils: it gives {name}, which the pod network attached, addresses, routes and rules of its own, and packets of pods take them"
        ),
        format!(
            "systemctl mask --now policy-routes@.service refresh-policy-routes@.service refresh-policy-routes@.timer; rm {path}; take amazon-ec2-net-utils out of the image; reboot"
        ),
    ))
}

/// What cloud-init wrote to netplan for an interface that was attached later (kubernetes/kops issue 17881).
pub(super) fn in_netplan(node: &Node<'_>) -> Option<Finding> {
    if !attaches(node) {
        return None;
    }
    let primary = primary(node)?;
    let texts = node.survey().texts.iter();
    let mut files =
        texts.filter(|(path, _)| path.starts_with("/etc/netplan/") && path.contains("cloud-init"));
    let (path, name) = files.find_map(|(path, text)| {
        let document = yaml::parse(path, text.ok()?).ok()?;
        let links = document.get("network")?.get("ethernets")?.entries();
        let mut names = links.iter().map(|(key, _)| key.name.clone());
        let other = names.find(|name| is_ethernet(name) && name != primary)?;
        Some((path, other))
    })?;
    Some(Finding::new(
        format!(
            "{path} names {name}, which the pod network attached: cloud-init gave it an address and a default route, and answers of pods leave by the wrong interface"
        ),
        format!(
            "printf 'updates:\\n  network:\\n    when: []\\n' >/etc/cloud/cloud.cfg.d/99-disable-network-hotplug.cfg; take {name} out of {path}; reboot; put the first file into the image"
        ),
    ))
}

/// systemd-networkd that started anew after the boot: it removes rules that it did not make (networkd.conf(5),
/// `ManageForeignRoutingPolicyRules=`; kubernetes/kops issue 17433).
pub(super) fn restarted(node: &Node<'_>) -> Option<Finding> {
    const AFTER_MS: u64 = 10 * 60_000;
    if !attaches(node) {
        return None;
    }
    let networkd = node.unit("systemd-networkd.service").ok()??;
    let started = Timestamp(networkd.main_started_us / 1000);
    let booted = node.record().ok()?.started;
    if started.0 < booted.0.saturating_add(AFTER_MS) {
        return None;
    }
    let mut texts = node.survey().texts.iter();
    let leaves_rules = |text: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.any(|line| {
            matches!(
                line,
                "ManageForeignRoutingPolicyRules=no" | "ManageForeignRoutingPolicyRules=false"
            )
        })
    };
    let is_set = texts.any(|(path, text)| {
        path.contains("/systemd/networkd.conf") && text.ok().is_some_and(|text| leaves_rules(text))
    });
    (!is_set).then(|| {
        Finding::new(
            format!("systemd-networkd started anew at {started}, after the boot, and removes rules that it did not make: pods that ran before may have none any more (ip rule)"),
            "printf '[Network]\\nManageForeignRoutes=no\\nManageForeignRoutingPolicyRules=no\\n' >/etc/systemd/networkd.conf.d/99-pods.conf (mkdir -p its directory first); systemctl restart systemd-networkd; then delete the pods of this node, the one of the pod network first; grep systemd /var/log/apt/history.log shows the upgrade: apt-mark hold systemd, or updatePolicy: external in kops edit cluster",
        )
        .by(Certainty::Likely)
    })
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::{Sample, TAKEN};
    use crate::checks::surveyed::unit;
    use quake_model::facts::{ActiveState, LinkFacts, NetworkFacts, RouteFacts, Seen};
    use quake_model::time::Timestamp;

    const ID: &str = "net.managers";

    fn of_cilium() -> Sample {
        let mut node = Sample::worker();
        node.expected().network.name = "cilium".to_owned();
        let link = |name: &str| LinkFacts {
            index: 2,
            name: name.to_owned(),
            mac: String::new(),
            mtu: 9001,
            up: true,
            addresses: Vec::new(),
        };
        let route = RouteFacts {
            destination: "default".to_owned(),
            gateway: Some("10.0.0.1".to_owned()),
            interface: "ens5".to_owned(),
        };
        node.survey.network = Seen::Yes(NetworkFacts {
            links: vec![link("ens5"), link("ens6")],
            routes: vec![route],
        });
        node
    }

    #[test]
    fn files_for_a_second_interface_are_of_harm_and_those_of_the_first_are_not() {
        for (path, text, says) in [
            (
                "/run/systemd/network/70-IF.network",
                "[Match]\n",
                "amazon-ec2-net-utils",
            ),
            (
                "/etc/netplan/50-cloud-init.yaml",
                "network:\n  version: 2\n  ethernets:\n    IF:\n      dhcp4: true\n",
                "99-disable-network-hotplug.cfg",
            ),
        ] {
            for (name, status) in [("ens6", Status::Warn), ("ens5", Status::Ok)] {
                let mut node = of_cilium();
                node.text(&path.replace("IF", name), &text.replace("IF", name));
                node.assert(
                    ID,
                    status,
                    if status == Status::Warn { says } else { "none" },
                );
            }
        }
    }

    #[test]
    fn a_networkd_that_starts_anew_may_leave_the_rules_of_others() {
        let mut node = of_cilium();
        node.record().started = Timestamp(TAKEN.0 - 86_400_000);
        let mut networkd = unit("systemd-networkd.service", ActiveState::Active);
        networkd.main_started_us = (TAKEN.0 - 3_600_000) * 1000;
        if let Seen::Yes(units) = &mut node.survey.units {
            units.push(networkd);
        }
        node.assert(ID, Status::Warn, "started anew");
        node.text(
            "/etc/systemd/networkd.conf.d/10-cni.conf",
            "[Network]\nManageForeignRoutingPolicyRules=no\n",
        );
        node.assert(ID, Status::Ok, "none");
    }
}
