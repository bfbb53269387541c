//! The check of the names that the node needs.

use super::published::PUBLISHED;
use super::stub;
use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_model::facts::{NameSeen, Reached, Unseen};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "dns.names",
    title: "the names that the node needs resolve quickly, to real addresses",
    severity: Severity::Critical,
    tags: &["dns"],
    sources: &[Source::Names],
    because: &[
        "net.drops",
        "net.links",
        "net.routes",
        "dns.resolvers",
        "dns.hosts-file",
        "net.ranges",
        "host.firewall",
        "host.jobs",
    ],
    why: "kubelet, the runtime and the agent find everything by name",
    remedy: "turn on enableDnsSupport of the VPC, and associate it with the cluster's private hosted zone",
    judge: names,
}];

/// What kops writes for a name before the control plane has published its address (RFC 5737 keeps it unused).
pub(super) const PLACEHOLDER: &str = "203.0.113.123";
/// Beyond this a name is slow: a server was tried in vain before.
const SLOW_MS: u64 = 1_000;

fn names(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let seen = node.survey().names.get()?;
    // What a node publishes itself has a check of its own.
    let needed = seen.iter().filter(|seen| seen.purpose != PUBLISHED);
    let own: Vec<&NameSeen> = needed.filter(|seen| seen.server.is_empty()).collect();
    if own.is_empty() {
        return Verdict::skip("no name was resolved");
    }
    let lost: Vec<&NameSeen> = own
        .iter()
        .copied()
        .filter(|seen| seen.addresses.is_empty())
        .collect();
    if let Some(first) = lost.first() {
        let finding = of_foreign(node, seen, first)
            .or_else(|| of_stub(node, first))
            .unwrap_or_else(|| unresolved(seen, first, &lost, own.len()));
        return finding.fail();
    }
    if let Some(held) = own
        .iter()
        .find(|seen| seen.addresses.iter().any(|one| one == PLACEHOLDER))
    {
        return Finding::new(
            format!("{} still leads to {PLACEHOLDER}: no control plane has published its address yet", held.name),
            "see that a control plane is up and that dns-controller (or kops-controller) runs there and may write the hosted zone",
        )
        .fail();
    }
    if let Some(finding) = elsewhere(node, &own) {
        return finding.fail();
    }
    let silent = seen
        .iter()
        .filter(|one| one.purpose != PUBLISHED)
        .find(|one| !one.server.is_empty() && one.addresses.is_empty() && one.error.is_some());
    if let Some(silent) = silent {
        let error = silent.error.as_deref().unwrap_or_default();
        return Finding::new(
            format!(
                "the name server {} does not resolve {}, and another does",
                silent.server, silent.name
            ),
            format!(
                "take it out of the VPC's DHCP options, or fix it: dig @{} {}",
                silent.server, silent.name
            ),
        )
        .seen("answer", error)
        .warn();
    }
    match own.iter().max_by_key(|seen| seen.took_ms) {
        Some(slow) if slow.took_ms >= SLOW_MS => Finding::new(
            format!("{} took {} ms to resolve", slow.name, slow.took_ms),
            format!(
                "see which name server does not answer: resolvectl statistics; dig {}",
                slow.name
            ),
        )
        .warn(),
        _ => Verdict::ok(format!("{} names resolve", own.len())),
    }
}

/// An internal name that leads out of the VPC, where nothing answers: a wildcard of the public zone, or a name server that
/// does not know the private one, answers in its stead.
fn elsewhere(node: &Node<'_>, own: &[&NameSeen]) -> Option<Finding> {
    let is_inside = |address: Ipv4Addr| {
        let [first, second, ..] = address.octets();
        address.is_private() || (first == 100 && (64..128).contains(&second))
    };
    let reach = node.survey().reach.ok()?;
    let internal = own
        .iter()
        .filter(|one| one.purpose == "api-server" && one.name.contains(".internal."));
    internal.copied().find_map(|one| {
        let mut seen = reach.iter().filter(|seen| seen.host == one.name);
        let is_lost = seen.any(|seen| !matches!(seen.result, Reached::Connected { .. }));
        let mut addresses = one.addresses.iter().filter_map(|it| it.parse().ok());
        let outside = addresses.find(|it| !is_inside(*it))?;
        is_lost.then(|| {
            Finding::new(
                format!("{} leads to {outside}, which is no address of a VPC, and nothing of the cluster answers there", one.name),
                format!("a wildcard of the public zone or a foreign name server answers: dig {0}, and dig @169.254.169.253 {0}; associate the VPC with the private hosted zone, or let the name server forward its domain to the VPC's", one.name),
            )
        })
    })
}

/// Name servers that answer and are not the VPC's, where the name that they do not know is of the private zone.
fn of_foreign(node: &Node<'_>, all: &[NameSeen], first: &NameSeen) -> Option<Finding> {
    let of_servers = all.iter().filter(|one| !one.server.is_empty());
    let lost: Vec<&NameSeen> = of_servers.filter(|one| one.name == first.name).collect();
    let answered = |one: &&NameSeen| one.error.is_none() && one.addresses.is_empty();
    let is_internal = first.purpose == "api-server" || first.name.contains(".internal.");
    let servers = match lost.is_empty() {
        true => said_no(node, &first.name),
        false if lost.iter().all(answered) => lost.iter().map(|one| one.server.as_str()).collect(),
        false => BTreeSet::new(),
    };
    let all_are = !servers.is_empty() && servers.iter().all(|server| is_foreign(server));
    (is_internal && all_are).then(|| {
        let servers: Vec<&str> = servers.into_iter().collect();
        let servers = servers.join(" and ");
        let finding = Finding::new(
            format!("{} does not resolve: the name servers of this host ({servers}) are not the VPC's, and do not know the private zone", first.name),
            format!("dig @169.254.169.253 {}: if that answers, associate the VPC with DHCP options that have AmazonProvidedDNS (aws ec2 associate-dhcp-options) and reboot, or let {servers} forward the zone to an inbound endpoint of the Route 53 Resolver; if not, the zone lacks the record, or is not associated with the VPC", first.name),
        );
        finding
            .by(Certainty::Likely)
            .seen("file", "/etc/resolv.conf")
            .seen("nameserver", servers)
    })
}

/// The finding where only the stub on this host gives no answer: the VPC's name server does.
fn of_stub(node: &Node<'_>, first: &NameSeen) -> Option<Finding> {
    let silent = stub::silent(node)?;
    let (name, stub, upstream, how) = (&first.name, silent.stub, silent.upstream, silent.how);
    let program = silent.who();
    let finding = Finding::new(
        format!(
            "{name} does not resolve: {program} {how}, and {upstream} answers when it is asked directly"
        ),
        format!(
            "mend {program} on this host: dns.resolvers says how; dig @{stub} {name}; dig @{upstream} {name}"
        ),
    );
    Some(finding.by(Certainty::Possible))
}

/// The name servers that told kubelet that a name does not exist (Go's `net`, `dnsclient_unix.go`).
fn said_no<'a>(node: &Node<'a>, name: &str) -> BTreeSet<&'a str> {
    let mark = format!("lookup {name} on ");
    let lines = node.journal("kubelet.service").iter();
    let servers = lines.filter_map(|line| {
        let (_, rest) = line.split_once(&mark)?;
        let (server, _) = rest.split_once(":53: no such host")?;
        (!server.contains(' ')).then_some(server)
    });
    servers.collect()
}

/// Whether a name server is not the VPC's: that has the third address of the VPC's range, and link-local ones
/// (AWS, "DNS attributes for your VPC").
fn is_foreign(server: &str) -> bool {
    let Ok(server) = server.parse::<Ipv4Addr>() else {
        return false;
    };
    // The range may be another one of the VPC's than the node's.
    let may_be_second = server.is_private() && server.octets()[3] == 2;
    !(may_be_second || server.is_link_local() || server.is_loopback())
}

fn unresolved(all: &[NameSeen], first: &NameSeen, lost: &[&NameSeen], looked_up: usize) -> Finding {
    let fix = match (lost.len() == looked_up, first.purpose.as_str()) {
        (true, _) => "aws ec2 modify-vpc-attribute --enable-dns-support, and let UDP and TCP port 53 out to the name servers; see /etc/resolv.conf".to_owned(),
        (false, "api-server") => format!(
            "associate the VPC with the private hosted zone of {}: aws route53 associate-vpc-with-hosted-zone; or wait for the control plane to publish it",
            first.name
        ),
        (false, _) => format!("dig {}; the VPC's resolver must forward it", first.name),
    };
    let summary = match (lost.len() == looked_up, lost.len()) {
        (true, 2..) => format!(
            "none of {looked_up} names resolves, {} among them",
            first.name
        ),
        _ => format!("{} does not resolve", first.name),
    };
    let finding = Finding::new(summary, fix).by(Certainty::Possible);
    let shown = lost.iter().copied().chain(
        all.iter()
            .filter(|seen| !seen.server.is_empty() && seen.addresses.is_empty()),
    );
    shown.take(6).fold(finding, |finding, seen| {
        let who = if seen.server.is_empty() {
            "the system"
        } else {
            &seen.server
        };
        let error = seen.error.as_deref().unwrap_or("no address");
        finding.seen(&seen.name, format_args!("{who}: {error}"))
    })
}
