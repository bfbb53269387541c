//! File systems that the kernel does not mount because a newer program made them.

use super::kernel_log;
use crate::checks::check::Finding;
use crate::checks::node::Node;

/// How the kernel says so (`fs/xfs/libxfs/xfs_sb.c`, `fs/ext4/super.c`, `fs/btrfs/disk-io.c`).
const UNKNOWN: &[&str] = &[
    "unknown read-only compatible features",
    "unknown incompatible features",
    "unknown compatible features",
    "because of unsupported optional features",
];

/// The finding where the kernel knows less than what a file system was made with.
pub(super) fn newer(node: &Node<'_>) -> Option<Finding> {
    let log = kernel_log::lines(node, UNKNOWN).ok()?;
    let line = log.last()?;
    let release = node.text("/proc/sys/kernel/osrelease").ok().flatten();
    let kernel = release.map_or("the kernel".to_owned(), |release| {
        format!("the kernel {}", release.trim())
    });
    let device = between(line, "(", ")").filter(|name| !name.contains("features"));
    let kind = line
        .split([' ', '-'])
        .find(|word| matches!(*word, "XFS" | "EXT4" | "EXT3" | "BTRFS"));
    let kind = kind.map_or("file system".to_owned(), str::to_lowercase);
    let rest = line.rsplit_once("features").map_or("", |(_, rest)| rest);
    let features = between(rest, "(", ")").map_or(String::new(), |bits| format!(" ({bits})"));
    let place = device.map_or(String::new(), |device| format!(" of {device}"));
    let finding = Finding::new(
        format!(
            "{kernel} is too old for the {kind}{place}: a newer mkfs made it with features{features} that it does not know"
        ),
        "use an image with a newer kernel (mkfs.xfs since 5.15 turns on bigtime and inobtcount, which want Linux 5.10), or pin the CSI driver whose mkfs is older; a new volume may be formatted without them: mkfs.xfs -m bigtime=0,inobtcount=0,reflink=0, mkfs.ext4 -O ^metadata_csum_seed,^orphan_file; the volume is not damaged",
    );
    Some(finding.seen("kernel log", kernel_log::last(&log)))
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(from)?;
    rest.split_once(to).map(|(inner, _)| inner)
}
