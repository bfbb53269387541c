//! Block devices of the kernel, by serial. Names such as `nvme1n1` change from boot to boot and are
//! evidence of nothing; an EBS volume is known by its controller's serial, which is the volume's id.

use quake_model::facts::DeviceFacts;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// How udev names links to EBS volumes (`60-persistent-storage.rules`: model and serial).
const EBS_LINK: &str = "nvme-Amazon_Elastic_Block_Store_";

/// Sizes in sysfs count sectors of 512 bytes, whatever the device's own are.
const SECTOR: u64 = 512;

/// Lists devices below a `/sys`, with serials also from the links in a `/dev`; sorted by path.
///
/// Left out are RAM disks, devices without a medium (size 0, as a loop device that nothing backs) and the
/// hidden paths below an NVMe multipath device. Partitions are listed, without a serial: the serial is the
/// disk's, and a partition is never the volume.
pub(super) fn list_devices(sys: &Path, dev: &Path) -> io::Result<Vec<DeviceFacts>> {
    let links = serials_by_link(&dev.join("disk/by-id"));
    let mut devices = Vec::new();
    for entry in std::fs::read_dir(sys.join("class/block"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        // A device may go while the list is read; then it has no facts.
        if let Some(device) = device_facts(sys, &name, &links) {
            devices.push(device);
        }
    }
    devices.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(devices)
}

fn device_facts(sys: &Path, name: &str, links: &BTreeMap<String, String>) -> Option<DeviceFacts> {
    let folder = sys.join("class/block").join(name);
    let is_memory = name.starts_with("ram") || name.starts_with("zram");
    if is_memory || text_of(&folder.join("hidden")).as_deref() == Some("1") {
        return None;
    }
    let sectors: u64 = text_of(&folder.join("size"))?.parse().ok()?;
    if sectors == 0 {
        return None;
    }
    let serial = if folder.join("partition").exists() {
        None
    } else {
        serial_of(&folder).or_else(|| links.get(name).cloned())
    };
    Some(DeviceFacts {
        // sysfs writes `!` for the slash of names such as `cciss/c0d0`.
        path: format!("/dev/{}", name.replace('!', "/")),
        serial,
        size_bytes: sectors * SECTOR,
        number: text_of(&folder.join("dev"))?,
    })
}

/// The serial that the kernel shows: the controller's for NVMe, the device's own for virtio.
pub(super) fn serial_of(folder: &Path) -> Option<String> {
    // A controller's further namespaces share its serial and are other disks; EBS has only the first.
    let namespace = text_of(&folder.join("nsid"));
    if namespace.is_some_and(|id| id != "1") {
        return None;
    }
    ["device/serial", "serial"]
        .iter()
        .filter_map(|file| text_of(&folder.join(file)))
        .find(|serial| !serial.is_empty())
}

/// Serials by device name, from udev's links to EBS volumes. Links to partitions (`…-part1`) are left out.
fn serials_by_link(folder: &Path) -> BTreeMap<String, String> {
    let mut serials = BTreeMap::new();
    // Without udev there is no such directory, and the kernel's own serials must do.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let link = entry.file_name().to_string_lossy().into_owned();
        let Some(serial) = serial_in_link(&link) else {
            continue;
        };
        let target = std::fs::read_link(entry.path()).ok();
        let name = target.as_deref().and_then(Path::file_name);
        if let Some(name) = name {
            serials.insert(name.to_string_lossy().into_owned(), serial.to_owned());
        }
    }
    serials
}

/// The serial in a link's name, for the whole first namespace: newer rules add `_1`, older ones `-ns-1`.
fn serial_in_link(link: &str) -> Option<&str> {
    let rest = link.strip_prefix(EBS_LINK)?;
    let rest = rest
        .strip_suffix("_1")
        .or_else(|| rest.strip_suffix("-ns-1"))
        .unwrap_or(rest);
    let digits = rest.strip_prefix("vol")?;
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    whole.then_some(rest)
}

fn text_of(path: &Path) -> Option<String> {
    std::fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A machine whose sysfs is files of a scratch directory.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        for (path, text) in files {
            let path = scratch.path().join("sys/class/block").join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, text).expect("a file");
        }
        scratch
    }

    fn listed(scratch: &tempfile::TempDir) -> Vec<DeviceFacts> {
        let at = |name: &str| scratch.path().join(name);
        list_devices(&at("sys"), &at("dev")).expect("a list")
    }

    #[test]
    fn an_ebs_volume_has_its_controllers_serial_and_its_partitions_have_none() {
        let scratch = machine(&[
            ("nvme1n1/size", "41943040\n"),
            ("nvme1n1/dev", "259:3\n"),
            ("nvme1n1/nsid", "1\n"),
            ("nvme1n1/device/serial", "vol0123456789abcdef0 \n"),
            ("nvme1n1p1/size", "2048\n"),
            ("nvme1n1p1/dev", "259:4\n"),
            ("nvme1n1p1/partition", "1\n"),
            ("nvme1n1p1/device/serial", "vol0123456789abcdef0\n"),
        ]);
        let disk = DeviceFacts {
            path: "/dev/nvme1n1".into(),
            serial: Some("vol0123456789abcdef0".into()),
            size_bytes: 20 << 30,
            number: "259:3".into(),
        };
        let devices = listed(&scratch);
        assert_eq!((devices.len(), &devices[0]), (2, &disk));
        assert_eq!(devices[1].serial, None);
    }

    #[test]
    fn a_second_namespace_is_not_taken_for_the_volume() {
        let scratch = machine(&[
            ("nvme1n2/size", "8\n"),
            ("nvme1n2/dev", "259:5\n"),
            ("nvme1n2/nsid", "2\n"),
            ("nvme1n2/device/serial", "vol0a\n"),
        ]);
        assert_eq!(listed(&scratch)[0].serial, None);
    }

    #[test]
    fn a_virtio_disk_has_its_own_serial_and_a_xen_disk_has_none() {
        let scratch = machine(&[
            ("vdb/size", "8\n"),
            ("vdb/dev", "254:16\n"),
            ("vdb/serial", "vol0a\n"),
            ("xvdba/size", "8\n"),
            ("xvdba/dev", "202:1\n"),
        ]);
        let serials: Vec<Option<String>> = listed(&scratch).into_iter().map(|d| d.serial).collect();
        assert_eq!(serials, [Some("vol0a".to_owned()), None]);
    }

    #[test]
    fn memory_empty_and_hidden_devices_are_left_out() {
        let scratch = machine(&[
            ("ram0/size", "8\n"),
            ("zram0/size", "8\n"),
            ("loop0/size", "0\n"),
            ("nvme0c0n1/size", "8\n"),
            ("nvme0c0n1/dev", "259:9\n"),
            ("nvme0c0n1/hidden", "1\n"),
        ]);
        assert_eq!(listed(&scratch), []);
    }

    #[test]
    fn a_link_of_udev_gives_the_serial_where_the_kernel_does_not() {
        let scratch = machine(&[("nvme2n1/size", "8\n"), ("nvme2n1/dev", "259:7\n")]);
        let links = scratch.path().join("dev/disk/by-id");
        fs::create_dir_all(&links).expect("directories");
        let link = |name: &str| symlink("../../nvme2n1", links.join(name)).expect("a link");
        link("nvme-Amazon_Elastic_Block_Store_vol0beef_1");
        link("nvme-Amazon_Elastic_Block_Store_vol0bad-part1");
        link("nvme-SAMSUNG_vol0bad");
        assert_eq!(listed(&scratch)[0].serial.as_deref(), Some("vol0beef"));
    }
}
