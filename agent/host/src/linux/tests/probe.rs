//! What a probe sees, on files that stand for devices.

use super::device::{Device, MIB};
use crate::linux::LinuxDisks;
use crate::linux::signatures::{At, MAGICS, Role};
use quake_model::facts::DeviceContents;
use quake_model::ports::{Condition, Disks};

fn signature(name: &str) -> DeviceContents {
    DeviceContents::Signature {
        name: name.to_owned(),
    }
}

#[tokio::test]
async fn a_device_of_zeros_is_blank_whatever_its_size() {
    for size in [0, 512, 4096, 3 * MIB, 64 * MIB, 3 << 30] {
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
async fn ext4_is_seen_with_its_uuid_and_label() {
    let uuid = "3f0c6d2e-1b7a-4c55-9d53-0c6a1f7be001";
    for (kind, wanted) in [("ext4", "ext4"), ("ext3", "ext3"), ("ext2", "ext2")] {
        let device = Device::blank(64 * MIB);
        if !device.formatted_with("mke2fs", &["-q", "-t", kind, "-L", "main-a", "-U", uuid]) {
            return;
        }
        let seen = device.probed().await;
        let wanted = DeviceContents::Filesystem {
            name: wanted.to_owned(),
            uuid: Some(uuid.to_owned()),
            label: Some("main-a".to_owned()),
        };
        assert_eq!(seen, wanted);
    }
}

#[tokio::test]
async fn swap_is_seen_and_is_no_filesystem() {
    let device = Device::blank(64 * MIB);
    if device.formatted_with("mkswap", &[]) {
        assert_eq!(device.probed().await, signature("swap"));
    }
}

#[tokio::test]
async fn a_backup_superblock_without_a_primary_one_is_damage_and_never_blank() {
    for block in ["1024", "2048", "4096"] {
        // Large enough for a second group at every block size.
        let device = Device::blank(300 * MIB);
        let arguments = ["-q", "-t", "ext4", "-b", block, "-E", "lazy_itable_init=1"];
        if !device.formatted_with("mke2fs", &arguments) {
            return;
        }
        // What a tool that wipes the start of a disk does.
        device.put(0, &vec![0; 4 << 20]);
        assert_eq!(device.probed().await, signature("ext4-damaged"), "{block}");
    }
}

#[tokio::test]
async fn a_superblock_that_contradicts_itself_or_its_device_is_damage() {
    let device = Device::blank(64 * MIB);
    if !device.formatted_with("mkfs.ext4", &["-q", "-O", "metadata_csum"]) {
        return;
    }
    // One letter of the label, without the checksum over it.
    device.put(1024 + 0x78, b"x");
    assert_eq!(device.probed().await, signature("ext4-damaged"));
    let device = Device::blank(64 * MIB);
    device.formatted_with("mkfs.ext4", &["-q"]);
    device.file.set_len(32 * MIB).expect("a size");
    assert_eq!(device.probed().await, signature("ext4-damaged"));
}

#[tokio::test]
async fn two_signatures_are_never_a_filesystem() {
    let device = Device::blank(64 * MIB);
    if !device.formatted_with("mkfs.ext4", &["-q"]) {
        return;
    }
    device.put(536, b"LVM2 001");
    assert_eq!(device.probed().await, signature("ext4 and lvm2"));
    device.put(536, &[0; 8]);
    device.put(510, b"\x55\xaa");
    assert!(matches!(
        device.probed().await,
        DeviceContents::Filesystem { .. }
    ));
    device.put(446, &[0x80]);
    assert_eq!(device.probed().await, signature("ext4 and mbr"));
}

#[tokio::test]
async fn a_device_that_is_not_there_is_missing_and_a_directory_is_no_device() {
    let disks = LinuxDisks::new();
    let error = disks.probe_device("/dev/no-such-device").await.unwrap_err();
    assert_eq!(error.condition, Condition::Missing);
    assert!(disks.probe_device("/dev").await.is_err());
    assert!(disks.probe_device("/dev/null").await.is_err());
}
