//! Mounted filesystems whose own metadata are damaged, while their device reads and writes: fsck and xfs_repair repair
//! them, and another volume is no help.

use super::disks::{SILENT, volume_of};
use super::kernel_log;
use crate::checks::check::Finding;
use crate::checks::node::{Mount, Node};

/// How the kernel tells of damage (Linux, `fs/xfs/xfs_fsops.c`, `fs/xfs/xfs_error.c`, `fs/ext4/super.c`,
/// `fs/btrfs/disk-io.c`).
const DAMAGE: &[&str] = &[
    "Corruption of in-memory data",
    "Corruption of on-disk metadata",
    "Corruption detected",
    "Metadata corruption detected",
    "Metadata CRC error detected",
    "parent transid verify failed",
    "corrupt leaf",
];

/// What is in a line of ext4 that tells of damage and not of a read that failed.
const DAMAGE_OF_EXT4: &[&str] = &["checksum", "corrupt", "bad ", "bogus", "deleted inode"];

/// How the kernel tells that a device itself fails: damage of its filesystem follows from that.
const DEVICE_FAILS: &[&str] = &[
    "I/O error",
    "critical medium error",
    "critical target error",
];

/// How a filesystem says that it serves nothing any more.
const STOPPED: &[&str] = &[
    "Shutting down filesystem",
    "has been shut down",
    "forced readonly",
];

/// The finding of a damaged filesystem, where no line of `errors`, which are those of its mount, tells that its device fails.
pub(super) fn damaged(errors: &[&str], mount: &Mount, node: &Node<'_>) -> Option<Finding> {
    let line = errors.iter().rev().find(|line| is_damage(line))?;
    // A filesystem that has shut itself down says "I/O error" of its own reads, too, and names no device of the block layer.
    let is_of_device = |line: &&&str| !line.contains("XFS (") || line.contains("log I/O error");
    let mut of_device = errors.iter().filter(is_of_device);
    if of_device.any(|line| has(line, DEVICE_FAILS) || has(line, SILENT)) {
        return None;
    }
    let stopped = errors.iter().rev().find(|line| has(line, STOPPED));
    let (source, target) = (&mount.facts.source, &mount.facts.target);
    let kind = &mount.facts.filesystem;
    let does = match stopped {
        Some(_) => " and has shut itself down, so all I/O there fails",
        None => "",
    };
    let finding = Finding::new(
        format!(
            "the {kind} of {source} at {target} has damaged metadata{does}; the device itself reports no error"
        ),
        remedy(node, mount),
    );
    let finding = finding.seen("kernel log", line);
    Some(match stopped.filter(|stopped| *stopped != line) {
        Some(stopped) => finding.seen("then", stopped),
        None => finding,
    })
}

/// How btrfs tells that its metadata have no room (Linux, `fs/btrfs/space-info.c`): 28 is ENOSPC.
const NO_ROOM: &[&str] = &[
    "errno=-28",
    "Transaction aborted (error -28)",
    "space_info METADATA has 0 free",
];

/// The finding of a btrfs whose metadata have no room left: it becomes read-only although there is room for data.
pub(super) fn without_room(node: &Node<'_>, mount: &Mount) -> Option<Finding> {
    if mount.facts.filesystem != "btrfs" {
        return None;
    }
    let log = kernel_log::lines(node, NO_ROOM).ok()?;
    let device = mount.facts.source.strip_prefix("/dev/")?;
    let line = log.iter().rev().find(|line| line.contains(device))?;
    let (source, target) = (&mount.facts.source, &mount.facts.target);
    let finding = Finding::new(
        format!(
            "the btrfs of {source} at {target} has no room for its metadata and turned read-only, although there is room for data: all of the device is allocated to chunks"
        ),
        format!(
            "reboot (or umount {target}; mount {target}), then: btrfs filesystem usage {target}; btrfs balance start -dusage=10 {target}, then with 20 and 40, which frees chunks; or grow the volume and btrfs filesystem resize max {target}; below a runtime ext4 or xfs are safer; no disk is broken, and btrfs check is no help"
        ),
    );
    Some(finding.seen("kernel log", line))
}

fn has(line: &str, words: &[&str]) -> bool {
    words.iter().any(|word| line.contains(word))
}

fn is_damage(line: &str) -> bool {
    has(line, DAMAGE) || (line.contains("EXT4-fs error") && has(line, DAMAGE_OF_EXT4))
}

fn remedy(node: &Node<'_>, mount: &Mount) -> String {
    let (source, target) = (&mount.facts.source, &mount.facts.target);
    let repair = match mount.facts.filesystem.as_str() {
        "xfs" => format!(
            "umount {target}; mount {target} && umount {target} once, which replays its log; xfs_repair {source}; mount {target}"
        ),
        "btrfs" => {
            format!("umount {target}; btrfs check --readonly {source}, and restore what it names")
        }
        _ => format!("umount {target}; fsck -f {source}; mount {target}"),
    };
    if target == "/" {
        return "replace the instance (kubectl drain, then terminate it): the filesystem of / cannot be repaired while it is in use".to_owned();
    }
    if ["/var/lib/containerd", "/var/lib/docker"].contains(&target.as_str()) {
        return format!(
            "it holds images and containers alone: replace the instance (kubectl drain first), or repair it: systemctl stop kubelet containerd; {repair}; start both; a restart of containerd alone does not help"
        );
    }
    let snapshot = match volume_of(node, source) {
        Some(volume) => format!("aws ec2 create-snapshot --volume-id {volume}"),
        None => "take a snapshot of its volume".to_owned(),
    };
    format!("{snapshot}; stop what uses it (fuser -vm {target}); {repair}")
}
