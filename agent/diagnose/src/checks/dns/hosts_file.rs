//! The check of `/etc/hosts`, which is asked before any name server.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_model::facts::Unseen;
use std::collections::BTreeSet;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "dns.hosts-file",
    title: "/etc/hosts has localhost, and agrees with the name servers",
    severity: Severity::Critical,
    tags: &["dns"],
    sources: &[Source::Files, Source::Names],
    because: &[],
    why: "/etc/hosts wins over DNS, so an old line can send kubelet to an API server that is gone",
    remedy: "remove these lines from /etc/hosts, and find the program that writes them",
    judge: hosts_file,
}];

/// A line of the file, and whether a tool keeps it between its marks.
struct Line<'a> {
    address: &'a str,
    names: Vec<&'a str>,
    kept: bool,
}

fn hosts_file(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let Some(text) = node.text("/etc/hosts")? else {
        node.was_surveyed("/etc/hosts")?;
        return without_localhost().warn();
    };
    if let Some(mark) = broken_mark(text) {
        return Finding::new(
            format!("/etc/hosts has a part that is begun twice or never ends: {mark:?}"),
            "keep one of the parts of that mark, with its end, and take the others out",
        )
        .warn();
    }
    if let Some(finding) = written_by_cloud_init(node, text) {
        return finding.warn();
    }
    let lines = lines(text);
    for line in &lines {
        for name in &line.names {
            if let Some(finding) = contradicted(node, line, name) {
                return finding.fail();
            }
        }
    }
    if let Some((line, name)) = pinned(node, &lines) {
        return Finding::new(
            format!(
                "/etc/hosts sends {name} to {}, whatever the name servers say",
                line.address
            ),
            format!("take the line of {name} out of /etc/hosts"),
        )
        .warn();
    }
    let has_localhost = lines.iter().any(|line| line.names.contains(&"localhost"));
    match has_localhost {
        true => Verdict::ok(format!(
            "{} names",
            lines.iter().map(|line| line.names.len()).sum::<usize>()
        )),
        false => without_localhost().warn(),
    }
}

/// A file that cloud-init writes anew at each boot, on a host whose etcd-manager keeps the names of its peers there (etcd-manager,
/// `pkg/hosts`). The words are of cloud-init's templates (`templates/hosts.*.tmpl`).
fn written_by_cloud_init(node: &Node<'_>, text: &str) -> Option<Finding> {
    const HEADER: &str = "Your system has configured 'manage_etc_hosts' as";
    let has_etcd = node.is_control_plane() && text.contains(HEADER);
    (has_etcd && !text.contains("Begin host entries managed by etcd-manager")).then(|| {
        Finding::new(
            "cloud-init writes /etc/hosts (manage_etc_hosts), and the names of etcd's peers are not in it: members do not find each other",
            "echo 'manage_etc_hosts: false' >/etc/cloud/cloud.cfg.d/99-hosts.cfg; take manage_etc_hosts out of the user data of the image; then restart etcd-manager, which writes its part again: crictl pods --name etcd-manager shows it",
        )
    })
}

fn without_localhost() -> Finding {
    Finding::new(
        "/etc/hosts has no line for localhost",
        "printf '127.0.0.1 localhost\\n::1 localhost ip6-localhost\\n' >>/etc/hosts",
    )
}

/// A mark as kops, protokube and etcd-manager set: `# Begin host entries managed by … - do not edit`, and `# End …`, which
/// ends with the name (etcd-manager, `pkg/dns/hosts`).
fn mark(line: &str) -> Option<(bool, &str)> {
    let text = line.strip_prefix('#')?.trim();
    let begin = text.strip_prefix("Begin host entries managed by ");
    let end = || text.strip_prefix("End host entries managed by ");
    let (begins, who) = match begin {
        Some(who) => (true, who),
        None => (false, end()?),
    };
    Some((begins, who.trim_end_matches(" - do not edit")))
}

/// A mark that does not end, or that stands twice.
fn broken_mark(text: &str) -> Option<&str> {
    let mut begun = BTreeSet::new();
    let mut open = None;
    for (begins, who) in text.lines().filter_map(mark) {
        match (begins, open) {
            (true, None) if begun.insert(who) => open = Some(who),
            (false, Some(current)) if current == who => open = None,
            _ => return Some(who),
        }
    }
    open
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut kept = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some((begins, _)) = mark(line) {
            kept = begins;
        }
        let mut words = line
            .split('#')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        if let Some(address) = words.next() {
            let names = words.collect();
            found.push(Line {
                address,
                names,
                kept,
            });
        }
    }
    found
}

/// A line that name servers contradict: they know the name, and not this address.
fn contradicted(node: &Node<'_>, line: &Line<'_>, name: &str) -> Option<Finding> {
    let seen = node.survey().names.ok()?;
    let answers = seen
        .iter()
        .filter(|seen| !seen.server.is_empty() && seen.name == name && !seen.addresses.is_empty());
    let answers: Vec<_> = answers.collect();
    let agrees = answers
        .iter()
        .any(|seen| seen.addresses.iter().any(|address| address == line.address));
    let first = answers.first().filter(|_| !agrees)?;
    let finding = Finding::new(
        format!(
            "/etc/hosts sends {name} to {}, and name servers to {}",
            line.address,
            first.addresses.join(", ")
        ),
        format!("take the line of {name} out of /etc/hosts, then: systemctl restart kubelet"),
    );
    Some(finding.seen("name server", &first.server))
}

/// A name of the cluster that someone wrote in by hand, where name servers should be asked.
fn pinned<'a>(node: &Node<'_>, lines: &'a [Line<'a>]) -> Option<(&'a Line<'a>, &'a str)> {
    let record = node.survey().record.as_ref()?;
    let cluster = &record.spec.as_ref()?.cluster;
    // A cluster without a name service keeps its names in this file.
    if cluster.ends_with(".k8s.local") {
        return None;
    }
    let expected = record.expected.as_ref()?;
    let wanted: BTreeSet<&str> = expected
        .names
        .iter()
        .chain(&expected.api_servers)
        .map(String::as_str)
        .collect();
    lines
        .iter()
        .filter(|line| !line.kept && !line.address.starts_with("127."))
        .find_map(|line| {
            let name = line.names.iter().find(|name| wanted.contains(**name))?;
            Some((line, *name))
        })
}
