//! The check of the files that a boot wrote.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::cni;
use crate::checks::node::Node;
use quake_model::facts::{EntryFacts, EntryKind, Unseen};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "files.written",
    title: "the files that the boot wrote are there, not empty, and only root may write them",
    severity: Severity::Critical,
    tags: &["files"],
    sources: &[Source::Files],
    because: &[
        "host.disk-errors",
        "host.disk-space",
        "agent.running",
        "boot.recorded",
        "host.jobs",
    ],
    why: "services read them at their next start",
    remedy: "systemctl restart quake-agent.service writes them again; first find out what removed them",
    judge: written,
}];

/// Files that begin empty and are filled by others.
const LOGS: &str = "/var/log/";

/// Files of kops (1.32 and newer) that are meant to be empty: no flag names the first, containerd's unit wants the second to be
/// there, and an empty file of that name turns the image's rules off.
const EMPTY: &[&str] = &[
    "/srv/kubernetes/kube-apiserver/known_tokens.csv",
    "/etc/environment",
    "/etc/udev/rules.d/99-vpc-policy-routes.rules",
];

fn written(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let record = node.record()?;
    let mut paths: Vec<&str> = record
        .steps
        .iter()
        .filter_map(|step| step.step.strip_prefix("files:/"))
        .collect();
    paths.dedup();
    if paths.is_empty() {
        return Verdict::skip("the boot has not come so far: it wrote no file");
    }
    let mut seen = 0_usize;
    for path in paths.iter().map(|path| format!("/{path}")) {
        match node.entry(&path)? {
            Some(entry) => {
                seen += 1;
                if let Some(finding) = unfit(&path, entry, node.has_modes()) {
                    return finding;
                }
            }
            // A pod of a network that ends removes and writes configurations: it is the one to look at.
            None if path.starts_with(cni::DIRECTORY) && cni::broken(node).is_some() => {}
            // Where nobody looked, nothing found says nothing.
            None if node.was_surveyed(&path).is_ok() => return gone(&path),
            None => {}
        }
    }
    match seen {
        0 => Err(Unseen::NotTaken(
            "none of the files that the boot wrote was looked at".to_owned(),
        )),
        _ => Verdict::ok(format!("{seen} of {} were looked at", paths.len())),
    }
}

fn may_be_empty(path: &str) -> bool {
    path.starts_with(LOGS) || EMPTY.contains(&path)
}

fn gone(path: &str) -> Result<Verdict, Unseen> {
    Finding::new(
        format!("{path}, which the boot wrote, is gone"),
        "systemctl restart quake-agent.service writes it again; find who removes it: a package's script, or configuration management",
    )
    .fail()
}

fn unfit(path: &str, entry: &EntryFacts, has_modes: bool) -> Option<Result<Verdict, Unseen>> {
    const OTHERS_WRITE: u32 = 0o022;
    const OTHERS_READ: u32 = 0o004;
    if entry.kind == EntryKind::File && entry.size == 0 && !may_be_empty(path) {
        let finding = Finding::new(
            format!("{path}, which the boot wrote, is empty"),
            format!(
                "rm {path} && systemctl restart quake-agent.service; an empty file is left where a disk filled up or a machine lost power"
            ),
        );
        return Some(finding.fail());
    }
    let mode = entry.mode & 0o7777;
    let is_link = entry.kind == EntryKind::Link;
    let is_key = path.ends_with(".key") || path.ends_with("kubeconfig") || path.ends_with(".csv");
    let (bits, what) = match () {
        () if !has_modes || is_link || entry.mode & 0o1000 != 0 => return None,
        () if mode & OTHERS_WRITE != 0 => (OTHERS_WRITE, "others than root may write"),
        () if is_key && mode & OTHERS_READ != 0 => (0o077, "everyone may read"),
        () => return None,
    };
    let finding = Finding::new(
        format!("{path} is of mode {mode:04o}: {what} it"),
        format!("chmod {:04o} {path}", mode & !bits),
    );
    Some(finding.warn())
}
