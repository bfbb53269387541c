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
        fix(&kind, rest),
    );
    Some(finding.seen("kernel log", kernel_log::last(&log)))
}

/// Features of XFS without which a kernel cannot mount, the bit and the first Linux that knows it (`fs/xfs/libxfs/xfs_format.h`).
const OF_XFS: &[(u32, &str, &str)] = &[
    (0x100, "metadir", "6.13"),
    (0x80, "parent", "6.10"),
    (0x40, "exchrange", "6.10"),
    (0x20, "nrext64", "5.19"),
    (0x8, "bigtime", "5.10"),
];

fn fix(kind: &str, said: &str) -> String {
    if kind != "xfs" {
        return "use an image with a newer kernel, or pin the CSI driver whose mkfs is older; a new volume may be formatted without them: mkfs.ext4 -O ^metadata_csum_seed,^orphan_file; the volume is not damaged".to_owned();
    }
    let bits = between(said, "(0x", ")").and_then(|bits| u32::from_str_radix(bits, 16).ok());
    let needs = bits.and_then(|bits| OF_XFS.iter().find(|(bit, ..)| bits & bit != 0));
    let newer = match needs {
        Some((_, name, since)) => format!("Linux {since} or later, which knows {name}"),
        None => "Linux 6.1 or later".to_owned(),
    };
    format!(
        "use an image with a newer kernel: {newer} (spec.image of the instance group, then kops rolling-update); for new volumes of the EBS CSI driver set node.legacyXFS=true (--legacy-xfs=true); by hand: mkfs.xfs -m bigtime=0,inobtcount=0,reflink=0 -i nrext64=0; the volume is not damaged: one that is new and empty is deleted and made again"
    )
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(from)?;
    rest.split_once(to).map(|(inner, _)| inner)
}
