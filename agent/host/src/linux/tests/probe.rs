//! What a probe sees, on files that stand for devices.

use super::device::{Device, MIB, Machine, wanted};
use crate::linux::LinuxDisks;
use crate::linux::signatures::{At, MAGICS, Role};
use quake_model::facts::{DeviceContents, DeviceFacts, Over};
use quake_model::ports::{Condition, Disks};

fn signature(name: &str) -> DeviceContents {
    DeviceContents::Signature {
        name: name.to_owned(),
    }
}

#[tokio::test]
async fn a_device_of_zeros_is_blank_whatever_its_size() {
    for size in [512, 4096, 3 * MIB, 64 * MIB, 3 << 30] {
        assert_eq!(
            Device::blank(size).probed().await,
            DeviceContents::Blank,
            "{size}"
        );
    }
}

#[tokio::test]
async fn one_byte_in_any_place_looked_at_disproves_blankness() {
    let size = 3 << 30;
    let backup = 128 * MIB;
    let places = [
        0,
        4095,
        4 * MIB - 1,
        backup,
        (1 << 30) + 65535,
        2 << 30,
        size - MIB,
        size - 1,
    ];
    for offset in places {
        let device = Device::blank(size);
        device.put(offset, &[1]);
        let wanted = DeviceContents::Unsigned { offset };
        assert_eq!(device.probed().await, wanted, "{offset:#x}");
    }
}

#[tokio::test]
async fn every_signature_of_the_table_is_found_in_each_of_its_places() {
    let size = 64 * MIB;
    for magic in MAGICS {
        let offsets: Vec<u64> = match magic.at {
            At::Head(offsets) => offsets.to_vec(),
            At::Tail(distances) => distances.iter().map(|distance| size - distance).collect(),
        };
        for offset in offsets {
            let device = Device::blank(size);
            device.put(offset, magic.bytes);
            let name = match device.probed().await {
                DeviceContents::Filesystem { name, .. } if magic.role == Role::Filesystem => name,
                DeviceContents::Signature { name } if magic.role == Role::Other => name,
                seen => panic!("{} at {offset:#x} is seen as {seen:?}", magic.name),
            };
            // reiser4's magic begins with reiserfs's letters, elsewhere.
            assert_eq!(name, magic.name, "at {offset:#x}");
        }
    }
}

#[tokio::test]
async fn signatures_whose_place_depends_on_the_size_are_found() {
    // Not a multiple of 64 KiB, so that rounding matters.
    let size = 64 * MIB + 40 * 512;
    let sectors = size / 512;
    let raid_at_end = ((sectors - 16) & !7) * 512;
    let old_raid = (size & !0xffff) - 0x1_0000;
    let zfs_last = (size & !0x3_ffff) - 0x4_0000;
    let cases: [(u64, &[u8], DeviceContents); 8] = [
        (raid_at_end, b"\xfc\x4e\x2b\xa9", signature("md-raid")),
        (old_raid, b"\xfc\x4e\x2b\xa9", signature("md-raid")),
        (old_raid, b"\xa9\x2b\x4e\xfc", signature("md-raid")),
        (0x2_0000 + 1024, b"\x0c\xb1\xba\0\0\0\0\0", signature("zfs")),
        (
            zfs_last + 0x2_0000,
            b"\0\0\0\0\0\xba\xb1\x0c",
            signature("zfs"),
        ),
        (
            size / 4096 * 4096 - 4096,
            b"\x02\0\0\0\0\0\x34\x34",
            filesystem("nilfs2"),
        ),
        (510, b"\x55\xaa", signature("mbr")),
        (0x40_0000, b"SKUL\xba\xbe", signature("luks")),
    ];
    for (offset, bytes, wanted) in cases {
        let device = Device::blank(size);
        device.put(offset, bytes);
        assert_eq!(device.probed().await, wanted, "at {offset:#x}");
    }
}

fn filesystem(name: &str) -> DeviceContents {
    DeviceContents::Filesystem {
        name: name.to_owned(),
        uuid: None,
        label: None,
        size_bytes: None,
    }
}

#[tokio::test]
async fn a_gpt_with_its_protective_table_is_one_signature_and_fat_is_no_partition_table() {
    let device = Device::blank(64 * MIB);
    device.put(510, b"\x55\xaa");
    device.put(512, b"EFI PART");
    assert_eq!(device.probed().await, signature("gpt"));
    let device = Device::blank(64 * MIB);
    device.put(510, b"\x55\xaa");
    device.put(82, b"FAT32   ");
    assert_eq!(device.probed().await, filesystem("fat"));
}

#[tokio::test]
async fn two_signatures_are_never_a_filesystem() {
    let device = Device::blank(64 * MIB);
    if !device.formatted_with("mkfs.ext4", &["-q"]) {
        return;
    }
    device.put(536, b"LVM2 001");
    assert_eq!(device.probed().await, ambiguous(&["ext4", "lvm2"]));
    device.put(536, &[0; 8]);
    device.put(510, b"\x55\xaa");
    assert!(matches!(
        device.probed().await,
        DeviceContents::Filesystem { .. }
    ));
    device.put(446, &[0x80]);
    assert_eq!(device.probed().await, ambiguous(&["ext4", "mbr"]));
    // Whatever else is there, a damaged superblock counts as well.
    device.put(446, &[0]);
    device.put(1024 + 0x78, b"x");
    device.put(536, b"LVM2 001");
    assert_eq!(device.probed().await, ambiguous(&["ext4", "lvm2"]));
}

fn ambiguous(names: &[&str]) -> DeviceContents {
    DeviceContents::Ambiguous {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[tokio::test]
async fn a_device_that_is_not_there_is_missing_and_a_directory_is_no_device() {
    let disks = LinuxDisks::new();
    let at = |path: &str| DeviceFacts {
        path: path.to_owned(),
        serial: None,
        size_bytes: 0,
        number: String::new(),
    };
    let error = disks
        .probe_device(&at("/dev/no-such-device"))
        .await
        .unwrap_err();
    assert_eq!(error.condition, Condition::Missing);
    assert!(disks.probe_device(&at("/dev")).await.is_err());
    assert!(disks.probe_device(&at("/dev/null")).await.is_err());
}

#[tokio::test]
async fn a_device_without_bytes_or_shorter_than_it_is_said_to_be_proves_nothing() {
    let empty = Device::blank(0);
    let error = LinuxDisks::new()
        .probe_device(&empty.facts())
        .await
        .unwrap_err();
    assert_eq!(error.condition, Condition::Io);
    let short = Device::blank(64 * MIB);
    let claimed = DeviceFacts {
        size_bytes: 64 * MIB + 512,
        ..short.facts()
    };
    let error = LinuxDisks::new().probe_device(&claimed).await.unwrap_err();
    assert_eq!(error.condition, Condition::Io);
}

#[tokio::test]
async fn bytes_that_cannot_be_read_are_an_error_and_never_blank() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let backing = Device::blank(64 * MIB);
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    // The loop device keeps its size, and has nothing to read in the last half.
    backing.file.set_len(32 * MIB).expect("a size");
    let disks = LinuxDisks::new();
    let error = disks.probe_device(&facts).await.unwrap_err();
    assert_eq!(error.condition, Condition::Io, "{error:?}");
    let made = disks
        .make_filesystem(&facts, &wanted(Over::Unfinished))
        .await;
    assert_eq!(made.unwrap_err().condition, Condition::Io);
}
