//! How much of a filesystem is free, and what that is worth: of the host's own, and of the volumes of etcd.

use super::check::{Finding, Verdict};
use quake_model::facts::{SpaceFacts, Unseen};

/// Below this share it is full: a boot wants some hundred megabytes for its assets, and etcd writes its log ahead in pieces
/// of 64 MB.
const FULL: f64 = 0.03;

/// Below this share it is time to act: kubelet begins to evict pods (`nodefs.available<10%`, its default).
pub(super) const SCARCE: f64 = 0.10;

/// The share that is free, of bytes or of inodes, whichever is scarcer.
pub(super) fn share_free(space: &SpaceFacts) -> f64 {
    let share = |free: u64, all: u64| match all {
        0 => 1.0,
        all => free as f64 / all as f64,
    };
    share(space.bytes_free, space.bytes).min(share(space.inodes_free, space.inodes))
}

/// The verdict on a filesystem that is scarce, with the numbers.
pub(super) fn scarce(finding: Finding, space: &SpaceFacts) -> Result<Verdict, Unseen> {
    let finding = finding
        .seen(
            "bytes free",
            format_args!("{} of {}", space.bytes_free, space.bytes),
        )
        .seen(
            "inodes free",
            format_args!("{} of {}", space.inodes_free, space.inodes),
        );
    match share_free(space) < FULL {
        true => finding.fail(),
        false => finding.warn(),
    }
}
