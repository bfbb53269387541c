//! Looks and checks of filesystems that were not unmounted: what they see, and that a look writes nothing.

use super::device::{Device, Loop, MIB, Machine, Mounted, UUID};
use crate::linux::LinuxDisks;
use quake_model::facts::{DeviceContents, FilesystemCheck};
use quake_model::ports::{Condition, Disks};
use std::fs;
use std::os::unix::fs::FileExt;

/// A device as a power cut leaves it: its journal holds what its filesystem does not, and an inode is an
/// orphan. A marker and a member's data are in it.
async fn crashed(machine: &Machine) -> Option<Device> {
    let backing = Device::blank(64 * MIB);
    if !backing.formatted_with("mkfs.ext4", &["-q", "-U", UUID]) {
        return None;
    }
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
    fs::create_dir_all(scratch.path().join("data/token/member")).expect("directories");
    let file = scratch.path().join("orphan");
    fs::write(&file, vec![1; 300_000]).expect("a file");
    let orphan = fs::File::open(&file).expect("it opens");
    orphan.sync_all().expect("it is flushed");
    fs::remove_file(&file).expect("it goes");
    // To the disk with all of it, and then one more thing that only the journal has.
    nix::unistd::syncfs(&orphan).expect("it is flushed");
    disks
        .write_marker(&facts, "{}")
        .await
        .expect("it is written");
    let copy = backing.copy();
    drop(mounted);
    Some(copy)
}

fn double(device: &Device, offset: u64) -> u32 {
    let mut bytes = [0; 4];
    device
        .file
        .read_exact_at(&mut bytes, offset)
        .expect("it can be read");
    u32::from_le_bytes(bytes)
}

/// Nothing is left of a look: no mount, no loop device beside those of the test.
fn loops_over(device: &Loop) -> String {
    super::device::run(
        "losetup",
        &[
            "--noheadings",
            "--output",
            "NAME",
            "--associated",
            &device.0,
        ],
    )
    .expect("it is there")
}

#[tokio::test]
async fn a_look_at_a_filesystem_that_crashed_changes_nothing_though_its_journal_and_orphans_wait() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let Some(backing) = crashed(&machine).await else {
        return;
    };
    assert_ne!(double(&backing, 1024 + 0x60) & 4, 0, "the journal waits");
    assert_ne!(double(&backing, 1024 + 0xe8), 0, "an orphan waits");
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    let before = device.digest();
    let disks = LinuxDisks::new();
    let seen = disks.probe_device(&facts).await.expect("it can be probed");
    assert!(
        matches!(seen, DeviceContents::Filesystem { .. }),
        "{seen:?}"
    );
    let stale = disks.look_inside(&facts).await.expect("a look");
    assert_eq!(device.digest(), before);
    assert_eq!(loops_over(&device), "");
    let mounts = disks.list_mounts().await.expect("a list");
    assert!(mounts.iter().all(|mount| mount.number != facts.number));
    // What is only in the journal is seen when a check has replayed it, and not before.
    assert_eq!((stale.marker, stale.etcd_data.len()), (None, 1));
    let checked = disks.check_filesystem(&facts).await.expect("it is checked");
    assert_eq!(checked, FilesystemCheck::Clean);
    let inside = disks.look_inside(&facts).await.expect("a look");
    assert_eq!(inside.marker.as_deref(), Some("{}"));
    assert_eq!(inside.etcd_data, ["data/token/member"]);
}

#[tokio::test]
async fn a_look_at_a_filesystem_with_errors_changes_nothing() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let Some(backing) = crashed(&machine).await else {
        return;
    };
    // The root's directory, so that the kernel meets an error on the way.
    let listing = super::device::run("debugfs", &["-R", "blocks /", backing.name()]);
    let Some(block) = listing.and_then(|text| text.parse::<u64>().ok()) else {
        return;
    };
    let block_size = 1024_u64 << double(&backing, 1024 + 0x18);
    backing.put(block * block_size, &[0xee; 512]);
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    let before = device.digest();
    let error = LinuxDisks::new().look_inside(&facts).await.unwrap_err();
    assert_eq!(error.condition, Condition::Malformed, "{error:?}");
    let hint = error.evidence.iter().any(|seen| seen.name == "journal");
    assert!(hint, "the journal that waits is told: {error:?}");
    assert_eq!(device.digest(), before);
    assert_eq!(loops_over(&device), "");
}

#[tokio::test]
async fn a_look_works_on_a_clean_filesystem_and_leaves_the_device_free() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let backing = Device::blank(16 * MIB);
    if !backing.formatted_with("mkfs.ext4", &["-q", "-U", UUID]) {
        return;
    }
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    let disks = LinuxDisks::new();
    for _ in 0..3 {
        let before = device.digest();
        assert!(disks.look_inside(&facts).await.expect("a look").is_empty());
        assert_eq!(device.digest(), before);
        // Alone on it at once: the look's mount is gone when it returns.
        let checked = disks.check_filesystem(&facts).await.expect("it is checked");
        assert_eq!(checked, FilesystemCheck::Clean);
    }
}
