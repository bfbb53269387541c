//! Which logs take most of a filesystem.

use crate::checks::node::Node;
use quake_model::facts::{EntryKind, SpaceFacts};
use std::collections::BTreeMap;

/// Files of one kind that have this share of a filesystem are worth a word.
const SHARE: f64 = 0.2;

const FOLDER: &str = "/var/log";

/// Log files of one kind, and how many bytes they have together.
pub(super) struct LargestLogs {
    kind: String,
    bytes: u64,
    count: usize,
}

/// The kind of log files that takes most of the filesystem which has them, where that is much.
pub(super) fn of(node: &Node<'_>, space: &SpaceFacts) -> Option<LargestLogs> {
    let mount = node.mount_of(FOLDER).ok()??;
    if mount.facts.target != space.path {
        return None;
    }
    let mut kinds: BTreeMap<&str, (u64, usize)> = BTreeMap::new();
    for (name, entry) in node.list(FOLDER) {
        if entry.kind == EntryKind::File {
            let (bytes, count) = kinds.entry(stem(name)).or_default();
            *bytes += entry.size;
            *count += 1;
        }
    }
    let (kind, (bytes, count)) = kinds.into_iter().max_by_key(|(_, (bytes, _))| *bytes)?;
    let is_much = bytes as f64 >= space.bytes as f64 * SHARE;
    is_much.then(|| LargestLogs {
        kind: kind.to_owned(),
        bytes,
        count,
    })
}

/// What the names of a log and of its rotated files have in common: `x-audit` of `x-audit-2026-11-22.log`.
fn stem(name: &str) -> &str {
    let digit = name.find(|c: char| c.is_ascii_digit());
    let end = digit.unwrap_or(name.len());
    let end = name.find(".log").map_or(end, |log| log.min(end));
    let stem = name[..end].trim_end_matches(['-', '.', '_']);
    if stem.is_empty() { name } else { stem }
}

impl LargestLogs {
    pub(super) fn what(&self) -> String {
        let gib = self.bytes as f64 / f64::from(1 << 30);
        format!(
            "{FOLDER}/{}* has {gib:.0} GiB of it in {} files",
            self.kind, self.count
        )
    }

    pub(super) fn fix(&self) -> String {
        let limit = match self.kind.contains("audit") {
            true => {
                "set auditLogMaxBackups, auditLogMaxAge and auditLogMaxSize for kubeAPIServer in kops edit cluster"
            }
            false => "limit it in /etc/logrotate.d",
        };
        format!(
            "copy the rotated ones ({FOLDER}/{0} and a number behind it) elsewhere if they must be kept, then: rm {FOLDER}/{0}[-._][0-9]*; then {limit}",
            self.kind
        )
    }
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn rotated_files_are_of_one_kind_with_their_log() {
        for (name, wanted) in [
            ("kube-apiserver-audit.log", "kube-apiserver-audit"),
            (
                "kube-apiserver-audit-2026-11-22T03-41-12.411.log",
                "kube-apiserver-audit",
            ),
            ("syslog", "syslog"),
            ("syslog.1", "syslog"),
            ("messages-20261122", "messages"),
            ("0.log", "0.log"),
        ] {
            assert_eq!(stem(name), wanted, "{name}");
        }
    }
}
