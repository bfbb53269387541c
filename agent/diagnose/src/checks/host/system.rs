//! Checks of the operating system: which it is, what it calls itself, and how much of it was seen.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::{kubelet_flag, runs_kubernetes};
use crate::checks::node::Node;
use quake_model::facts::Unseen;

pub(in crate::checks) const CHECKS: &[Check] = &[
    Check {
        id: "host.root",
        title: "diagnose runs as root",
        severity: Severity::Info,
        tags: &["survey"],
        sources: &[Source::Files],
        because: &[],
        why: "only root can read keys, sockets, the kernel's log and the owners of ports",
        remedy: "sudo quake-agent diagnose",
        judge: root,
    },
    Check {
        id: "host.os",
        title: "the agent knows this operating system",
        severity: Severity::Critical,
        tags: &["os"],
        sources: &[Source::Files],
        because: &[],
        why: "paths, packages and units depend on the distribution, which os-release names",
        remedy: "use an image of Debian, Ubuntu, Amazon Linux 2023 or Flatcar, or restore /etc/os-release in the image",
        judge: os,
    },
    Check {
        id: "host.hostname",
        title: "the host's name can be a node's name",
        severity: Severity::Critical,
        tags: &["name"],
        sources: &[Source::Files],
        because: &[],
        why: "kubelet registers with it, and the API server accepts only lower-case letters, digits, dots and hyphens",
        remedy: "hostnamectl set-hostname with the private DNS name of the instance, and preserve_hostname: false for cloud-init",
        judge: hostname,
    },
    Check {
        id: "host.machine-id",
        title: "the host has its own machine id",
        severity: Severity::Warning,
        tags: &["name"],
        sources: &[Source::Files],
        because: &[],
        why: "the journal, DHCP and kubelet identify the host by it; two nodes with the same id look like one",
        remedy: "rm /etc/machine-id && systemd-machine-id-setup, then restart; in an image: truncate --size 0 /etc/machine-id",
        judge: machine_id,
    },
];

fn root(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if node.survey().schema_version.is_empty() {
        return Verdict::skip("nothing says who captured this tree");
    }
    match node.survey().by_root {
        true => Verdict::ok("by root"),
        false => Finding::new(
            "an ordinary user looked: checks that need root were skipped",
            "sudo quake-agent diagnose",
        )
        .warn(),
    }
}

/// What `ID` of os-release says on the distributions the agent is known to run on, and on their near relatives.
const KNOWN: &[&str] = &[
    "almalinux",
    "amzn",
    "centos",
    "cos",
    "debian",
    "fedora",
    "flatcar",
    "coreos",
    "rhel",
    "rocky",
    "ubuntu",
];

fn os(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let text = match node.text("/etc/os-release")? {
        Some(text) => Some(text),
        None => node.text("/usr/lib/os-release")?,
    };
    let Some(text) = text else {
        node.was_surveyed("/etc/os-release")?;
        return Finding::new(
            "there is no os-release, so nothing says which distribution this is",
            "write /etc/os-release with the ID and VERSION_ID of the distribution, or use its own image",
        )
        .fail();
    };
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.map_or("", |value| value.trim().trim_matches(['"', '\'']))
    };
    let (id, version, like) = (value("ID="), value("VERSION_ID="), value("ID_LIKE="));
    if id.is_empty() {
        return Finding::new(
            "os-release has no ID",
            "write a line such as ID=debian in /etc/os-release",
        )
        .fail();
    }
    let known = |id: &str| KNOWN.contains(&id);
    if known(id) || like.split(' ').any(known) {
        return Verdict::ok(format!("{id} {version}").trim().to_owned());
    }
    Finding::new(
        format!("{id} {version} is none of the distributions the agent is known to run on"),
        "use an image of Debian, Ubuntu, Amazon Linux 2023 or Flatcar",
    )
    .warn()
}

fn hostname(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let running = node.text("/proc/sys/kernel/hostname")?;
    let name = match running {
        Some(name) => name,
        None => node.need_text("/etc/hostname")?,
    }
    .trim();
    let expected = node
        .expected()
        .map_or("", |expected| expected.node_name.as_str());
    let wanted = match expected {
        "" => "the private DNS name of the instance",
        name => name,
    };
    let fix = format!("hostnamectl set-hostname {wanted}; then: systemctl restart kubelet");
    // kubelet makes small letters of large ones itself.
    if let Some(why) = unusable(&name.to_lowercase()) {
        let finding = Finding::new(format!("the host's name {name:?} {why}"), fix);
        return match registers_by_hostname(node) {
            true => finding.fail(),
            false => finding.warn(),
        };
    }
    if expected.is_empty() || !registers_by_hostname(node) || name.eq_ignore_ascii_case(expected) {
        return Verdict::ok(name);
    }
    Finding::new(
        format!("the host is called {name}, and the node is to register as {expected}"),
        fix,
    )
    .warn()
}

/// Whether kubelet takes its node's name from the host: neither a flag nor a cloud provider in it says another.
fn registers_by_hostname(node: &Node<'_>) -> bool {
    runs_kubernetes(node)
        && kubelet_flag(node, "hostname-override").is_none()
        && kubelet_flag(node, "cloud-provider").as_deref() != Some("aws")
}

/// Why a name cannot be that of a node: RFC 1123, and 63 characters because it becomes the value of a label.
fn unusable(name: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let label = |label: &str| {
        !label.is_empty()
            && label.chars().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    match name {
        "" | "(none)" => Some("is empty"),
        "localhost" | "localhost.localdomain" => Some("is that of every unconfigured machine"),
        _ if name.len() > 63 => Some("is longer than 63 characters, the most that a label takes"),
        _ if name.split('.').all(label) => None,
        _ => Some("has characters that no node's name may have"),
    }
}

fn machine_id(node: &Node<'_>) -> Result<Verdict, Unseen> {
    const FIX: &str = "rm -f /etc/machine-id && systemd-machine-id-setup, then restart; in the image: truncate --size 0 /etc/machine-id";
    let Some(text) = node.text("/etc/machine-id")? else {
        node.was_surveyed("/etc/machine-id")?;
        return Finding::new("there is no /etc/machine-id", FIX).warn();
    };
    let id = text.trim();
    let distinct = id.chars().filter(|c| *c != '0').count();
    let is_hex = id.len() == 32 && id.chars().all(|c| c.is_ascii_hexdigit());
    match (id, is_hex && distinct > 0) {
        (_, true) => Verdict::ok("it is its own"),
        ("", _) => Finding::new("/etc/machine-id is empty", FIX).warn(),
        ("uninitialized", _) => Finding::new(
            "/etc/machine-id is still uninitialized: its first boot did not end",
            FIX,
        )
        .warn(),
        _ => Finding::new(
            "/etc/machine-id holds no identity of 32 hexadecimal digits",
            FIX,
        )
        .warn(),
    }
}
