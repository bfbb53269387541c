//! What this machine itself knows of a volume: its device, by serial, and what is inside.

use crate::boot::facts::BootFacts;
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::event::Event;
use quake_model::facts::{AttachmentState, DeviceFacts, FilesystemCheck, InsideFacts, VolumeFacts};
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Condition, Disks, PortError};
use quake_volumes::{
    ClusterGeneration, ContentsContext, FilesystemContents, Slot, VolumeIdentity, identity, inside,
};
use std::collections::BTreeSet;

/// What a look inside a filesystem came to.
pub(crate) enum Looked {
    /// It was looked into; and whether it was checked before, as what is ours is.
    FilesystemContents(InsideFacts, bool),
    /// It is ours, and no safe repair fixes it.
    Damaged(FilesystemCheck),
    /// It cannot be mounted, and why.
    Unmountable(PortError),
}

pub(crate) async fn devices<H: Disks>(context: &Context<'_, H>) -> Result<Vec<DeviceFacts>, Fault> {
    let listed = context.host.list_devices().await;
    listed.map_err(|error| to_fault(Operation::ReadDisks, error))
}

/// The volume's device: the one with its serial; where disks have no serials (Xen), the one with the very name that
/// EC2 attached it under, and of its size. Never one that could be another's.
pub(crate) async fn device<H: Disks>(
    context: &Context<'_, H>,
    volume_id: &str,
) -> Result<DeviceFacts, Fault> {
    let devices = devices(context).await?;
    let mut found = devices.iter().filter(|device| is_of(device, volume_id));
    let missing = |summary: String| {
        Fault::new(Code::StorageDeviceMissing, summary).seen("devices", list(&devices))
    };
    match (found.next(), found.next()) {
        (Some(device), None) => return Ok(device.clone()),
        (Some(_), Some(_)) => {
            return Err(missing(format!(
                "several devices have the serial of {volume_id}"
            )));
        }
        (None, _) => {}
    }
    let ours = context.know(BootFacts::instance)?.instance_id;
    let named = context.know(|knowledge| {
        let mut volumes = knowledge.storage.volumes.iter();
        let volume = volumes.find(|volume| volume.volume_id == volume_id)?;
        by_name(&devices, volume, &ours).cloned()
    });
    named.ok_or_else(|| missing(format!("no device has the serial of {volume_id}")))
}

/// Of the volumes that are attached here, those whose device carries this cluster's marker for that very volume.
pub(crate) async fn verified<H: Disks>(
    context: &Context<'_, H>,
    cluster: &str,
    cluster_generation: &ClusterGeneration,
    here: &[&VolumeFacts],
    devices: &[DeviceFacts],
) -> BTreeSet<String> {
    let mut verified = BTreeSet::new();
    let uid = cluster_generation.current.as_deref().unwrap_or_default();
    let expected =
        |volume: &VolumeFacts, slot: &Slot| identity(cluster, uid, slot, &volume.volume_id);
    for volume in here {
        let device = devices
            .iter()
            .find(|device| is_of(device, &volume.volume_id));
        let slot = Slot::of_tags(&volume.tags);
        if let (Some(device), Some(slot)) = (device, slot)
            && carries_marker(
                context,
                cluster_generation,
                &expected(volume, &slot),
                device,
            )
            .await
        {
            verified.insert(volume.volume_id.clone());
        }
    }
    verified
}

/// Looks inside a filesystem. One whose UUID says that it is ours is checked first: the look does not replay the
/// journal, and what was written just before a power cut is only there. Anyone else's is not touched.
pub(crate) async fn look_inside<H: Disks>(
    context: &Context<'_, H>,
    device: &DeviceFacts,
    filesystem_uuid: Option<&str>,
    identity: &VolumeIdentity,
) -> Result<Looked, Fault> {
    let own = identity.filesystem_uuid();
    let is_checked = filesystem_uuid == Some(own.as_str()) && !context.is_planning();
    if is_checked && let Some(damaged) = check(context, device, &identity.volume_id).await? {
        return Ok(Looked::Damaged(damaged));
    }
    match context.host.look_inside(device).await {
        Ok(found) => Ok(Looked::FilesystemContents(found, is_checked)),
        Err(error) if error.condition == Condition::Malformed => Ok(Looked::Unmountable(error)),
        Err(error) => Err(to_fault(Operation::ReadDisks, error)
            .seen("volume", &identity.volume_id)
            .seen("device", &device.path)),
    }
}

/// Has a filesystem checked and repaired where that loses nothing, which is said; what is left when it cannot be.
pub(crate) async fn check<H: Disks>(
    context: &Context<'_, H>,
    device: &DeviceFacts,
    volume_id: &str,
) -> Result<Option<FilesystemCheck>, Fault> {
    let checked = context.host.check_filesystem(device).await;
    let checked = checked
        .map_err(|error| to_fault(Operation::CheckFilesystem, error).seen("volume", volume_id))?;
    match checked {
        FilesystemCheck::Clean => Ok(None),
        FilesystemCheck::Fixed { output } => {
            let summary = format!("the filesystem of {volume_id} was repaired");
            let fault = Fault::new(Code::StorageFilesystemRepaired, summary);
            let fault = fault.seen("e2fsck", output);
            context.emitter.emit(Event::Warning { fault });
            Ok(None)
        }
        FilesystemCheck::Damaged { .. } => Ok(Some(checked)),
    }
}

/// Whether a device carries the marker; one that cannot be looked into does not, and the gate says why later.
async fn carries_marker<H: Disks>(
    context: &Context<'_, H>,
    cluster_generation: &ClusterGeneration,
    identity: &VolumeIdentity,
    device: &DeviceFacts,
) -> bool {
    // Nothing is repaired here, not even a journal: observing never writes.
    let Ok(found) = context.host.look_inside(device).await else {
        return false;
    };
    let context = ContentsContext {
        identity,
        uids: &cluster_generation.uids,
        filesystem_uuid: None,
        format_intent: false,
        peer_keys: &[],
    };
    inside(&found, context) == FilesystemContents::Match
}

/// Whether a device is this volume's, by its serial.
pub(super) fn is_of(device: &DeviceFacts, volume_id: &str) -> bool {
    let plain = |serial: &str| serial.replace('-', "");
    let serial = device.serial.as_deref().map(plain);
    serial == Some(plain(volume_id))
}

/// The device of a volume by its name, on machines whose disks have no serials. A kernel with Xen's disks shows
/// `/dev/sdf` as `xvdf`; a Nitro instance has no device of such a name, so nothing is found there.
fn by_name<'a>(
    devices: &'a [DeviceFacts],
    volume: &VolumeFacts,
    ours: &str,
) -> Option<&'a DeviceFacts> {
    let [attachment] = volume.attachments.as_slice() else {
        return None;
    };
    let is_ours = attachment.instance_id == ours && attachment.state == AttachmentState::Attached;
    let name = attachment.device_name.strip_prefix("/dev/")?;
    let letters = name
        .strip_prefix("xvd")
        .or_else(|| name.strip_prefix("sd"))?;
    let path = format!("/dev/xvd{letters}");
    let size = u64::from(volume.size_gib) << 30;
    let mut named = devices.iter().filter(|device| device.path == path);
    named.find(|device| is_ours && device.serial.is_none() && device.size_bytes == size)
}

fn list(devices: &[DeviceFacts]) -> String {
    let one = |device: &DeviceFacts| {
        format!(
            "{}({})",
            device.path,
            device.serial.as_deref().unwrap_or("-")
        )
    };
    devices.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::facts::{Attachment, VolumeState};
    use quake_model::time::Timestamp;
    use std::collections::BTreeMap;

    fn device(path: &str, serial: Option<&str>, gib: u64) -> DeviceFacts {
        DeviceFacts {
            path: path.to_owned(),
            serial: serial.map(str::to_owned),
            size_bytes: gib << 30,
            number: "202:16".to_owned(),
        }
    }

    fn volume(device_name: &str, instance: &str) -> VolumeFacts {
        VolumeFacts {
            volume_id: "vol-0a".to_owned(),
            zone: "z".to_owned(),
            state: VolumeState::InUse,
            size_gib: 20,
            created: Timestamp(0),
            encrypted: false,
            multi_attach: false,
            snapshot_id: None,
            tags: BTreeMap::new(),
            attachments: vec![Attachment {
                instance_id: instance.to_owned(),
                device_name: device_name.to_owned(),
                state: AttachmentState::Attached,
                since: None,
                delete_on_termination: false,
            }],
        }
    }

    #[test]
    fn a_xen_disk_is_the_volumes_by_name_and_size_and_only_where_it_has_no_serial() {
        let found = |device: DeviceFacts, volume: VolumeFacts| {
            by_name(&[device], &volume, "i-0a").is_some()
        };
        let xen = || device("/dev/xvdba", None, 20);
        for name in ["/dev/xvdba", "/dev/sdba"] {
            assert!(found(xen(), volume(name, "i-0a")), "{name}");
        }
        assert!(!found(xen(), volume("/dev/xvdbb", "i-0a")), "another name");
        assert!(
            !found(xen(), volume("/dev/xvdba", "i-0b")),
            "another instance's"
        );
        assert!(
            !found(device("/dev/xvdba", None, 8), volume("/dev/xvdba", "i-0a")),
            "another size"
        );
        let other = device("/dev/xvdba", Some("vol0b"), 20);
        assert!(
            !found(other, volume("/dev/xvdba", "i-0a")),
            "it has a serial, and another one"
        );
    }
}
