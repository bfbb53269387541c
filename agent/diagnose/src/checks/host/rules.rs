//! Rules of a packet filter: those that the host loads at its boot, as its files have them, and those of forwarded packets that
//! it has now.

use crate::checks::check::Finding;
use crate::checks::node::Node;
use quake_model::facts::ActiveState;

/// Files of rules, and the unit that loads each.
const FILES: &[(&str, &str)] = &[
    ("/etc/iptables/rules.v4", "netfilter-persistent"),
    ("/etc/sysconfig/iptables", "iptables"),
    ("/etc/nftables.conf", "nftables"),
    ("/etc/sysconfig/nftables.conf", "nftables"),
];

/// Rules of a file that keep packets of pods, or packets to kubelet, away.
pub(super) fn blocking(node: &Node<'_>) -> Option<Finding> {
    FILES.iter().find_map(|(path, unit)| {
        let unloaded = node.unit(&format!("{unit}.service")).ok().flatten();
        if unloaded.is_some_and(|unit| unit.active == ActiveState::Inactive && !unit.enabled) {
            return None;
        }
        let text = node.text(path).ok()??;
        let (line, what) = worst(text)?;
        Some(
            Finding::new(
                format!("{path} filters the host's traffic: {what}"),
                format!("systemctl disable --now {unit}, and use security groups; or take the rule out of {path} and load it again: systemctl restart {unit}; then restart the pods of kube-proxy and of the pod network, whose rules that removes"),
            )
            .seen("rule", line),
        )
    })
}

/// Chains that do not accept what pods send: those of docker, and of Services.
const OF_OTHERS: &[&str] = &["DOCKER", "KUBE-"];

/// The chain that forwarded packets go through, where it drops those of pods: no rule of the pod network stands before what
/// drops the rest (kubernetes/kubernetes issue 40182, projectcalico/calico issue 4382).
pub(super) fn forwarding(node: &Node<'_>) -> Option<Finding> {
    let lines = node.survey().programs.ok()?.get("iptables -S")?;
    let target = |line: &str| {
        let (_, target) = line.split_once("-j ")?;
        target.split(' ').next().map(str::to_owned)
    };
    let mut dropping = None;
    for line in lines.iter().filter(|line| line.starts_with("-A FORWARD ")) {
        let target = target(line).unwrap_or_default();
        let is_of_all = line.starts_with("-A FORWARD -j ");
        match target.as_str() {
            "DROP" | "REJECT" if is_of_all => {
                dropping = Some(line);
                break;
            }
            "DROP" | "REJECT" => {}
            chain if OF_OTHERS.iter().any(|start| chain.starts_with(start)) => {}
            // It accepts packets of pods, or may.
            _ => return None,
        }
    }
    let line = dropping.or_else(|| lines.iter().find(|line| *line == "-P FORWARD DROP"))?;
    Some(
        Finding::new(
            "iptables drops packets that are forwarded, which all packets of pods are: no rule of the pod network stands before",
            "at once: iptables -P FORWARD ACCEPT, and iptables -D FORWARD for a rule that refuses all; find who sets it: docker (a unit after docker.service with iptables -P FORWARD ACCEPT), firewalld or ufw (turn it off); then restart the pod of the pod network",
        )
        .seen("iptables -S FORWARD", line),
    )
}

/// The rule that does most harm, and what it does.
fn worst(text: &str) -> Option<(&str, &'static str)> {
    const METADATA: &str = "169.254.169.254";
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
        .collect();
    let drops = |line: &str| {
        let words: Vec<&str> = line.split([' ', ';']).collect();
        ["DROP", "REJECT", "drop", "reject"]
            .iter()
            .any(|word| words.contains(word))
    };
    // Accepting rules may stand before one that drops, but not for what nobody named.
    let find = |fits: &dyn Fn(&str) -> bool| lines.iter().copied().find(|line| fits(line));
    let hook = |name: &'static str| {
        move |line: &str| line.contains(&format!("hook {name}")) && line.contains("policy drop")
    };
    let is_policy = |chain: &str, line: &str| line.starts_with(&format!(":{chain} DROP"));
    if let Some(line) = find(&|line| drops(line) && line.contains(METADATA)) {
        return Some((line, "it drops packets to the metadata service"));
    }
    if let Some(line) = find(&|line| is_policy("FORWARD", line) || hook("forward")(line)) {
        return Some((
            line,
            "it drops packets that are forwarded, which all packets of pods are",
        ));
    }
    if let Some(line) = find(&|line| line.starts_with("-A FORWARD") && drops(line)) {
        return Some((
            line,
            "it refuses packets that are forwarded, which all packets of pods are",
        ));
    }
    if let Some(line) = find(&|line| is_policy("OUTPUT", line) || hook("output")(line)) {
        return Some((line, "it lets nothing out that no rule names"));
    }
    let of_hosts = find(&|line| line.contains("100.64.0.0/10") && drops(line));
    if let Some(line) = of_hosts {
        return Some((line, "it drops 100.64.0.0/10, which pods and services have"));
    }
    let accepts_kubelet = lines.iter().any(|line| line.contains("10250"));
    let is_input = |line: &str| {
        let is_rule = line.starts_with("-A INPUT") && drops(line) && !line.contains("--dport");
        is_policy("INPUT", line) || hook("input")(line) || is_rule && !line.contains("INVALID")
    };
    find(&|line| is_input(line) && !accepts_kubelet).map(|line| {
        (
            line,
            "it lets nothing in to kubelet's port 10250, node ports and the pod network",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{forwarding, worst};
    use crate::checks::node::Node;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::Seen;

    #[test]
    fn what_is_forwarded_is_dropped_where_no_rule_of_pods_stands_before() {
        for (lines, is_found) in [
            (
                "-P FORWARD DROP;-A FORWARD -j DOCKER-USER;-A FORWARD -m comment --comment x -j KUBE-FORWARD",
                true,
            ),
            (
                "-P FORWARD ACCEPT;-A FORWARD -j REJECT --reject-with icmp-host-prohibited;-A FORWARD -j cali-FORWARD",
                true,
            ),
            (
                "-P FORWARD DROP;-A FORWARD -m comment --comment x -j cali-FORWARD;-A FORWARD -j DOCKER-USER",
                false,
            ),
            (
                "-P FORWARD ACCEPT;-A FORWARD -m conntrack --ctstate INVALID -j DROP",
                false,
            ),
        ] {
            let mut node = Sample::worker();
            let lines = lines.split(';').map(str::to_owned).collect();
            node.survey.programs = Seen::Yes([("iptables -S".to_owned(), lines)].into());
            assert_eq!(forwarding(&Node::new(&node.survey)).is_some(), is_found);
        }
    }

    #[test]
    fn a_rule_that_refuses_what_is_forwarded_is_found() {
        let rhel = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n-A INPUT -p tcp -m state --state NEW --dport 22 -j ACCEPT\n-A FORWARD -j REJECT --reject-with icmp-host-prohibited\nCOMMIT\n";
        assert!(worst(rhel).is_some_and(|(line, _)| line.starts_with("-A FORWARD")));
        let debian = "table inet filter {\n chain input {\n  type filter hook input priority filter;\n }\n}\n";
        assert_eq!(worst(debian), None);
        let hardened = "table inet filter {\n chain forward {\n  type filter hook forward priority 0; policy drop;\n }\n}\n";
        assert!(worst(hardened).is_some_and(|(_, what)| what.contains("forwarded")));
    }
}
