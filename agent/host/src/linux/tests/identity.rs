//! A device that is not the one that was meant is left alone by every method.

use super::device::{Device, MIB, Machine, UUID, wanted};
use crate::linux::LinuxDisks;
use quake_model::facts::{DeviceFacts, Over};
use quake_model::ports::{Condition, Disks};

#[tokio::test]
async fn a_path_that_has_become_another_device_is_a_conflict_for_every_method() {
    let Some(machine) = Machine::alone().await else {
        return;
    };
    let backing = Device::blank(64 * MIB);
    if !backing.formatted_with("mkfs.ext4", &["-q", "-U", UUID]) {
        return;
    }
    let device = machine.attach(&backing, &[]);
    let facts = device.facts().await;
    let before = device.digest();
    let scratch = tempfile::tempdir().expect("a mount point");
    let target = scratch.path().to_str().expect("a name");
    for number in ["259:7", ""] {
        let other = DeviceFacts {
            number: number.to_owned(),
            ..facts.clone()
        };
        let disks = LinuxDisks::new();
        let conditions = [
            disks.probe_device(&other).await.map(|_| ()),
            disks.look_inside(&other).await.map(|_| ()),
            disks.make_filesystem(&other, &wanted(Over::Blank)).await,
            disks.check_filesystem(&other).await.map(|_| ()),
            disks.grow_filesystem(&other).await,
            disks.mount_device(&other, target).await,
            disks.write_marker(&other, "{}").await,
        ]
        .map(|result| result.map_err(|error| error.condition));
        assert_eq!(conditions, [Err(Condition::Conflict); 7], "{number:?}");
    }
    assert_eq!(device.digest(), before);
}
