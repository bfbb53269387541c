//! Checks of the kernel's network settings and of its table of connections.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::{kubelet_flag, runs_kubernetes};
use crate::checks::node::Node;
use quake_model::facts::Unseen;
use quake_model::phase::Phase;

pub(in crate::checks) const CHECKS: &[Check] = &[
    Check {
        id: "net.settings",
        title: "the kernel forwards pods' packets",
        severity: Severity::Critical,
        tags: &["network", "kernel"],
        sources: &[Source::Files],
        because: &["host.modules", "host.jobs"],
        why: "without forwarding no pod reaches another node, and without bridge filtering services fail within one",
        remedy: "set net.ipv4.ip_forward=1 and net.bridge.bridge-nf-call-iptables=1, in the last file of /etc/sysctl.d",
        judge: settings,
    },
    Check {
        id: "net.conntrack",
        title: "the conntrack table has room",
        severity: Severity::Critical,
        tags: &["network", "capacity"],
        sources: &[Source::Files, Source::KernelLog],
        because: &[],
        why: "if it is full, the kernel drops packets of new connections of all pods",
        remedy: "raise net.netfilter.nf_conntrack_max, or kube-proxy's conntrackMaxPerCore, or find the program that opens so many",
        judge: conntrack,
    },
];

fn settings(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if !runs_kubernetes(node) {
        return Verdict::skip("the node is not known to run Kubernetes");
    }
    if !node.has_done(Phase::Network) {
        return Verdict::skip(
            "the boot has not come so far: settings are made in its network phase",
        );
    }
    let expected = node.expected()?;
    let is = |key: &str, value: &str| Ok::<_, Unseen>(node.sysctl(key)? == Some(value));
    if is("net.ipv4.ip_forward", "0")? {
        return wrong(
            node,
            "net.ipv4.ip_forward",
            "the node does not forward packets",
        )
        .fail();
    }
    let has_v6_pods =
        kubelet_flag(node, "cluster-dns").is_some_and(|servers| servers.contains(':'));
    if has_v6_pods && is("net.ipv6.conf.all.forwarding", "0")? {
        return wrong(
            node,
            "net.ipv6.conf.all.forwarding",
            "the node does not forward IPv6 packets",
        )
        .fail();
    }
    if is("net.bridge.bridge-nf-call-iptables", "0")? {
        let key = "net.bridge.bridge-nf-call-iptables";
        let finding = wrong(
            node,
            key,
            "packets on a bridge pass by the rules of services",
        );
        // Only pods that share a bridge need it.
        return match matches!(expected.network.name.as_str(), "kubenet" | "flannel") {
            true => finding.fail(),
            false => finding.warn(),
        };
    }
    Verdict::ok("packets are forwarded")
}

/// A setting that is 0 and is wanted as 1, and the files that set it so.
fn wrong(node: &Node<'_>, key: &str, what: &str) -> Finding {
    let files = setters(node, key);
    let finding = Finding::new(
        format!("{what}: {key} is 0"),
        match files.as_slice() {
            [] => format!(
                "sysctl -w {key}=1; look who set it: grep -rn {key} /etc/sysctl.conf /etc/sysctl.d /usr/lib/sysctl.d"
            ),
            [first, ..] => format!("take {key} out of {first}, then: sysctl -w {key}=1"),
        },
    );
    match files.is_empty() {
        true => finding,
        false => finding.seen("set to 0 by", files.join(", ")),
    }
}

/// The files of `sysctl.d(5)` that set a key to 0.
fn setters<'a>(node: &Node<'a>, key: &str) -> Vec<&'a str> {
    let texts = node.survey().texts.iter();
    let files = texts.filter(|(path, _)| {
        path.starts_with("/etc/sysctl.d/") || path.as_str() == "/etc/sysctl.conf"
    });
    let sets = |line: &str| {
        let line = line.trim().trim_start_matches('-');
        let pair = line
            .split_once('=')
            .map(|(name, value)| (name.trim().replace('/', "."), value.trim()));
        pair == Some((key.to_owned(), "0"))
    };
    let found = files.filter(|(_, text)| text.ok().is_some_and(|text| text.lines().any(sets)));
    found.map(|(path, _)| path.as_str()).collect()
}

/// Shares of the table that are used, beyond which it is nearly, and as good as full.
const SCARCE: f64 = 0.80;
const FULL: f64 = 0.95;

fn conntrack(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let number =
        |key: &str| Ok::<_, Unseen>(node.sysctl(key)?.and_then(|text| text.parse::<u64>().ok()));
    let (count, most) = (
        number("net.netfilter.nf_conntrack_count")?,
        number("net.netfilter.nf_conntrack_max")?,
    );
    let (Some(count), Some(most)) = (count, most) else {
        return Verdict::skip("the kernel keeps no table of connections");
    };
    let used = count as f64 / most.max(1) as f64;
    let fix = format!(
        "sysctl -w net.netfilter.nf_conntrack_max={}; keep it with kube-proxy's conntrackMaxPerCore; find who opens so many: conntrack -L | awk '{{print $5}}' | sort | uniq -c | sort -n | tail",
        most.saturating_mul(2)
    );
    if used >= SCARCE {
        let finding = Finding::new(
            format!("{count} of {most} connections are in the kernel's table"),
            fix,
        );
        return match used >= FULL {
            true => finding.fail(),
            false => finding.warn(),
        };
    }
    let log = node.survey().kernel_log.ok();
    let full = log.and_then(|log| {
        log.iter()
            .rfind(|line| line.contains("nf_conntrack: table full"))
    });
    match full {
        None => Verdict::ok(format!("{count} of {most}")),
        Some(line) => Finding::new(
            "the kernel's table of connections was full since the machine's start",
            fix,
        )
        .seen("kernel log", line)
        .warn(),
    }
}
