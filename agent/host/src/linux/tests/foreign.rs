//! Everything that may be on a device and is not ours: seen by the tools that make it and by its magic bytes
//! alone, and never formatted over.

use super::device::{Device, MIB, Machine, UUID, digest, run, wanted};
use crate::linux::LinuxDisks;
use quake_model::facts::{DeviceContents, Over};
use quake_model::ports::{Condition, Disks};
use std::process::Command;

/// Whether contents have this name, or these of several.
fn is_named(contents: &DeviceContents, wanted: &str) -> bool {
    match contents {
        DeviceContents::Filesystem { name, .. } | DeviceContents::Signature { name } => {
            name == wanted
        }
        DeviceContents::Ambiguous { names } => names.iter().any(|name| name == wanted),
        DeviceContents::Blank
        | DeviceContents::Damaged { .. }
        | DeviceContents::Unsigned { .. } => false,
    }
}

/// A device is refused to the formatter, whatever is asked, and not a byte of it changes.
async fn assert_never_formatted(device: &Device, what: &str) {
    let before = digest(&device.path);
    for over in [Over::Blank, Over::Unfinished] {
        let made = LinuxDisks::new()
            .make_filesystem(&device.facts(), &wanted(over))
            .await;
        let error = made.expect_err(what);
        assert_eq!(error.condition, Condition::Occupied, "{what}: {error:?}");
    }
    assert_eq!(digest(&device.path), before, "{what}");
}

#[tokio::test]
async fn what_other_tools_make_is_seen_by_its_name_and_never_formatted() {
    // mkfs.xfs wants 300 MiB, and mkfs.btrfs about 110.
    let size = 320 * MIB;
    let gpt = "echo 'label: gpt\n,100M' | sfdisk -q \"$0\"";
    let mbr = "echo 'label: dos\n,100M' | sfdisk -q \"$0\"";
    let luks2 = "head -c 64 /dev/zero | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 \
                 --pbkdf-force-iterations 1000 --key-file - \"$0\"";
    let cases: [(&str, &[&str], &str); 8] = [
        ("mkfs.xfs", &["-q"], "xfs"),
        ("mkfs.btrfs", &["-q"], "btrfs"),
        ("mkfs.vfat", &[], "fat"),
        ("mkswap", &["-q"], "swap"),
        ("mkfs.ext4", &["-q"], "ext4"),
        ("sfdisk", &["-c", gpt], "gpt"),
        ("sfdisk", &["-c", mbr], "mbr"),
        ("cryptsetup", &["-c", luks2], "luks"),
    ];
    for (program, arguments, name) in cases {
        let device = Device::blank(size);
        let is_made = match arguments {
            ["-c", script] => {
                run(program, &["--version"]).is_some()
                    && run("sh", &["-c", script, device.name()]).is_some()
            }
            arguments => device.formatted_with(program, arguments),
        };
        if !is_made {
            continue;
        }
        let seen = device.probed().await;
        assert!(is_named(&seen, name), "{program}: {seen:?}");
        let is_one = !matches!(seen, DeviceContents::Ambiguous { .. });
        assert!(is_one, "{program}: {seen:?}");
        assert_never_formatted(&device, program).await;
    }
}

#[tokio::test]
async fn a_physical_volume_of_lvm_is_seen_and_never_formatted() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let device = Device::blank(64 * MIB);
    let looped = machine.attach(&device, &[]);
    let made = Command::new("pvcreate")
        .args(["--yes", "--devices", &looped.0, &looped.0])
        .output();
    drop(looped);
    if !made.is_ok_and(|output| output.status.success()) {
        println!("skipped: pvcreate is not installed, or cannot work here");
        return;
    }
    assert!(is_named(&device.probed().await, "lvm2"));
    assert_never_formatted(&device, "pvcreate").await;
}

#[tokio::test]
async fn a_magic_alone_is_enough_against_formatting() {
    let size = 64 * MIB;
    let end_of_raid = ((size / 512 - 16) & !7) * 512;
    let cases: [(u64, &[u8], &str); 16] = [
        (0, b"XFSB", "xfs"),
        (0x1_0040, b"_BHRfS_M", "btrfs"),
        (536, b"LVM2 001", "lvm2"),
        (512, b"EFI PART", "gpt"),
        (size - 512, b"EFI PART", "gpt"),
        (510, b"\x55\xaa", "mbr"),
        (0xff6, b"SWAPSPACE2", "swap"),
        (0xfff6, b"SWAPSPACE2", "swap"),
        (0, b"LUKS\xba\xbe", "luks"),
        (0x4000, b"SKUL\xba\xbe", "luks"),
        (4096, b"\xfc\x4e\x2b\xa9", "md-raid"),
        (end_of_raid, b"\xfc\x4e\x2b\xa9", "md-raid"),
        (0x8001, b"CD001", "iso9660"),
        (0, b"bluestore block device", "ceph-bluestore"),
        (3, b"-FVE-FS-", "bitlocker"),
        (1024, b"\x10\x20\xf5\xf2", "f2fs"),
    ];
    for (offset, bytes, name) in cases {
        let device = Device::blank(size);
        device.put(offset, bytes);
        let seen = device.probed().await;
        assert!(is_named(&seen, name), "{name}: {seen:?}");
        assert_never_formatted(&device, name).await;
    }
}

#[tokio::test]
async fn bytes_without_a_signature_are_formatted_only_over_unfinished_work() {
    // As random as a multiplication makes them, and the same in every run.
    let noise: Vec<u8> = (0..8 * MIB)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect();
    for (offset, bytes) in [(8 * MIB, noise.as_slice()), (128 * MIB, b"\x01")] {
        let device = Device::blank(256 * MIB);
        device.put(offset, bytes);
        if offset == 8 * MIB {
            device.put(0, &noise[..4096]);
        }
        let seen = device.probed().await;
        assert!(matches!(seen, DeviceContents::Unsigned { .. }), "{seen:?}");
        let before = digest(&device.path);
        let disks = LinuxDisks::new();
        let made = disks
            .make_filesystem(&device.facts(), &wanted(Over::Blank))
            .await;
        assert_eq!(made.unwrap_err().condition, Condition::Occupied);
        assert_eq!(digest(&device.path), before);
        match disks
            .make_filesystem(&device.facts(), &wanted(Over::Unfinished))
            .await
        {
            Err(error) if error.condition == Condition::Missing => println!("skipped: {error}"),
            made => {
                made.expect("it is formatted");
                let seen = device.probed().await;
                let is_ours = matches!(&seen, DeviceContents::Filesystem { uuid: Some(uuid), .. } if uuid == UUID);
                assert!(is_ours, "{seen:?}");
            }
        }
    }
}
