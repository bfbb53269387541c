//! `host.disk-space`: how much room filesystems have, of bytes and of inodes, and what takes it.

use super::growth::{all_images_are_used, root_volume_fix, ungrown};
use super::{core_dumps, largest_logs, tmpfs};
use crate::checks::check::{Finding, Verdict};
use crate::checks::free_space::{SCARCE, scarce, share_free};
use crate::checks::kubelet::{entry, quantity};
use crate::checks::kubelet_config::kubelet_configuration;
use crate::checks::node::Node;
use quake_model::facts::{EntryKind, SpaceFacts, Unseen};

pub(super) fn disk_space(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let spaces = node.survey().spaces.get()?;
    // The volumes of etcd are grown and not tidied: `volumes.space` judges them.
    let own = spaces
        .iter()
        .filter(|space| !space.path.starts_with("/mnt/master-"));
    let rooms: Vec<(&SpaceFacts, f64)> = own.map(|space| (space, share_free(space))).collect();
    let Some((space, left)) = rooms.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Verdict::skip("no filesystem was looked at");
    };
    let percent = left * 100.0;
    let note = format!("{percent:.0} % of {} is free", space.path);
    let small = rooms.iter().find_map(|(space, _)| ungrown(node, space));
    if *left >= SCARCE {
        if let Some(finding) = high_threshold(node, spaces) {
            return finding.warn();
        }
        return small.map_or_else(|| Verdict::ok(note), |small| small.finding().warn());
    }
    let what = match is_of_bytes(space) {
        true => "is almost full",
        false => "has almost no free inodes",
    };
    let full = format!("{} {what}: {percent:.1} % is free", space.path);
    let in_memory = tmpfs::of(node, space).filter(|_| is_of_bytes(space));
    if let Some(found) = in_memory.filter(|_| largest_file(node, space).is_none()) {
        let finding = Finding::new(format!("{full}; {}", found.what()), found.fix(node));
        return scarce(finding, space);
    }
    let dumps = core_dumps::of(node, space).filter(|_| is_of_bytes(space));
    if let Some(dumps) = dumps {
        let finding = Finding::new(format!("{full}; {}", dumps.what()), dumps.fix());
        return scarce(finding.seen("kernel log", dumps.line), space);
    }
    let (full, tidy) = what_fills(node, space, full);
    let finding = match ungrown(node, space).filter(|_| is_of_bytes(space)) {
        Some(small) => Finding::new(
            format!("{full}, and {}", small.what()),
            format!("{}; {tidy}", small.fix()),
        ),
        None if matches!(space.path.as_str(), "/run" | "/tmp") => Finding::new(full, tidy),
        None => Finding::new(full, format!("{tidy}; or grow the volume")),
    };
    scarce(finding, space)
}

/// The finding where kubelet evicts pods although there is room, because it is told to keep more free than the filesystem has
/// (Kubernetes, Node-pressure Eviction).
fn high_threshold(node: &Node<'_>, spaces: &[SpaceFacts]) -> Option<Finding> {
    const ROOM: f64 = 0.2;
    const GIB: f64 = 1_073_741_824.0;
    let signals = [
        ("nodefs.available", "/var/lib/kubelet"),
        ("imagefs.available", "/var/lib/containerd"),
    ];
    let keys = [
        ("evictionHard", "eviction-hard"),
        ("evictionSoft", "eviction-soft"),
    ];
    signals.iter().find_map(|(signal, directory)| {
        let around = spaces
            .iter()
            .filter(|space| is_below(directory, &space.path));
        let space = around.max_by_key(|space| space.path.len())?;
        let (free, all) = (space.bytes_free as f64, space.bytes as f64);
        keys.iter().find_map(|(key, flag)| {
            let text = entry(node, key, flag, signal)?;
            let least = quantity(&text, all)?;
            (least > free && share_free(space) > ROOM).then(|| {
                Finding::new(
                    format!(
                        "kubelet evicts pods while less than {text} of {} are free ({key}, {signal}), and of its {:.0} GiB {:.0} are free: the threshold is too high, the disk is not full",
                        space.path,
                        all / GIB,
                        free / GIB
                    ),
                    format!(
                        "set {signal} to 10% in spec.kubelet.{key} (kops edit cluster, or the instance group), then roll the group; at once: in {}, then systemctl restart kubelet.service; or a larger rootVolumeSize",
                        kubelet_configuration(node)
                    ),
                )
            })
        })
    })
}

/// Whether a path is a directory or below it.
pub(super) fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What fills it, as far as that is seen, and how room is made.
fn what_fills(node: &Node<'_>, space: &SpaceFacts, full: String) -> (String, String) {
    if let Some((path, mib)) = largest_file(node, space) {
        return (
            format!("{full}; {path} alone has {mib} MiB"),
            format!(
                "rm {path}, or move it to the disk (fuser -v {path} shows who writes it: systemctl stop that first); {}",
                tidy(space)
            ),
        );
    }
    let many = many_files(node, space).filter(|_| !is_of_bytes(space));
    let logs = largest_logs::of(node, space).filter(|_| is_of_bytes(space));
    match &logs {
        Some(logs) => (
            format!("{full}; {}", logs.what()),
            format!("{}; {}", logs.fix(), tidy(space)),
        ),
        None if is_of_bytes(space) && all_images_are_used(node) => (
            format!("{full}, and every image is in use"),
            match ungrown(node, space) {
                Some(_) => "a larger volume is not needed".to_owned(),
                None => root_volume_fix(node, space),
            },
        ),
        None => match many {
            Some((folder, mib)) => (
                format!(
                    "{full}; the directory {folder} alone takes {mib} MiB for its names, which is very many files"
                ),
                format!(
                    "find {folder} -xdev -type f -delete, unless they are needed, and stop what makes them (of maildrop: MAILTO=\"\" in the crontab, or a postfix that runs); {}",
                    tidy(space)
                ),
            ),
            None => (full, tidy(space)),
        },
    }
}

/// The file that takes most of a filesystem in memory, where that is a quarter of it or more, and its size in MiB.
fn largest_file(node: &Node<'_>, space: &SpaceFacts) -> Option<(String, u64)> {
    const SHARE: u64 = 4;
    if !matches!(space.path.as_str(), "/run" | "/tmp") {
        return None;
    }
    let entries = node.survey().entries.iter();
    let files = entries
        .filter(|(path, entry)| entry.kind == EntryKind::File && is_below(path, &space.path));
    let (path, entry) = files.max_by_key(|(_, entry)| entry.size)?;
    (entry.size >= space.bytes / SHARE).then(|| (path.clone(), entry.size >> 20))
}

/// The directory whose own size is that of the most names, where that is hundreds of thousands, and its size in MiB.
fn many_files(node: &Node<'_>, space: &SpaceFacts) -> Option<(String, u64)> {
    // A name takes some 40 bytes in ext4.
    const LARGE: u64 = 8 << 20;
    let entries = node.survey().entries.iter();
    let folders = entries.filter(|(path, entry)| {
        entry.kind == EntryKind::Directory && entry.size >= LARGE && path.starts_with(&space.path)
    });
    let (folder, entry) = folders.max_by_key(|(_, entry)| entry.size)?;
    Some((folder.clone(), entry.size >> 20))
}

/// How room is made on a filesystem.
fn tidy(space: &SpaceFacts) -> String {
    const ALL: &str = "journalctl --vacuum-size=200M; crictl rmi --prune; quake-agent store gc";
    let path = &space.path;
    match path.as_str() {
        "/run" => "du -xh -d2 /run | sort -h | tail shows what fills it (a journal without a disk: journalctl --vacuum-size=50M); mount -o remount,size=50% /run".to_owned(),
        "/tmp" => "du -xh -d2 /tmp | sort -h | tail shows what fills it; systemd-tmpfiles --clean removes what is older than ten days".to_owned(),
        // What auditd does where it has too little is its own affair (`services.target`).
        "/var/log/audit" => "df -h /var/log/audit /root; where it shows room in /root: mkdir -p /root/audit-old && mv /var/log/audit/audit.log.* /root/audit-old/ (where /var/log/audit is on the same filesystem as /root nothing is freed: move them to another one); set max_log_file_action = rotate in /etc/audit/auditd.conf, then: service auditd restart".to_owned(),
        "/boot" => "apt-get autoremove --purge, or dnf remove --oldinstallonly, removes old kernels".to_owned(),
        _ if !is_of_bytes(space) => format!(
            "du --inodes -xd4 {path} | sort -n | tail shows which directory has the many files; {ALL}"
        ),
        _ => ALL.to_owned(),
    }
}

/// Whether bytes are scarcer than inodes.
fn is_of_bytes(space: &SpaceFacts) -> bool {
    let (bytes, inodes) = (space.bytes.max(1) as f64, space.inodes.max(1) as f64);
    space.bytes_free as f64 / bytes <= space.inodes_free as f64 / inodes || space.inodes == 0
}
