//! Damaged filesystems: never mounted, never formatted, repaired only where nothing is lost, and otherwise
//! left bit for bit as they were.

use super::device::{Device, MIB, Machine, Mounted, UUID, digest, run, wanted};
use crate::linux::LinuxDisks;
use quake_model::facts::{DeviceContents, FilesystemCheck, Over};
use quake_model::ports::{Condition, Disks};
use std::fs;

/// A formatted device with a few files in it; `None` where that cannot be made.
async fn filled(machine: &Machine) -> Option<Device> {
    let backing = Device::blank(64 * MIB);
    let arguments = ["-q", "-b", "4096", "-U", UUID];
    if !backing.formatted_with("mkfs.ext4", &arguments) {
        return None;
    }
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    let scratch = tempfile::tempdir().expect("a mount point");
    let target = scratch.path().to_str().expect("a name").to_owned();
    LinuxDisks::new()
        .mount_device(&facts, &target)
        .await
        .expect("it is mounted");
    let mounted = Mounted(target);
    fs::create_dir(scratch.path().join("d")).expect("a directory");
    for number in 0..5 {
        fs::write(
            scratch.path().join(format!("d/f{number}")),
            vec![7; 200_000],
        )
        .expect("a file");
    }
    drop(mounted);
    Some(backing)
}

/// Changes a filesystem with debugfs; false when that is not installed.
fn debugged(device: &Device, command: &str) -> bool {
    run("debugfs", &["-w", "-R", command, device.name()]).is_some()
}

#[tokio::test]
async fn a_superblock_that_is_not_sound_is_refused_by_every_method_and_nothing_changes() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let Some(sound) = filled(&machine).await else {
        return;
    };
    let corruptions: [(&str, u64, &[u8]); 5] = [
        ("checksum", 1024 + 0x3fc, &[1, 2, 3, 4]),
        ("label", 1024 + 0x78, b"x"),
        ("inodes", 1024, &[9, 0, 0, 0]),
        ("size of blocks", 1024 + 0x18, &[9]),
        ("uuid", 1024 + 0x68, &[0; 16]),
    ];
    let target = tempfile::tempdir().expect("a mount point");
    let target = target.path().to_str().expect("a name");
    let disks = LinuxDisks::new();
    for (what, offset, bytes) in corruptions {
        let backing = sound.copy();
        backing.put(offset, bytes);
        let device = machine.attach(&backing, &[]);
        let facts = device.facts().await;
        let before = device.digest();
        let seen = disks.probe_device(&facts).await.expect("it can be probed");
        assert!(
            matches!(seen, DeviceContents::Damaged { .. }),
            "{what}: {seen:?}"
        );
        let checked = disks.check_filesystem(&facts).await.expect("it is checked");
        assert!(
            matches!(checked, FilesystemCheck::Damaged { .. }),
            "{what}: {checked:?}"
        );
        let refused = [
            disks.look_inside(&facts).await.map(|_| ()),
            disks.mount_device(&facts, target).await,
            disks.make_filesystem(&facts, &wanted(Over::Blank)).await,
        ]
        .map(|result| result.map_err(|error| error.condition));
        let malformed = Err(Condition::Malformed);
        assert_eq!(
            refused,
            [malformed, malformed, Err(Condition::Occupied)],
            "{what}"
        );
        assert_eq!(device.digest(), before, "{what}");
    }
}

#[tokio::test]
async fn a_check_that_cannot_repair_safely_leaves_the_device_bit_for_bit_as_it_was() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let Some(sound) = filled(&machine).await else {
        return;
    };
    let marked = "set_super_value state 2";
    let cases: [(&str, &[&str]); 4] = [
        (
            "a file's tree of extents",
            &["set_inode_field d/f1 block[0] 999999", marked],
        ),
        ("a directory's inode is gone", &["clri d", marked]),
        ("the root is gone", &["clri /", marked]),
        (
            "the block bitmap",
            &[marked, "set_block_group 0 block_bitmap 3"],
        ),
    ];
    let disks = LinuxDisks::new();
    for (what, commands) in cases {
        let backing = sound.copy();
        if !commands.iter().all(|command| debugged(&backing, command)) {
            return;
        }
        let device = machine.attach(&backing, &[]);
        let facts = device.facts().await;
        let before = device.digest();
        let checked = disks.check_filesystem(&facts).await.expect("it is checked");
        let FilesystemCheck::Damaged { status, output } = checked else {
            panic!("{what}: {checked:?}");
        };
        assert!(status >= 4, "{what}: {status}");
        assert!(
            output.contains("INCONSISTENCY") && !output.contains("not undone"),
            "{what}: {output}"
        );
        assert_eq!(device.digest(), before, "{what}");
    }
}

#[tokio::test]
async fn a_replayed_journal_is_undone_too_when_the_check_then_fails() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let Some(backing) = filled(&machine).await else {
        return;
    };
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    let scratch = tempfile::tempdir().expect("a mount point");
    let target = scratch.path().to_str().expect("a name").to_owned();
    let disks = LinuxDisks::new();
    disks
        .mount_device(&facts, &target)
        .await
        .expect("it is mounted");
    let mounted = Mounted(target);
    disks
        .write_marker(&facts, "{}")
        .await
        .expect("it is written");
    let crashed = backing.copy();
    drop(mounted);
    // Descriptors of groups, which the journal does not hold.
    crashed.put(4096 + 8, &[0xff; 16]);
    let device = machine.attach(&crashed, &[]);
    let facts = device.facts().await;
    let before = device.digest();
    let checked = disks.check_filesystem(&facts).await.expect("it is checked");
    assert!(
        matches!(checked, FilesystemCheck::Damaged { .. }),
        "{checked:?}"
    );
    assert_eq!(device.digest(), before, "{checked:?}");
}

#[tokio::test]
async fn safe_repairs_are_made_and_told() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let Some(backing) = filled(&machine).await else {
        return;
    };
    let commands = [
        "set_inode_field d/f1 links_count 9",
        "set_super_value state 2",
    ];
    if !commands.iter().all(|command| debugged(&backing, command)) {
        return;
    }
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    let target = tempfile::tempdir().expect("a mount point");
    let target = target.path().to_str().expect("a name");
    let disks = LinuxDisks::new();
    let refused = disks.mount_device(&facts, target).await.unwrap_err();
    assert_eq!(refused.condition, Condition::Malformed, "marked as faulty");
    let checked = disks.check_filesystem(&facts).await.expect("it is checked");
    let FilesystemCheck::Fixed { output } = checked else {
        panic!("{checked:?}");
    };
    assert!(
        output.contains("FIXED") && !output.contains("e2undo"),
        "{output}"
    );
    let again = disks.check_filesystem(&facts).await.expect("it is checked");
    assert_eq!(again, FilesystemCheck::Clean);
    disks
        .mount_device(&facts, target)
        .await
        .expect("it is mounted");
    drop(Mounted(target.to_owned()));
}

#[tokio::test]
async fn a_filesystem_that_the_kernel_refuses_is_malformed() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let Some(backing) = filled(&machine).await else {
        return;
    };
    // The descriptors of the groups; the superblock before them stays sound.
    backing.put(4096, &[0xff; 4096]);
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    let before = device.digest();
    let target = tempfile::tempdir().expect("a mount point");
    let target = target.path().to_str().expect("a name");
    let disks = LinuxDisks::new();
    let error = disks.look_inside(&facts).await.unwrap_err();
    assert_eq!(error.condition, Condition::Malformed, "{error:?}");
    let checked = disks.check_filesystem(&facts).await.expect("it is checked");
    assert!(
        matches!(checked, FilesystemCheck::Damaged { .. }),
        "{checked:?}"
    );
    assert_eq!(device.digest(), before);
    let error = disks.mount_device(&facts, target).await.unwrap_err();
    assert_eq!(error.condition, Condition::Malformed, "{error:?}");
}

#[tokio::test]
async fn only_backup_superblocks_are_refused_like_any_damage() {
    let device = Device::blank(300 * MIB);
    if !device.formatted_with("mkfs.ext4", &["-q", "-b", "4096", "-U", UUID]) {
        return;
    }
    device.put(0, &vec![0; 4 << 20]);
    let before = digest(&device.path);
    let disks = LinuxDisks::new();
    let checked = disks.check_filesystem(&device.facts()).await;
    assert!(
        matches!(checked, Ok(FilesystemCheck::Damaged { .. })),
        "{checked:?}"
    );
    let look = disks.look_inside(&device.facts()).await.unwrap_err();
    let made = disks
        .make_filesystem(&device.facts(), &wanted(Over::Blank))
        .await;
    let conditions = (look.condition, made.unwrap_err().condition);
    assert_eq!(conditions, (Condition::Malformed, Condition::Occupied));
    assert_eq!(digest(&device.path), before);
}
