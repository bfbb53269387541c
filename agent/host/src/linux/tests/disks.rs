//! Formatting and mounting: on files that stand for devices, and on loop devices where this process may
//! make them.

use super::device::{Device, MIB};
use crate::linux::LinuxDisks;
use quake_model::facts::DeviceContents;
use quake_model::ports::{Condition, Disks};
use std::path::Path;
use std::process::Command;

#[tokio::test]
async fn a_blank_device_is_formatted_once_and_never_again() {
    let device = Device::blank(64 * MIB);
    let disks = LinuxDisks::new();
    match disks.make_filesystem(device.name(), "main-a").await {
        Err(error) if error.condition == Condition::Missing => {
            println!("skipped: {error}");
            return;
        }
        made => made.expect("it is formatted"),
    }
    let seen = device.probed().await;
    let DeviceContents::Filesystem { name, label, .. } = &seen else {
        panic!("{seen:?}");
    };
    assert_eq!((name.as_str(), label.as_deref()), ("ext4", Some("main-a")));
    let error = disks
        .make_filesystem(device.name(), "main-a")
        .await
        .unwrap_err();
    assert_eq!(error.condition, Condition::Occupied);
    assert_eq!(device.probed().await, seen, "its UUID is the same");
}

#[tokio::test]
async fn formatting_is_refused_for_anything_that_is_not_blank_and_touches_nothing() {
    for (offset, bytes) in [(4 * MIB - 1, &b"x"[..]), (0, b"XFSB"), (128 * MIB, b"\x01")] {
        let device = Device::blank(256 * MIB);
        device.put(offset, bytes);
        let before = device.probed().await;
        let made = LinuxDisks::new()
            .make_filesystem(device.name(), "main-a")
            .await;
        assert_eq!(
            made.unwrap_err().condition,
            Condition::Occupied,
            "{offset:#x}"
        );
        assert_eq!(device.probed().await, before);
    }
    let device = Device::blank(64 * MIB);
    let long = "a-label-of-17-byt";
    let made = LinuxDisks::new().make_filesystem(device.name(), long).await;
    assert_eq!(made.unwrap_err().condition, Condition::Malformed);
    assert_eq!(device.probed().await, DeviceContents::Blank);
}

#[tokio::test]
async fn a_filesystem_marked_as_faulty_is_not_mounted() {
    let device = Device::blank(64 * MIB);
    if !device.formatted_with("mkfs.ext4", &["-q", "-O", "^metadata_csum"]) {
        return;
    }
    device.put(1024 + 0x3a, &[2, 0]);
    let target = tempfile::tempdir().expect("a mount point");
    let target = target.path().to_str().expect("a name");
    let error = LinuxDisks::new()
        .mount_device(device.name(), target)
        .await
        .unwrap_err();
    assert_eq!(error.condition, Condition::Malformed);
}

/// A loop device over a file, detached in the end whatever happens.
struct Loop(String);

impl Loop {
    fn over(device: &Device) -> Option<Self> {
        if !nix::unistd::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            println!("skipped: loop devices need root and /dev/loop-control");
            return None;
        }
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(&device.path)
            .output();
        match output {
            Ok(output) if output.status.success() => Some(Self(
                String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            )),
            refused => {
                println!("skipped: no loop device: {refused:?}");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// A mount, taken away in the end whatever happens.
struct Mounted(String);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = nix::mount::umount2(self.0.as_str(), nix::mount::MntFlags::MNT_DETACH);
    }
}

#[tokio::test]
async fn a_device_goes_from_blank_to_mounted_and_is_then_refused_to_every_formatter() {
    let backing = Device::blank(64 * MIB);
    let Some(device) = Loop::over(&backing) else {
        return;
    };
    let disks = LinuxDisks::new();
    let listed = disks.list_devices().await.expect("a list");
    let facts = listed
        .iter()
        .find(|facts| facts.path == device.0)
        .expect("it is listed");
    assert_eq!(
        (facts.size_bytes, facts.serial.as_deref()),
        (64 * MIB, None)
    );

    disks
        .make_filesystem(&device.0, "events-b")
        .await
        .expect("it is formatted");
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let target = scratch
        .path()
        .join("mnt/master vol")
        .to_str()
        .expect("a name")
        .to_owned();
    disks
        .mount_device(&device.0, &target)
        .await
        .expect("it is mounted");
    let _mounted = Mounted(target.clone());

    let mounts = disks.list_mounts().await.expect("a list");
    let mount = mounts
        .iter()
        .find(|mount| mount.target == target)
        .expect("it is in the table");
    assert_eq!((&mount.source, &mount.number), (&device.0, &facts.number));
    assert_eq!(mount.filesystem, "ext4");
    std::fs::write(scratch.path().join("mnt/master vol/x"), "kept").expect("it can be written");

    let error = disks
        .make_filesystem(&device.0, "events-b")
        .await
        .unwrap_err();
    assert_eq!(error.condition, Condition::Occupied, "{error:?}");
    let seen = disks
        .probe_device(&device.0)
        .await
        .expect("it can be probed");
    assert!(
        matches!(seen, DeviceContents::Filesystem { .. }),
        "{seen:?}"
    );
    let again = disks.mount_device(&device.0, &target).await.unwrap_err();
    assert_eq!(again.condition, Condition::Occupied, "{again:?}");
}

#[tokio::test]
async fn the_kernels_refusal_of_a_broken_filesystem_is_malformed() {
    let backing = Device::blank(64 * MIB);
    if !backing.formatted_with("mkfs.ext4", &["-q", "-b", "4096"]) {
        return;
    }
    // The descriptors of the groups; the superblock before them stays sound.
    backing.put(4096, &[0xff; 4096]);
    let Some(device) = Loop::over(&backing) else {
        return;
    };
    let target = tempfile::tempdir().expect("a mount point");
    let target = target.path().to_str().expect("a name");
    let error = LinuxDisks::new()
        .mount_device(&device.0, target)
        .await
        .unwrap_err();
    assert_eq!(error.condition, Condition::Malformed, "{error:?}");
}
