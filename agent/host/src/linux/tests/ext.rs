//! What a probe says of ext filesystems, whole and in parts.

use super::device::{Device, MIB, Machine, Mounted, UUID};
use crate::linux::LinuxDisks;
use quake_model::facts::DeviceContents;
use quake_model::ports::Disks;
use std::fs;

fn damaged(uuid: Option<&str>) -> DeviceContents {
    DeviceContents::Damaged {
        name: "ext4".to_owned(),
        uuid: uuid.map(str::to_owned),
    }
}

#[tokio::test]
async fn ext_is_seen_with_its_uuid_its_label_and_its_size() {
    for kind in ["ext4", "ext3", "ext2"] {
        let device = Device::blank(64 * MIB);
        let arguments = ["-q", "-t", kind, "-L", "main-a", "-U", UUID];
        if !device.formatted_with("mke2fs", &arguments) {
            return;
        }
        // The device grew after it was formatted.
        device.file.set_len(80 * MIB).expect("a size");
        let wanted = DeviceContents::Filesystem {
            name: kind.to_owned(),
            uuid: Some(UUID.to_owned()),
            label: Some("main-a".to_owned()),
            size_bytes: Some(64 * MIB),
        };
        assert_eq!(device.probed().await, wanted);
    }
}

#[tokio::test]
async fn backup_superblocks_without_a_primary_one_are_damage_and_never_blank() {
    // Standard groups for every size of block, and groups of half the size.
    let cases = [
        ["1024", "8192"],
        ["2048", "16384"],
        ["4096", "32768"],
        ["4096", "16384"],
        ["1024", "4096"],
    ];
    for [block, group] in cases {
        // Large enough for a second group in every case.
        let device = Device::blank(300 * MIB);
        let lazy = "lazy_itable_init=1";
        let arguments = ["-q", "-b", block, "-g", group, "-E", lazy, "-U", UUID];
        if !device.formatted_with("mkfs.ext4", &arguments) {
            return;
        }
        // What a tool that wipes the start of a disk does.
        device.put(0, &vec![0; 4 << 20]);
        assert_eq!(
            device.probed().await,
            damaged(Some(UUID)),
            "{block} {group}"
        );
    }
}

#[tokio::test]
async fn the_backups_of_sparse_super2_are_found() {
    let device = Device::blank(300 * MIB);
    let arguments = ["-q", "-b", "4096", "-O", "sparse_super2", "-U", UUID];
    if !device.formatted_with("mkfs.ext4", &arguments) {
        return;
    }
    device.put(0, &vec![0; 4 << 20]);
    // The first of the two.
    device.put(128 * MIB, &[0; 4096]);
    assert_eq!(device.probed().await, damaged(Some(UUID)));
}

#[tokio::test]
async fn a_superblock_that_contradicts_itself_or_its_device_is_damage_with_its_uuid() {
    let corruptions: [(&str, u64, &[u8]); 6] = [
        ("label without the checksum over it", 0x78, b"x"),
        ("checksum", 0x3fc, &[1, 2, 3, 4]),
        ("size of blocks", 0x18, &[9]),
        ("blocks in a group", 0x20, &[0; 4]),
        ("number of inodes", 0x0, &[7, 0, 0, 0]),
        ("number of blocks", 0x4, &[0xff; 4]),
    ];
    for features in ["metadata_csum", "^metadata_csum"] {
        for (what, offset, bytes) in corruptions {
            if features == "^metadata_csum" && matches!(offset, 0x78 | 0x3fc) {
                continue;
            }
            let device = Device::blank(64 * MIB);
            if !device.formatted_with("mkfs.ext4", &["-q", "-U", UUID, "-O", features]) {
                return;
            }
            device.put(1024 + offset, bytes);
            assert_eq!(device.probed().await, damaged(Some(UUID)), "{what}");
        }
    }
    let device = Device::blank(64 * MIB);
    device.formatted_with("mkfs.ext4", &["-q", "-U", UUID]);
    device.file.set_len(32 * MIB).expect("a size");
    assert_eq!(device.probed().await, damaged(Some(UUID)), "cut");
}

#[tokio::test]
async fn superblocks_that_disagree_name_no_uuid() {
    // Two backups: of groups 1 and 3.
    let device = Device::blank(512 * MIB);
    if !device.formatted_with("mkfs.ext4", &["-q", "-b", "4096", "-U", UUID]) {
        return;
    }
    let only_backups = device.copy();
    // The primary superblock: its checksum does not hold any more.
    device.put(1024 + 0x68, b"other");
    assert_eq!(device.probed().await, damaged(None));
    only_backups.put(0, &vec![0; 4 << 20]);
    only_backups.put(128 * MIB + 0x68, b"other");
    assert_eq!(only_backups.probed().await, damaged(None));
}

#[tokio::test]
async fn a_filesystem_that_is_being_written_is_never_taken_for_damage() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let backing = Device::blank(64 * MIB);
    if !backing.formatted_with("mkfs.ext4", &["-q", "-U", UUID]) {
        return;
    }
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    let disks = LinuxDisks::new();
    let scratch = tempfile::tempdir().expect("a mount point");
    let target = scratch.path().to_str().expect("a name").to_owned();
    disks
        .mount_device(&facts, &target)
        .await
        .expect("it is mounted");
    let _mounted = Mounted(target);
    for round in 0..20_u64 {
        let file = scratch.path().join(format!("f{round}"));
        fs::write(&file, vec![1; 100_000]).expect("a file");
        let open = fs::File::open(&file).expect("it opens");
        fs::remove_file(&file).expect("it goes");
        open.sync_all().expect("it is flushed");
        let seen = disks.probe_device(&facts).await.expect("it can be probed");
        let is_ext4 = matches!(&seen, DeviceContents::Filesystem { name, .. } if name == "ext4");
        assert!(is_ext4, "{seen:?}");
    }
    // What an update of the kernel in memory looks like: new bytes under an old checksum.
    let bytes = fs::OpenOptions::new()
        .write(true)
        .open(&device.0)
        .expect("it opens");
    std::os::unix::fs::FileExt::write_all_at(&bytes, &[1, 2, 3, 4], 1024 + 0x3fc)
        .expect("it writes");
    let seen = disks.probe_device(&facts).await.expect("it can be probed");
    assert!(
        matches!(seen, DeviceContents::Filesystem { .. }),
        "{seen:?}"
    );
}
