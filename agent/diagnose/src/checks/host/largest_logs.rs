//! Which logs take most of a filesystem.

use crate::checks::node::Node;
use quake_model::facts::{EntryKind, SpaceFacts};
use std::collections::BTreeMap;

/// Files of one kind that have this share of a filesystem are worth a word.
const SHARE: f64 = 0.2;

const FOLDER: &str = "/var/log";

/// Log files of one kind, and how many bytes they have together.
pub(super) struct LargestLogs {
    /// What their paths begin with.
    start: String,
    bytes: u64,
    count: usize,
    /// The largest of them.
    largest: String,
    /// Whether logrotate leaves them out, because others than root may write in their directory.
    is_skipped: bool,
}

/// The kind of log files that takes most of the filesystem which has them, where that is much.
pub(super) fn of(node: &Node<'_>, space: &SpaceFacts) -> Option<LargestLogs> {
    let mount = node.mount_of(FOLDER).ok()??;
    if mount.facts.target != space.path {
        return None;
    }
    let mut kinds: BTreeMap<&str, (u64, usize, (u64, &str))> = BTreeMap::new();
    let entries = node.survey().entries.range(FOLDER.to_owned()..);
    for (path, entry) in entries.take_while(|(path, _)| path.starts_with(FOLDER)) {
        if entry.kind == EntryKind::File {
            let (bytes, count, largest) = kinds.entry(start(path)).or_default();
            *bytes += entry.size;
            *count += 1;
            *largest = (*largest).max((entry.size, path));
        }
    }
    let (start, (bytes, count, (_, largest))) =
        kinds.into_iter().max_by_key(|(_, (bytes, ..))| *bytes)?;
    let is_much = bytes as f64 >= space.bytes as f64 * SHARE;
    is_much.then(|| LargestLogs {
        start: start.to_owned(),
        bytes,
        count,
        largest: largest.to_owned(),
        is_skipped: is_skipped(node, start),
    })
}

/// Whether logrotate said that it skips the logs.
fn is_skipped(node: &Node<'_>, start: &str) -> bool {
    let skips = |line: &String| {
        line.contains(&format!("skipping \"{start}")) && line.contains("insecure permissions")
    };
    node.journal("logrotate.service").iter().any(skips)
}

/// What the paths of a log and of its rotated files begin with: `/var/log/x-audit` of `/var/log/x-audit-2026-11-22.log`.
fn start(path: &str) -> &str {
    let name = path.rfind('/').map_or(0, |at| at + 1);
    &path[..name + stem(&path[name..]).len()]
}

/// What their names have in common.
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
            "{}* has {gib:.0} GiB of it in {} files",
            self.start, self.count
        )
    }

    pub(super) fn fix(&self) -> String {
        if self.is_skipped {
            let folder = self
                .start
                .rsplit_once('/')
                .map_or(FOLDER, |(folder, _)| folder);
            return format!(
                "logrotate skips it, for others than root may write in {folder}: chmod g-w,o-w {FOLDER} {folder}; truncate -s 0 {}.log, or copy it elsewhere first; then: systemctl start logrotate.service",
                self.start
            );
        }
        let limit = match &self.start {
            // auditd's own (auditd.conf(5), `max_log_file_action`).
            start if start.starts_with("/var/log/audit/") => {
                "set max_log_file_action = rotate and num_logs = 5 in /etc/audit/auditd.conf, then: service auditd restart"
            }
            start if start.contains("audit") => {
                "set auditLogMaxBackups, auditLogMaxAge and auditLogMaxSize for kubeAPIServer in kops edit cluster"
            }
            _ => "limit it in /etc/logrotate.d",
        };
        match self.count {
            1 => format!(
                "copy it elsewhere if it must be kept, then: truncate -s 0 {}; then {limit}",
                self.largest
            ),
            _ => format!(
                "copy the rotated ones ({0} and a number behind it) elsewhere if they must be kept, then: rm -f {0}[-._][0-9]* {0}.log.[0-9]*; then {limit}",
                self.start
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::start;

    #[test]
    fn rotated_files_are_of_one_kind_with_their_log() {
        for (name, wanted) in [
            ("kube-apiserver-audit.log", "kube-apiserver-audit"),
            (
                "kube-apiserver-audit-2026-11-22T03-41-12.411.log",
                "kube-apiserver-audit",
            ),
            ("audit/audit-2026-11-10T21-40-02.118.log", "audit/audit"),
            ("syslog", "syslog"),
            ("syslog.1", "syslog"),
            ("messages-20261122", "messages"),
            ("0.log", "0.log"),
        ] {
            let path = format!("/var/log/{name}");
            assert_eq!(start(&path), format!("/var/log/{wanted}"), "{name}");
        }
    }
}
