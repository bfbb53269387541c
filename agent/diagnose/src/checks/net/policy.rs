//! Routes to pods, and rules that choose a table of routes (ip-rule(8)): what somebody else who configures the network removed.

use crate::checks::check::Finding;
use crate::checks::net::links::is_own;
use crate::checks::node::Node;
use quake_model::facts::LinkFacts;
use quake_model::time::Timestamp;

/// The priorities of the VPC CNI's rules for packets to a pod, before and since its version 1.12.
const TO_PODS: &[&str] = &["512:", "1536:"];

/// How systemd-networkd is kept from doing so.
const KEEP: &str = "put ManageForeignRoutes=no and ManageForeignRoutingPolicyRules=no below [Network] into /etc/systemd/networkd.conf.d/99-pods.conf; systemctl restart systemd-networkd";

/// Rules that somebody removed: those of the kernel itself, or those of the VPC CNI's pods. systemd-networkd removes what it did
/// not make as it starts (aws/amazon-vpc-cni-k8s issue 1600, cilium/cilium issue 18706).
pub(super) fn lost(node: &Node<'_>) -> Option<Finding> {
    without_pods(node).or_else(|| without_rules(node))
}

fn without_rules(node: &Node<'_>) -> Option<Finding> {
    let lines = node.survey().programs.ok()?.get("ip rule")?;
    let leads_to = |table: &str| {
        let words = format!("lookup {table}");
        lines.iter().any(|line| line.ends_with(&words))
    };
    let tables = ["local", "main"].into_iter();
    if let Some(table) = tables.into_iter().find(|table| !leads_to(table)) {
        return Some(
            Finding::new(
                format!("no rule of routing leads to the table {table}: the host does not find its own addresses or its routes"),
                format!("ip rule add pref {} lookup {table}; {KEEP}; then delete the pod of the pod network on this node", if table == "local" { 0 } else { 32_766 }),
            )
            .seen("ip rule", lines.join("; ")),
        );
    }
    let is_of_vpc = node.expected().ok()?.network.name == "amazonvpc";
    let network = node.survey().network.ok().filter(|_| is_of_vpc)?;
    let pod = network.links.iter().find(|link| {
        let end = link.name.strip_prefix("eni");
        end.is_some_and(|end| end.len() > 8)
    })?;
    let has_rule = |line: &String| TO_PODS.iter().any(|start| line.starts_with(start));
    (!lines.iter().any(has_rule)).then(|| {
        Finding::new(
            format!("pods have links such as {}, and no rule of routing leads to any pod: somebody removed the rules of the VPC CNI", pod.name),
            format!("{KEEP}; then delete the pod aws-node of this node, and the pods without network"),
        )
        .seen("ip rule", lines.join("; "))
    })
}

/// How the names of the host's ends of pods' links begin, with Calico, Cilium and the VPC CNI.
const OF_PODS: &[&str] = &["cali", "lxc", "eni"];

/// Pods that have links, and no route to any of them. Who else configures the network took the routes away: systemd-networkd
/// removes those that it did not make when it starts (networkd.conf(5), `ManageForeignRoutes=`).
fn without_pods(node: &Node<'_>) -> Option<Finding> {
    let network = node.survey().network.ok()?;
    let is_of_pod = |link: &&LinkFacts| OF_PODS.iter().any(|start| link.name.starts_with(start));
    let mut links = network.links.iter().filter(is_of_pod);
    // One alone may be of a pod that is being made.
    let (link, _) = links.next().zip(links.next())?;
    // Each link that is up has routes of IPv6 of its own.
    let is_of_link = |to: &str| to.starts_with("fe80:") || to.starts_with("ff");
    let leads_to_pods = |interface: &str| interface != "lo" && !is_own(interface);
    if network
        .routes
        .iter()
        .any(|route| leads_to_pods(&route.interface) && !is_of_link(&route.destination))
    {
        return None;
    }
    let (who, first) = match file_of_all_links(node) {
        Some(path) => (
            format!("systemd-networkd, which {path} gives every link (Name=*),"),
            format!("write Name=en* eth* in place of Name=* into {path}; "),
        ),
        None => ("somebody".to_owned(), String::new()),
    };
    let finding = Finding::new(
        format!(
            "pods have links such as {}, and no route leads to any pod: {who} removed the routes of the pod network",
            link.name
        ),
        format!(
            "{first}{KEEP}; then delete the pod of the network on this node (cilium, calico-node, aws-node): it makes the routes again"
        ),
    );
    let networkd = node.unit("systemd-networkd.service").ok().flatten();
    Some(match networkd.filter(|unit| unit.main_started_us > 0) {
        Some(unit) => {
            let started = Timestamp(unit.main_started_us / 1000);
            finding.seen("systemd-networkd", format_args!("started {started}"))
        }
        None => finding,
    })
}

/// The file of systemd-networkd that takes every link, those of pods too (systemd.network(5), `Name=`).
fn file_of_all_links<'a>(node: &Node<'a>) -> Option<&'a str> {
    let texts = node.survey().texts.iter();
    let mut files =
        texts.filter(|(path, _)| path.contains("/systemd/network/") && path.ends_with(".network"));
    let takes_all = |text: &String| text.lines().any(|line| line.trim() == "Name=*");
    let found = files.find(|(_, text)| text.ok().is_some_and(takes_all));
    found.map(|(path, _)| path.as_str())
}

#[cfg(test)]
mod tests {
    use super::lost;
    use crate::checks::node::Node;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::{LinkFacts, NetworkFacts, Seen};

    #[test]
    fn rules_that_are_lost_are_told() {
        let own = "0:\tfrom all lookup local;32766:\tfrom all lookup main";
        for (lines, says) in [
            (own.to_owned(), Some("no rule of routing leads to any pod")),
            (
                format!("{own};512:\tfrom all to 10.0.0.7 lookup main"),
                None,
            ),
            (
                "32766:\tfrom all lookup main".to_owned(),
                Some("the table local"),
            ),
            (
                "100:\tfrom all lookup local".to_owned(),
                Some("the table main"),
            ),
        ] {
            let mut node = Sample::worker();
            node.expected().network.name = "amazonvpc".to_owned();
            let link = LinkFacts {
                index: 7,
                name: "eni0123456789a".to_owned(),
                mac: String::new(),
                mtu: 9001,
                up: true,
                addresses: Vec::new(),
            };
            node.survey.network = Seen::Yes(NetworkFacts {
                links: vec![link],
                routes: Vec::new(),
            });
            let lines = lines.split(';').map(str::to_owned).collect();
            node.survey.programs = Seen::Yes([("ip rule".to_owned(), lines)].into());
            let found = lost(&Node::new(&node.survey)).map(|it| it.summary);
            let is_said = |found: &String| says.is_some_and(|says| found.contains(says));
            assert_eq!(
                found.as_ref().is_some_and(is_said),
                says.is_some(),
                "{found:?}"
            );
        }
    }
}
