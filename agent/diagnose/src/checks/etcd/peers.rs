//! `etcd.peers`: whether the members reach each other, by the ports that were tried from here.

use super::clients::own_host;
use super::without_members;
use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use quake_model::expected::ExpectedMember;
use quake_model::facts::{ReachSeen, Reached, Unseen};
use std::collections::BTreeSet;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(skip) = without_members(node)? {
        return Ok(skip);
    }
    let expected = &node.expected()?.etcd;
    let several: Vec<&ExpectedMember> = expected.iter().filter(|it| it.hosts.len() > 1).collect();
    if several.is_empty() {
        return Verdict::skip("no member of this node has peers that are known");
    }
    let reach = node.survey().reach.get()?;
    let mut looked = 0;
    let mut warning = None;
    for member in several {
        let seen = of_member(node, member, reach);
        looked += seen.len();
        let bad: Vec<&ReachSeen> = seen.iter().copied().filter(|it| !is_open(it)).collect();
        let Some(first) = bad.first() else { continue };
        let ports = expected.iter().flat_map(|it| &it.peer_ports);
        let finding = finding(member, first, &bad, &ports.copied().collect());
        // With those that it reaches, this member must be a majority.
        let hosts: BTreeSet<&str> = bad.iter().map(|it| it.host.as_str()).collect();
        let left = member.hosts.len().saturating_sub(hosts.len());
        if left <= member.hosts.len() / 2 {
            return finding.fail();
        }
        warning = warning.or(Some(finding));
    }
    match (warning, looked) {
        (Some(finding), _) => finding.warn(),
        (None, 0) => Err(Unseen::NotTaken("no peer was connected to".to_owned())),
        (None, _) => Verdict::ok(format!("{looked} ports of peers take connections")),
    }
}

/// What was tried of this member's peers.
fn of_member<'a>(
    node: &Node<'_>,
    member: &ExpectedMember,
    reach: &'a [ReachSeen],
) -> Vec<&'a ReachSeen> {
    let own = own_host(node, member);
    let is_peers = |seen: &&ReachSeen| {
        let is_host = member.hosts.contains(&seen.host) && Some(seen.host.as_str()) != own;
        is_host && member.peer_ports.contains(&seen.port)
    };
    reach.iter().filter(is_peers).collect()
}

fn is_open(seen: &ReachSeen) -> bool {
    matches!(seen.result, Reached::Connected { .. })
}

fn finding(
    member: &ExpectedMember,
    first: &ReachSeen,
    bad: &[&ReachSeen],
    ports: &BTreeSet<u16>,
) -> Finding {
    let (host, port, cluster) = (&first.host, first.port, &member.cluster);
    let (how, fix) = match &first.result {
        Reached::Refused => (
            "refuses connections: nothing listens there".to_owned(),
            format!("look at that control plane: quake-agent diagnose --only etcd,volumes; its pod of {cluster} does not run, or its address in /etc/hosts is an earlier one"),
        ),
        Reached::NoAddress => (
            "has no address".to_owned(),
            "etcd-manager writes its peers into /etc/hosts once they have found each other: look at that control plane, and at this one's /var/log/etcd.log".to_owned(),
        ),
        Reached::TimedOut => (
            "does not answer: a security group, a network ACL or a filter of a host drops the packets, or its instance does not run".to_owned(),
            blocked(ports),
        ),
        Reached::Unreachable { why } => (format!("cannot be reached: {why}"), blocked(ports)),
        Reached::Connected { .. } => ("answers".to_owned(), blocked(ports)),
    };
    let summary = format!("etcd's peer {host}:{port} of {cluster} {how}");
    let rest = bad.iter().skip(1);
    rest.fold(Finding::new(summary, fix), |finding, seen| {
        let how = match &seen.result {
            Reached::Refused => "refused",
            Reached::NoAddress => "no address",
            Reached::TimedOut => "no answer",
            Reached::Unreachable { .. } => "unreachable",
            Reached::Connected { .. } => "open",
        };
        finding.seen(&format!("{}:{}", seen.host, seen.port), how)
    })
}

/// The ports on which kops' etcd answers its clients, of which the other control planes are some.
const OF_CLIENTS: [u16; 2] = [4001, 4002];

fn blocked(ports: &BTreeSet<u16>) -> String {
    let ports: Vec<String> = ports
        .iter()
        .chain(&OF_CLIENTS)
        .map(u16::to_string)
        .collect();
    format!(
        "let the control planes' security group and network ACL in from the control planes on TCP {}: aws ec2 authorize-security-group-ingress --group-id <security-group> --protocol tcp --port <port> --source-group <security-group>, or kops update cluster --yes, which writes its rules anew; look for filters of the host's own: nft list ruleset; and whether the peer's instance still runs",
        ports.join(", ")
    )
}
