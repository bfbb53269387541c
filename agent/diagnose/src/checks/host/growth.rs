//! Filesystems that did not grow with their disk, and root volumes that are too small.

use super::disks::volume_of;
use crate::checks::check::Finding;
use crate::checks::node::{Mount, Node};
use quake_model::facts::SpaceFacts;

/// A filesystem that has this share of its disk or less was not grown: what a filesystem keeps for itself is a few percent.
const SHARE: f64 = 0.8;
/// Less than this is not worth a word: the boot loader's partitions.
const LEAST: u64 = 4 << 30;

/// A filesystem that is much smaller than its disk, of which no other filesystem has a part.
pub(super) struct Ungrown {
    mount: Mount,
    bytes: u64,
    disk: String,
    disk_bytes: u64,
    /// Whether cloud-init found no program that grows a partition.
    lacks_tool: bool,
}

/// Whether the filesystem of a space did not grow with its disk.
pub(super) fn ungrown(node: &Node<'_>, space: &SpaceFacts) -> Option<Ungrown> {
    let mount = node.mount_of(&space.path).ok()??;
    let devices = node.survey().devices.ok()?;
    let device = devices.iter().map(|seen| &seen.device);
    let device = device
        .filter(|device| partition(&mount.facts.source, &device.path).is_some())
        .max_by_key(|device| device.path.len())?;
    let mounts = node.mounts().ok()?;
    let is_other = |other: &&Mount| {
        let is_boot = other.facts.target.starts_with("/boot") || other.facts.target == "/efi";
        other.facts.source != mount.facts.source && !is_boot
    };
    let mut others = mounts.iter().filter(is_other);
    let is_shared = others.any(|it| partition(&it.facts.source, &device.path).is_some());
    let is_small = (space.bytes as f64) < device.size_bytes as f64 * SHARE;
    let is_worth = device.size_bytes.saturating_sub(space.bytes) > LEAST;
    (is_small && is_worth && !is_shared).then(|| Ungrown {
        bytes: space.bytes,
        disk: device.path.clone(),
        disk_bytes: device.size_bytes,
        lacks_tool: lacks_tool(node),
        mount,
    })
}

/// Whether cloud-init says that it has no program that grows a partition (`cloudinit/config/cc_growpart.py`).
fn lacks_tool(node: &Node<'_>) -> bool {
    let logs = node.survey().logs.ok();
    let mut lines = logs.into_iter().flat_map(|logs| logs.values().flatten());
    lines.any(|line| {
        line.contains("No resizers available") || line.contains("unable to find resizer")
    })
}

/// Whether kubelet looked for images that it could remove and found none.
pub(super) fn all_images_are_used(node: &Node<'_>) -> bool {
    let journal = node.journal("kubelet.service").iter();
    let mut lines = journal.filter(|line| line.contains("only found"));
    lines.any(|line| line.contains("only found 0 bytes eligible to free"))
}

/// How the root volume is made larger, of an instance group and of this instance.
pub(super) fn root_volume_fix(node: &Node<'_>, space: &SpaceFacts) -> String {
    let mount = node.mount_of(&space.path).ok().flatten();
    let volume = mount.and_then(|mount| volume_of(node, &mount.facts.source));
    let volume = volume.as_deref().unwrap_or("<volume>");
    format!(
        "set a larger rootVolume.size in kops edit instancegroup and roll the group; on this node: aws ec2 modify-volume --volume-id {volume} --size <GiB>, growpart, then resize2fs or xfs_growfs; du -xhd3 {} | sort -h | tail shows what is large",
        space.path
    )
}

/// The partition of a disk that a mount's source is, such as `1`; empty for the disk itself.
pub(super) fn partition<'a>(source: &'a str, disk: &str) -> Option<&'a str> {
    let rest = source.strip_prefix(disk)?;
    let number = match disk.ends_with(|c: char| c.is_ascii_digit()) {
        true if rest.is_empty() => rest,
        true => rest.strip_prefix('p')?,
        false => rest,
    };
    number.bytes().all(|b| b.is_ascii_digit()).then_some(number)
}

impl Ungrown {
    /// What is so, as the end of a clause.
    pub(super) fn what(&self) -> String {
        format!(
            "its filesystem has {} GiB, and its disk {} has {} GiB",
            self.bytes >> 30,
            self.disk,
            self.disk_bytes >> 30
        )
    }

    /// How it is grown.
    pub(super) fn fix(&self) -> String {
        const NOT_THERE: &str = "apt-get install -y cloud-guest-utils (dnf install -y cloud-utils-growpart) brings growpart, and belongs into the image; ";
        let (source, target) = (&self.mount.facts.source, &self.mount.facts.target);
        let grow = match self.mount.facts.filesystem.as_str() {
            "xfs" => format!("xfs_growfs {target}"),
            "btrfs" => format!("btrfs filesystem resize max {target}"),
            _ => format!("resize2fs {source}"),
        };
        match partition(source, &self.disk) {
            Some("") | None => grow,
            Some(number) => format!(
                "{}growpart {} {number} && {grow} (where / is full, first: mount -t tmpfs tmpfs /tmp)",
                if self.lacks_tool { NOT_THERE } else { "" },
                self.disk
            ),
        }
    }

    /// The finding, where there is room as yet.
    pub(super) fn finding(&self) -> Finding {
        Finding::new(
            format!(
                "{} did not grow with its disk: {}",
                self.mount.facts.target,
                self.what()
            ),
            format!(
                "{}; cloud-init does it at the boot where growpart is in /etc/cloud/cloud.cfg and the package cloud-guest-utils (cloud-utils-growpart) is in the image",
                self.fix()
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::partition;

    #[test]
    fn a_source_is_of_a_disk_by_its_name() {
        for (source, disk, wanted) in [
            ("/dev/nvme0n1p1", "/dev/nvme0n1", Some("1")),
            ("/dev/nvme1n1", "/dev/nvme1n1", Some("")),
            ("/dev/xvda1", "/dev/xvda", Some("1")),
            ("/dev/nvme0n1p1", "/dev/nvme0n", None),
            ("/dev/mapper/vg-root", "/dev/nvme0n1", None),
        ] {
            assert_eq!(partition(source, disk), wanted, "{source} {disk}");
        }
    }
}
