//! The check of the node's name servers.

use super::{over_tcp, stub, wildcard};
use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::{
    kubelet_setting, kubernetes_minor, running_minor, runs_kubernetes,
};
use crate::checks::node::Node;
use crate::checks::quote::quote;
use quake_model::facts::{ActiveState, EntryKind, Unseen};
use std::collections::BTreeSet;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "dns.resolvers",
    title: "the node has one to three name servers",
    severity: Severity::Critical,
    tags: &["dns"],
    sources: &[
        Source::Files,
        Source::Units,
        Source::Runtime,
        Source::Node,
        Source::Names,
    ],
    because: &["net.links", "host.jobs"],
    why: "without a server no name resolves; programs ignore the fourth server and the seventh search domain",
    remedy: "fix the VPC's DHCP options, or the program that writes /etc/resolv.conf: systemd-resolved, NetworkManager, cloud-init",
    judge: resolvers,
}];

pub(super) const FILE: &str = "/etc/resolv.conf";
/// Where systemd-resolved answers (systemd-resolved.service(8)).
const STUB: &str = "127.0.0.53";
/// Where systemd-resolved writes the servers it asks itself.
pub(super) const BEHIND_STUB: &str = "/run/systemd/resolve/resolv.conf";

/// What resolv.conf says.
#[derive(Default)]
pub(super) struct Resolvers<'a> {
    pub(super) servers: Vec<&'a str>,
    pub(super) domains: Vec<&'a str>,
}

pub(super) fn read(text: &str) -> Resolvers<'_> {
    let mut found = Resolvers::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("nameserver") => found.servers.extend(words.next()),
            // The last of these lines counts (resolv.conf(5)).
            Some("search" | "domain") => found.domains = words.collect(),
            _ => {}
        }
    }
    found
}

/// The name servers that the host asks, itself or by systemd-resolved.
pub(in crate::checks) fn servers<'a>(node: &Node<'a>) -> Vec<&'a str> {
    let texts = [FILE, BEHIND_STUB];
    let texts = texts.iter().filter_map(|path| node.text(path).ok()?);
    texts.flat_map(|text| read(text).servers).collect()
}

/// What CoreDNS says of a question that was not answered, the domain of its name, and the server (`plugin/errors`).
fn lost(line: &str) -> Option<(&str, &str, &str)> {
    let (before, _) = line.split_once(":53: i/o timeout")?;
    let server = before.rsplit("->").next()?;
    let (_, question) = before.split_once("plugin/errors: ")?;
    let name = question.split(' ').nth(1)?.trim_end_matches('.');
    let labels = name.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
    Some((line, &name[labels..], server))
}

/// A pod that asks a name server which the host does not ask any more: its resolv.conf is a copy of the host's from when it was
/// made, and is never made anew (kubernetes/kubernetes issue 42861).
fn stale(node: &Node<'_>) -> Option<Finding> {
    let servers = servers(node);
    let of_pods = node.pods().filter(|pod| pod.name.contains("coredns"));
    let (pod, line, server) = of_pods.into_iter().find_map(|pod| {
        let lost: Vec<(&str, &str, &str)> =
            pod.log.iter().rev().filter_map(|line| lost(line)).collect();
        let is_other = |server: &str| {
            let address: Option<std::net::Ipv4Addr> = server.parse().ok();
            !servers.contains(&server) && address.is_some_and(|it| !it.is_link_local())
        };
        let (line, _, server) = *lost.iter().find(|(.., server)| is_other(server))?;
        // The server of a stub domain is asked for names of that domain alone.
        let domains = lost.iter().filter(|(.., other)| *other == server);
        let domains: BTreeSet<&str> = domains.map(|(_, domain, _)| *domain).collect();
        (domains.len() > 1).then_some((pod, line, server))
    })?;
    (!servers.is_empty()).then(|| {
        let (namespace, name) = (&pod.namespace, &pod.name);
        Finding::new(
            format!("the pod {namespace}/{name} asks the name server {server}, which does not answer and which this host does not ask: the pod was made before the host's name servers changed, and keeps a copy of the old resolv.conf"),
            format!("kubectl -n {namespace} delete pod {name}, and all pods with dnsPolicy: Default that are as old; or name the server in the Corefile (forward . {}); the host's resolver is right", servers[0]),
        )
        .by(Certainty::Likely)
        .seen("log", quote(line, 300))
        .seen("nameserver", servers.join(", "))
    })
}

fn resolvers(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(finding) = stale(node) {
        return finding.warn();
    }
    if let Some(finding) = over_tcp::lost(node) {
        return finding.fail();
    }
    if let Some(finding) = without_dns(node)? {
        return finding.fail();
    }
    if let Some(finding) = wildcard::answers(node) {
        return finding.fail();
    }
    if let Some(finding) = stub::finding(node) {
        return finding.fail();
    }
    let Some(text) = node.text(FILE)? else {
        return absent(node);
    };
    let found = read(text);
    if found.servers.is_empty() {
        return Finding::new(
            "/etc/resolv.conf names no name server",
            "networkctl renew <interface>, or set the VPC's DHCP options to AmazonProvidedDNS; see who writes the file: ls -l /etc/resolv.conf",
        )
        .fail();
    }
    if found.servers == [STUB] {
        return behind_stub(node, &found);
    }
    too_many(node, &found)
}

/// A host that asks no name server at all (nsswitch.conf(5)).
fn without_dns(node: &Node<'_>) -> Result<Option<Finding>, Unseen> {
    let text = node.text("/etc/nsswitch.conf")?.unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("hosts:"));
    let sources = line.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let asks = |sources: &Vec<&str>| sources.iter().any(|it| matches!(*it, "dns" | "resolve"));
    Ok(sources.filter(|sources| !asks(sources)).map(|sources| {
        Finding::new(
            "/etc/nsswitch.conf asks no name server for hosts",
            "write the line hosts: files dns into /etc/nsswitch.conf, and restart kubelet and the runtime; look who changed it: authselect current, or the package of a directory service",
        )
        .seen("hosts", sources.join(" "))
    }))
}

fn absent(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let restore = "ln -sf /run/systemd/resolve/resolv.conf /etc/resolv.conf && systemctl restart systemd-resolved, or write a line nameserver 169.254.169.253";
    match node.entry(FILE)? {
        Some(entry) if entry.kind == EntryKind::Link => {
            let target = entry.target.as_deref().unwrap_or("nothing");
            Finding::new(
                format!("/etc/resolv.conf leads to {target}, which is not there"),
                restore,
            )
            .fail()
        }
        Some(_) => Err(Unseen::NotTaken("/etc/resolv.conf is no file".to_owned())),
        None => {
            node.was_surveyed(FILE)?;
            Finding::new("there is no /etc/resolv.conf", restore).fail()
        }
    }
}

fn behind_stub(node: &Node<'_>, found: &Resolvers<'_>) -> Result<Verdict, Unseen> {
    let start = "systemctl enable --now systemd-resolved, or ln -sf /run/systemd/resolve/resolv.conf /etc/resolv.conf";
    let unit = node.unit("systemd-resolved.service").ok();
    let is_down =
        unit.is_some_and(|unit| unit.is_none_or(|unit| unit.active != ActiveState::Active));
    if is_down {
        return Finding::new(
            "/etc/resolv.conf leads to systemd-resolved, which does not run",
            start,
        )
        .seen("nameserver", STUB)
        .fail();
    }
    let behind = node.text(BEHIND_STUB)?.map(read).unwrap_or_default();
    if unit.is_some() && behind.servers.is_empty() && node.was_surveyed(BEHIND_STUB).is_ok() {
        return Finding::new(
            "systemd-resolved runs and knows no name server",
            "networkctl renew <interface>; resolvectl status; set the VPC's DHCP options to AmazonProvidedDNS",
        )
        .fail();
    }
    let given = kubelet_setting(node, "resolv-conf", "resolvConf");
    if runs_kubernetes(node) && matches!(given.as_deref(), None | Some(FILE)) {
        return Finding::new(
            "kubelet gives pods the name server 127.0.0.53, which is not there for them",
            format!("set resolvConf: {BEHIND_STUB} in spec.kubelet and spec.masterKubelet"),
        )
        .seen("nameserver", found.servers.join(", "))
        .warn();
    }
    too_many(node, &behind)
}

/// What the C library reads, and what kubelet gives pods (it takes more domains since 1.28).
fn too_many(node: &Node<'_>, found: &Resolvers<'_>) -> Result<Verdict, Unseen> {
    const SERVERS: usize = 3;
    // systemd-resolved writes it where there is no domain; kubelet 1.25.0 gives it to pods (kubernetes issue 112135).
    if found.domains == ["."] && running_minor(node) == Some(25) {
        return Finding::new(
            "the host has no search domain (`search .`), and kubelet 1.25 gives pods the domain `.`: programs with musl (Alpine) resolve no outside name",
            "set a domain in the VPC's DHCP options, or Domains= in /etc/systemd/resolved.conf; or update kubelet; then delete the pods: they keep the file they were made with",
        )
        .warn();
    }
    let domains = match kubernetes_minor(node) {
        Some(minor) if minor >= 28 => 32,
        _ => 6,
    };
    let count = found.servers.len();
    if count > SERVERS {
        return Finding::new(
            format!("{count} name servers are named, and only the first three are asked"),
            "leave three in the VPC's DHCP options, or in who else writes /etc/resolv.conf",
        )
        .seen("nameserver", found.servers.join(", "))
        .warn();
    }
    if found.domains.len() > domains {
        return Finding::new(
            format!(
                "{} domains are searched, and pods get only {domains}",
                found.domains.len()
            ),
            "shorten domain-name in the VPC's DHCP options",
        )
        .seen("search", found.domains.join(" "))
        .warn();
    }
    Verdict::ok(found.servers.join(", "))
}
