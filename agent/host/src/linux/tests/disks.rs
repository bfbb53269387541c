//! Formatting, mounting, growing and marking: on files that stand for devices, and on loop devices where this
//! process may make them.

use super::device::{Device, MIB, Machine, Mounted, UUID, digest, run, wanted};
use crate::linux::LinuxDisks;
use quake_model::facts::{DeviceContents, FilesystemCheck, NewFilesystem, Over};
use quake_model::ports::{Condition, Disks};
use std::fs;

#[tokio::test]
async fn a_blank_device_is_formatted_once_and_never_again() {
    let device = Device::blank(64 * MIB);
    let disks = LinuxDisks::new();
    match disks
        .make_filesystem(&device.facts(), &wanted(Over::Blank))
        .await
    {
        Err(error) if error.condition == Condition::Missing => {
            println!("skipped: {error}");
            return;
        }
        made => made.expect("it is formatted"),
    }
    let seen = DeviceContents::Filesystem {
        name: "ext4".to_owned(),
        uuid: Some(UUID.to_owned()),
        label: Some("qk-main-a".to_owned()),
        size_bytes: Some(64 * MIB),
    };
    assert_eq!(device.probed().await, seen);
    let before = digest(&device.path);
    for over in [Over::Blank, Over::Unfinished] {
        let made = disks.make_filesystem(&device.facts(), &wanted(over)).await;
        assert_eq!(made.unwrap_err().condition, Condition::Occupied);
    }
    assert_eq!(digest(&device.path), before);
}

#[tokio::test]
async fn a_label_or_a_uuid_of_another_form_is_refused_before_anything_is_written() {
    let device = Device::blank(64 * MIB);
    let long = NewFilesystem {
        label: "a-label-of-17-byt".to_owned(),
        ..wanted(Over::Blank)
    };
    let random = NewFilesystem {
        uuid: "random".to_owned(),
        ..wanted(Over::Blank)
    };
    for wanted in [long, random] {
        let made = LinuxDisks::new()
            .make_filesystem(&device.facts(), &wanted)
            .await;
        assert_eq!(made.unwrap_err().condition, Condition::Malformed);
    }
    assert_eq!(device.probed().await, DeviceContents::Blank);
}

#[tokio::test]
async fn an_unfinished_try_is_finished_only_where_every_superblock_left_is_of_the_wanted_uuid() {
    let device = Device::blank(300 * MIB);
    let arguments = ["-q", "-b", "4096", "-U", UUID];
    if !device.formatted_with("mkfs.ext4", &arguments) {
        return;
    }
    let disks = LinuxDisks::new();
    // mkfs writes the primary superblock last: here are its inode tables, its journal and the backups.
    device.put(1024, &[0; 1024]);
    let before = digest(&device.path);
    let other = NewFilesystem {
        uuid: UUID.replace('3', "4"),
        ..wanted(Over::Unfinished)
    };
    for refused in [other, wanted(Over::Blank)] {
        let made = disks.make_filesystem(&device.facts(), &refused).await;
        assert_eq!(made.unwrap_err().condition, Condition::Occupied);
    }
    let mixed = device.copy();
    mixed.put(128 * MIB, &[0; 4096]);
    assert_eq!(digest(&device.path), before);
    let made = disks
        .make_filesystem(&device.facts(), &wanted(Over::Unfinished))
        .await;
    made.expect("it is formatted");

    // The same without any superblock.
    assert!(matches!(
        mixed.probed().await,
        DeviceContents::Unsigned { .. }
    ));
    let made = disks
        .make_filesystem(&mixed.facts(), &wanted(Over::Blank))
        .await;
    assert_eq!(made.unwrap_err().condition, Condition::Occupied);
    let made = disks
        .make_filesystem(&mixed.facts(), &wanted(Over::Unfinished))
        .await;
    made.expect("it is formatted");
    for device in [device, mixed] {
        let checked = disks.check_filesystem(&device.facts()).await;
        assert_eq!(checked.expect("it is checked"), FilesystemCheck::Clean);
    }
}

#[tokio::test]
async fn a_device_goes_from_blank_to_mounted_and_marked() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let backing = Device::blank(64 * MIB);
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    let known = (facts.size_bytes, facts.serial.as_deref());
    assert_eq!(known, (64 * MIB, None));
    let disks = LinuxDisks::new();
    let made = disks.make_filesystem(&facts, &wanted(Over::Blank)).await;
    made.expect("it is formatted");
    let absent = disks.write_marker(&facts, "{}").await.unwrap_err();
    assert_eq!(absent.condition, Condition::Missing);
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let root = scratch.path().join("mnt/master vol");
    let target = root.to_str().expect("a name").to_owned();
    // The second time there is nothing to do.
    for _ in 0..2 {
        let mounted = disks.mount_device(&facts, &target).await;
        mounted.expect("it is mounted");
    }
    let _mounted = Mounted(target.clone());
    let mut mounts = disks.list_mounts().await.expect("a list");
    mounts.retain(|mount| mount.target == target);
    let [mount] = mounts.as_slice() else {
        panic!("{mounts:?}");
    };
    assert_eq!((&mount.source, &mount.number), (&device.0, &facts.number));

    assert!(disks.look_inside(&facts).await.expect("a look").is_empty());
    let text = "{\"v\":1}";
    let written = disks.write_marker(&facts, text).await;
    written.expect("it is written");
    let inside = disks.look_inside(&facts).await.expect("a look");
    assert_eq!(inside.marker.as_deref(), Some(text));
    let checked = disks.check_filesystem(&facts).await;
    let checked = checked.expect("it is checked");
    assert_eq!(checked, FilesystemCheck::Clean, "mounted");
    let made = disks
        .make_filesystem(&facts, &wanted(Over::Unfinished))
        .await;
    assert_eq!(made.unwrap_err().condition, Condition::Occupied);
}

#[tokio::test]
async fn a_mounted_filesystem_grows_with_its_device() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let backing = Device::blank(64 * MIB);
    if !backing.formatted_with("mkfs.ext4", &["-q"]) {
        return;
    }
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    let disks = LinuxDisks::new();
    let absent = disks.grow_filesystem(&facts).await.unwrap_err();
    assert_eq!(absent.condition, Condition::Missing, "not mounted");
    let root = tempfile::tempdir().expect("a mount point");
    let target = root.path().to_str().expect("a name");
    let mounted = disks.mount_device(&facts, target).await;
    mounted.expect("it is mounted");
    let _mounted = Mounted(target.to_owned());
    let size = || {
        let facts = nix::sys::statvfs::statvfs(root.path()).expect("facts");
        facts.blocks() * facts.fragment_size()
    };
    let before = size();
    backing.file.set_len(160 * MIB).expect("a size");
    run("losetup", &["-c", &device.0]).expect("it is there");
    let grown = disks.grow_filesystem(&facts).await;
    if !may_resize() {
        println!("skipped: growing needs CAP_SYS_RESOURCE");
        assert_eq!(grown.unwrap_err().condition, Condition::Denied);
        return;
    }
    grown.expect("it grows");
    assert!(size() > before + 80 * MIB);
    let seen = disks.probe_device(&facts).await.expect("it can be probed");
    let DeviceContents::Filesystem { size_bytes, .. } = seen else {
        panic!("{seen:?}");
    };
    assert_eq!(size_bytes, Some(160 * MIB));
    let again = disks.grow_filesystem(&facts).await;
    again.expect("there is nothing to do");
}

/// Whether this process has CAP_SYS_RESOURCE, bit 24 (capabilities(7)); containers are run without.
fn may_resize() -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("facts");
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = u64::from_str_radix(effective.expect("a line").trim(), 16).expect("a number");
    bits & (1 << 24) != 0
}

#[tokio::test]
async fn a_place_where_something_else_is_mounted_is_occupied() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let (first, second) = (Device::blank(16 * MIB), Device::blank(16 * MIB));
    for device in [&first, &second] {
        if !device.formatted_with("mkfs.ext4", &["-q"]) {
            return;
        }
    }
    let (first, second) = (machine.attach(&first, &[]), machine.attach(&second, &[]));
    let target = tempfile::tempdir().expect("a mount point");
    let target = target.path().to_str().expect("a name");
    let disks = LinuxDisks::new();
    let mounted = disks.mount_device(&first.facts().await, target).await;
    mounted.expect("it is mounted");
    let _mounted = Mounted(target.to_owned());
    let error = disks
        .mount_device(&second.facts().await, target)
        .await
        .unwrap_err();
    assert_eq!(error.condition, Condition::Occupied, "{error:?}");
}

#[tokio::test]
async fn a_read_only_device_can_be_read_and_nothing_else() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let blank = Device::blank(64 * MIB);
    let read_only = machine.attach(&blank, &["--read-only"]);
    let facts = read_only.facts().await;
    let disks = LinuxDisks::new();
    let seen = disks.probe_device(&facts).await.expect("it can be probed");
    assert_eq!(seen, DeviceContents::Blank);
    let made = disks.make_filesystem(&facts, &wanted(Over::Blank)).await;
    assert_eq!(made.unwrap_err().condition, Condition::Denied);
    drop(read_only);

    if !blank.formatted_with("mkfs.ext4", &["-q", "-U", UUID]) {
        return;
    }
    let read_only = machine.attach(&blank, &["--read-only"]);
    let facts = read_only.facts().await;
    assert!(disks.look_inside(&facts).await.expect("a look").is_empty());
    let error = disks.check_filesystem(&facts).await.unwrap_err();
    assert_eq!(error.condition, Condition::Denied, "{error:?}");
}
