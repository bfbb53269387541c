//! The check of the node's name servers.

use super::wildcard;
use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::{kubelet_setting, kubernetes_minor, runs_kubernetes};
use crate::checks::node::Node;
use quake_model::facts::{ActiveState, EntryKind, Unseen};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "dns.resolvers",
    title: "the node has one to three name servers",
    severity: Severity::Critical,
    tags: &["dns"],
    sources: &[Source::Files, Source::Units],
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
    servers: Vec<&'a str>,
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

fn resolvers(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(finding) = without_dns(node)? {
        return finding.fail();
    }
    if let Some(finding) = wildcard::answers(node) {
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
    if found.domains == ["."] && kubernetes_minor(node) == Some(25) {
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
