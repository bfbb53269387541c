//! Volumes that the operator names, on loop devices where this process may make them.

use super::device::{Device, MIB, Machine, Mounted};
use crate::linux::LinuxDisks;
use quake_model::facts::DeviceContents;
use quake_model::item::VolumeMount;
use quake_model::ports::{Condition, Disks};
use std::os::unix::fs::symlink;

fn volume(device: &str, path: &str) -> VolumeMount {
    VolumeMount {
        device: device.to_owned(),
        path: path.to_owned(),
        filesystem: "ext4".to_owned(),
        mount_options: vec!["noatime".to_owned(), "nosuid".to_owned()],
        format_options: vec!["-L".to_owned(), "data".to_owned()],
    }
}

#[tokio::test]
async fn a_blank_volume_is_found_by_a_link_formatted_with_its_options_and_mounted() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let image = Device::blank(64 * MIB);
    let device = machine.attach(&image, &[]);
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let link = scratch.path().join("xvdd");
    symlink(&device.0, &link).expect("a link");
    let target = scratch.path().join("mnt/data").display().to_string();
    let wanted = volume(&link.display().to_string(), &target);
    let disks = LinuxDisks::new();
    let found = disks.find_device(&wanted.device).await.expect("it looks");
    let found = found.expect("there is one");
    assert_eq!(found.path, device.0);
    if let Err(error) = disks.format_device(&found, &wanted).await {
        assert_eq!(error.condition, Condition::Missing, "{error:?}");
        println!("skipped: {error}");
        return;
    }
    let Ok(DeviceContents::Filesystem { name, label, .. }) = disks.probe_device(&found).await
    else {
        panic!("it carries a filesystem")
    };
    assert_eq!((name.as_str(), label.as_deref()), ("ext4", Some("data")));
    let again = disks.format_device(&found, &wanted).await.unwrap_err();
    assert_eq!(again.condition, Condition::Occupied);

    let _mounted = Mounted(target.clone());
    for _ in 0..2 {
        let mounted = disks.mount_volume(&found, &wanted).await;
        mounted.expect("it is mounted, and once more is as once");
    }
    let mounts = disks.list_mounts().await.expect("the table");
    let ours = mounts.iter().filter(|mount| mount.target == target);
    assert_eq!(ours.count(), 1);
    let options = std::fs::read_to_string("/proc/self/mounts").expect("the table");
    let line = options.lines().find(|line| line.contains(&target));
    assert!(
        line.is_some_and(|line| line.contains("noatime")),
        "{line:?}"
    );
}
