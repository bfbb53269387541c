//! `net.managers`: programs of the image that set up network interfaces, and the links of pods with them.

mod second;

use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::{ActiveState, Unseen};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "net.managers",
    title: "no network program of the image sets up the links and routes of pods",
    severity: Severity::Warning,
    tags: &["network", "pods"],
    sources: &[Source::Files, Source::Units, Source::Journals],
    because: &["net.links"],
    why: "it takes addresses, routes or rules of pods away, or gives their links another MAC address, so that pods of this node do not answer",
    remedy: "turn the program off, or tell it to leave the links of pods alone; then restart the pod of the pod network",
    judge,
}];

/// How the links of pods and of pod networks are called.
const OF_PODS: &[&str] = &[
    "cali", "cilium_", "cni", "eni", "flannel", "lxc", "tunl", "veth", "vxlan", "weave",
];

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let found = cloud_setup(node)
        .or_else(|| policy_routes(node))
        .or_else(|| second::files_of_net_utils(node))
        .or_else(|| second::in_netplan(node))
        .or_else(|| second::restarted(node))
        .or_else(|| managed(node))
        .or_else(|| addresses(node));
    match found {
        Some(finding) => finding.warn(),
        None => Verdict::ok("none is known to do so"),
    }
}

/// The names of units that run or start at the boot, of those that begin so.
fn running<'a>(node: &Node<'a>, start: &str) -> Vec<&'a str> {
    let units = node.survey().units.ok().into_iter().flatten();
    let own = units.filter(|unit| unit.found && unit.name.starts_with(start));
    let on = own.filter(|unit| unit.active == ActiveState::Active || unit.enabled);
    on.map(|unit| unit.name.as_str()).collect()
}

/// NetworkManager's helper for clouds, which gives each secondary address a rule and a table of its own (`nm-cloud-setup(8)`).
fn cloud_setup(node: &Node<'_>) -> Option<Finding> {
    let units = running(node, "nm-cloud-setup.");
    let unit = units.first()?;
    Some(
        Finding::new(
            format!(
                "{unit} is on: nm-cloud-setup writes rules and routes for every address of the instance, and packets of pods take them"
            ),
            "systemctl disable --now nm-cloud-setup.timer nm-cloud-setup.service; ip rule shows its rules (priority 30200 to 30400): ip rule del each; reboot; take the package NetworkManager-cloud-setup out of the image",
        )
        .seen("units", units.join(", ")),
    )
}

/// Whether the pods of Amazon's VPC CNI run here, or its configuration is there.
fn has_vpc_cni(node: &Node<'_>) -> bool {
    let expected = node.expected().ok();
    let is_expected = expected.is_some_and(|expected| expected.network.name == "amazonvpc");
    let has_file = node
        .survey()
        .texts
        .contains_key("/etc/cni/net.d/10-aws.conflist");
    is_expected || has_file || node.pods().any(|pod| pod.name.starts_with("aws-node"))
}

/// Amazon's own helper for interfaces (`amazon-ec2-net-utils`), where the VPC CNI attached them.
fn policy_routes(node: &Node<'_>) -> Option<Finding> {
    let primary = node.survey().network.ok()?.primary()?.name.clone();
    let units = running(node, "policy-routes@");
    let other = |unit: &&&str| !unit.starts_with(&format!("policy-routes@{primary}."));
    let unit = units.iter().find(other).filter(|_| has_vpc_cni(node))?;
    Some(
        Finding::new(
            format!(
                "{unit} runs: amazon-ec2-net-utils gives the interfaces that the VPC CNI attached rules and routes of its own"
            ),
            format!(
                "systemctl disable --now {unit} refresh-policy-routes@*.timer; take amazon-ec2-net-utils out of the image, or mask policy-routes@.service; ip rule shows what it left; reboot"
            ),
        )
        .seen("units", units.join(", ")),
    )
}

/// NetworkManager, where it says itself that it manages links of pods.
fn managed(node: &Node<'_>) -> Option<Finding> {
    let is_unmanaged = |text: &str| text.contains("unmanaged-devices");
    let texts = node.survey().texts.iter();
    let mut own = texts.filter(|(path, _)| path.starts_with("/etc/NetworkManager/"));
    if own.any(|(_, text)| text.ok().is_some_and(|text| is_unmanaged(text))) {
        return None;
    }
    let line = node
        .journal("NetworkManager.service")
        .iter()
        .rev()
        .find(|line| {
            let device = line.split_once("device (").map_or("", |(_, rest)| rest);
            let takes = line.contains("unmanaged ->") || line.contains("'managed'");
            takes && OF_PODS.iter().any(|start| device.starts_with(start))
        })?;
    Some(
        Finding::new(
            "NetworkManager manages the links of pods, and takes their addresses and routes away",
            "printf '[keyfile]\\nunmanaged-devices=interface-name:cali*;interface-name:tunl*;interface-name:vxlan*;interface-name:lxc*;interface-name:cilium*;interface-name:eni*;interface-name:veth*;interface-name:flannel*\\n' > /etc/NetworkManager/conf.d/pods.conf; systemctl restart NetworkManager; then delete the pod of the pod network on this node",
        )
        .by(Certainty::Likely)
        .seen("journal", shorten(line, 300)),
    )
}

/// udev, which gives a link without an address of its own one that it derives (systemd.link(5), `MACAddressPolicy=`). The VPC
/// CNI writes the first address into the ARP table of the pod (aws/amazon-vpc-cni-k8s, issue 2103).
fn addresses(node: &Node<'_>) -> Option<Finding> {
    if !has_vpc_cni(node) {
        return None;
    }
    let (path, _) = link_file(node).filter(|(_, text)| {
        let mut lines = text.lines().map(str::trim);
        lines.any(|line| line == "MACAddressPolicy=persistent")
    })?;
    let name = path.rsplit('/').next().unwrap_or_default();
    let copy = match path.starts_with("/etc/") {
        true => String::new(),
        false => format!("cp {path} /etc/systemd/network/{name}; "),
    };
    Some(Finding::new(
        format!(
            "{path} has MACAddressPolicy=persistent: udev changes the MAC address of each pod's link after the VPC CNI wrote it down, and pods are not reached"
        ),
        format!(
            "{copy}set MACAddressPolicy=none in /etc/systemd/network/{name}; udevadm control --reload; then drain the node and reboot it: links that exist keep their address"
        ),
    ))
}

/// The file of links that counts for a link of a pod: of all by name the first whose match fits, and of one name that in `/etc`.
fn link_file<'a>(node: &Node<'a>) -> Option<(&'a str, &'a str)> {
    let texts = node.survey().texts.iter();
    let mut files: Vec<(&str, &str)> = texts
        .filter(|(path, _)| path.contains("/systemd/network/") && path.ends_with(".link"))
        .filter_map(|(path, text)| Some((path.as_str(), text.ok()?.as_str())))
        .collect();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    files.sort_by_key(|(path, _)| (name(path), !path.starts_with("/etc/")));
    let matches_pods = |text: &str| {
        let is_match = |line: &&str| {
            ["OriginalName=", "Driver=", "Name="]
                .iter()
                .any(|key| line.starts_with(key))
        };
        let values = text
            .lines()
            .map(str::trim)
            .take_while(|line| *line != "[Link]");
        let found: Vec<&str> = values.filter(is_match).collect();
        let fits = |line: &&str| {
            let (_, value) = line.split_once('=').unwrap_or_default();
            let mut words = value.split_whitespace();
            words.any(|word| word == "*" || word == "veth" || word.starts_with("eni"))
        };
        !found.is_empty() && found.iter().all(fits)
    };
    files.into_iter().find(|(_, text)| matches_pods(text))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use crate::checks::surveyed::unit;
    use quake_model::facts::{ActiveState, Seen};

    const ID: &str = "net.managers";
    const PERSISTENT: &str = "[Match]\nOriginalName=*\n\n[Link]\nMACAddressPolicy=persistent\n";

    #[test]
    fn a_helper_for_clouds_that_is_on_is_named() {
        for (name, status) in [
            ("nm-cloud-setup.timer", Status::Warn),
            ("NetworkManager.service", Status::Ok),
        ] {
            let mut node = Sample::worker();
            if let Seen::Yes(units) = &mut node.survey.units {
                units.push(unit(name, ActiveState::Active));
            }
            assert_eq!(node.judge(ID).status, status, "{name}");
        }
    }

    #[test]
    fn networkmanager_may_not_manage_links_of_pods() {
        let mut node = Sample::worker();
        let line = |device: &str| {
            format!(
                "<info> device ({device}): state change: unmanaged -> unavailable (reason 'managed')"
            )
        };
        node.journal("NetworkManager.service", &[line("ens5").as_str()]);
        node.assert(ID, Status::Ok, "none");
        node.journal("NetworkManager.service", &[line("cali12ab").as_str()]);
        node.assert(ID, Status::Warn, "manages the links of pods");
        node.text(
            "/etc/NetworkManager/conf.d/calico.conf",
            "[keyfile]\nunmanaged-devices=interface-name:cali*\n",
        );
        node.assert(ID, Status::Ok, "none");
    }

    #[test]
    fn udev_may_not_change_the_addresses_of_links_of_the_vpc_cni() {
        let mut node = Sample::worker();
        node.text("/usr/lib/systemd/network/99-default.link", PERSISTENT);
        node.assert(ID, Status::Ok, "none");
        node.text("/etc/cni/net.d/10-aws.conflist", "{}");
        node.assert(
            ID,
            Status::Warn,
            "99-default.link has MACAddressPolicy=persistent",
        );
        let none = PERSISTENT.replace("persistent", "none");
        node.text("/etc/systemd/network/99-default.link", &none);
        node.assert(ID, Status::Ok, "none");
        node.text("/etc/systemd/network/10-eni.link", PERSISTENT);
        node.assert(ID, Status::Warn, "/etc/systemd/network/10-eni.link");
    }
}
