//! Who may read private keys.

use super::super::check::{Finding, Verdict};
use super::super::node::Node;
use quake_model::facts::{EntryFacts, EntryKind, Unseen};

/// Directories with keys in them.
const FOLDERS: &[&str] = &[
    "/srv/kubernetes/",
    "/etc/kubernetes/pki/",
    "/var/lib/kubelet/pki/",
];

/// Files of passwords and tokens.
const SECRETS: &[&str] = &[
    "known_tokens.csv",
    "basic_auth.csv",
    "encryptionconfig.yaml",
];

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if node.survey().schema_version.is_empty() {
        let why = "the modes of a tree that was copied without a survey say nothing".to_owned();
        return Err(Unseen::NotTaken(why));
    }
    let entries = node.survey().entries.iter();
    let keys: Vec<(&str, &EntryFacts)> = entries
        .filter(|(path, entry)| entry.kind == EntryKind::File && is_secret(path))
        .map(|(path, entry)| (path.as_str(), entry))
        .collect();
    if keys.is_empty() {
        return Err(Unseen::NotTaken(
            "no private key is in what was looked at".to_owned(),
        ));
    }
    let open: Vec<&(&str, &EntryFacts)> = keys.iter().filter(|(_, it)| is_open(it)).collect();
    let Some((first, _)) = open.first() else {
        return Verdict::ok(format!("{} of them", keys.len()));
    };
    let paths: Vec<&str> = open.iter().map(|(path, _)| *path).collect();
    let mut finding = Finding::new(
        format!("{first} is readable by others than root"),
        format!("chmod 0600 {}", paths.join(" ")),
    );
    for (path, entry) in &open {
        let (mode, gid) = (entry.mode, entry.owner.gid);
        finding = finding.seen("mode", format_args!("{mode:04o} of {path}, group {gid}"));
    }
    finding.warn()
}

fn is_secret(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_key = name.ends_with(".key")
        || name.ends_with("-key.pem")
        || SECRETS.contains(&name)
        || name.starts_with("kubelet-client-") && name.ends_with(".pem");
    let is_kubeconfig = name == "kubeconfig" && path.starts_with("/var/lib/");
    is_kubeconfig || is_key && FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Whether anybody may read it, or a group that is not root's.
fn is_open(entry: &EntryFacts) -> bool {
    entry.mode & 0o004 != 0 || entry.mode & 0o040 != 0 && entry.owner.gid != 0
}
