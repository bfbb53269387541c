//! Volumes that are copies of one which is mounted here: XFS mounts one of two filesystems with the same UUID.

use super::disks::volume_of;
use super::kernel_log;
use crate::checks::check::Finding;
use crate::checks::node::{Mount, Node};
use quake_model::facts::{DeviceContents, DeviceSeen};

/// How the kernel refuses the second one (Linux, `fs/xfs/xfs_mount.c`).
const REFUSED: &[&str] = &["Filesystem has duplicate UUID"];

/// The finding of a copy that the kernel refuses, where the device with the same UUID is mounted.
pub(super) fn refused(node: &Node<'_>, mounts: &[Mount]) -> Option<Finding> {
    let log = kernel_log::lines(node, REFUSED).ok()?;
    let devices = node.survey().devices.ok()?;
    let mount_of = |seen: &DeviceSeen| {
        let mut mounts = mounts.iter();
        mounts.find(|mount| mount.facts.number == seen.device.number)
    };
    // Those that are mounted by now were refused before.
    let (line, copy, uuid) = log.iter().rev().find_map(|line| {
        let (_, rest) = line.split_once("XFS (")?;
        let path = format!("/dev/{}", rest.split_once(')')?.0);
        let copy = devices.iter().find(|seen| seen.device.path == path)?;
        let uuid = uuid_of(copy).filter(|_| mount_of(copy).is_none())?;
        Some((line, copy, uuid))
    })?;
    let (original, mount) = devices.iter().find_map(|seen| {
        let is_same = seen.device.path != copy.device.path && uuid_of(seen) == Some(uuid);
        Some((seen, mount_of(seen).filter(|_| is_same)?))
    })?;
    let (path, other) = (named(node, copy), named(node, original));
    let device = &copy.device.path;
    let finding = Finding::new(
        format!(
            "{path} is a copy of {other}, which is mounted at {}: both have the XFS UUID {uuid}, and the kernel does not mount the second; nothing is damaged",
            mount.facts.target
        ),
        format!(
            "add nouuid to mountOptions of the copy's PersistentVolume or StorageClass, or let its pod run on another node than the original's (podAntiAffinity); or give it a UUID of its own once, while it is not mounted elsewhere: mount -o nouuid {device} /mnt && umount /mnt && xfs_admin -U generate {device}; no xfs_repair and no mkfs"
        ),
    );
    Some(finding.seen("kernel log", line).seen("UUID", uuid))
}

/// The UUID of the XFS on a device.
fn uuid_of(seen: &DeviceSeen) -> Option<&str> {
    match seen.contents.as_ref()? {
        DeviceContents::Filesystem { name, uuid, .. } if name == "xfs" => uuid.as_deref(),
        _ => None,
    }
}

/// A device with its volume: `/dev/nvme2n1 (vol-0d7732be10c94af05)`.
fn named(node: &Node<'_>, seen: &DeviceSeen) -> String {
    let path = &seen.device.path;
    match volume_of(node, path) {
        Some(volume) => format!("{path} ({volume})"),
        None => path.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::{DeviceContents, DeviceFacts, DeviceSeen, Seen};

    fn device(name: &str, serial: &str, number: &str) -> DeviceSeen {
        DeviceSeen {
            device: DeviceFacts {
                path: format!("/dev/{name}"),
                serial: Some(serial.to_owned()),
                size_bytes: 1 << 30,
                number: number.to_owned(),
            },
            contents: Some(DeviceContents::Filesystem {
                name: "xfs".to_owned(),
                uuid: Some("6b0c9a52-8e1d".to_owned()),
                label: None,
                size_bytes: None,
            }),
        }
    }

    #[test]
    fn a_copy_of_a_mounted_volume_is_named_with_both_devices() {
        let id = "host.disk-errors";
        let mut node = Sample::worker();
        let table = "28 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n212 28 259:3 / /var/lib/kubelet/a rw - xfs /dev/nvme1n1 rw\n";
        node.text("/proc/self/mountinfo", table);
        node.survey.kernel_log = Seen::Yes(Vec::new());
        node.survey.devices = Seen::Yes(vec![
            device("nvme1n1", "vol0a41", "259:3"),
            device("nvme2n1", "vol0d77", "259:4"),
        ]);
        node.assert(id, Status::Ok, "none");
        node.survey.kernel_log = Seen::Yes(vec![
            "XFS (nvme2n1): Filesystem has duplicate UUID 6b0c9a52-8e1d - can't mount".to_owned(),
        ]);
        let said = "/dev/nvme2n1 (vol-0d77) is a copy of /dev/nvme1n1 (vol-0a41)";
        node.assert(id, Status::Warn, said);
        let copy = "213 28 259:4 / /var/lib/kubelet/b rw - xfs /dev/nvme2n1 rw,nouuid\n";
        node.text("/proc/self/mountinfo", &format!("{table}{copy}"));
        node.assert(id, Status::Ok, "none");
    }
}
