//! What this machine itself knows of a volume: its device, by serial, and what is inside.

use crate::context::Context;
use crate::meaning::{Attempted, fault_of};
use quake_model::facts::{
    AttachmentState, DeviceContents, DeviceFacts, FilesystemCheck, InsideFacts, VolumeFacts,
};
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Condition, Host};
use quake_plan::storage::{
    Incarnation, Inside, InsideContext, Slot, VolumeIdentity, identity, inside,
};
use std::collections::BTreeSet;

/// What a look inside a filesystem came to.
pub(crate) enum Looked {
    /// It was looked into.
    Inside(InsideFacts),
    /// It is ours, and no safe repair mends it.
    Damaged(FilesystemCheck),
    /// It cannot be mounted.
    Unmountable,
}

impl<H: Host> Context<'_, H> {
    /// The kernel's block devices.
    pub(crate) async fn devices(&self) -> Result<Vec<DeviceFacts>, Fault> {
        let listed = self.host.list_devices().await;
        listed.map_err(|error| fault_of(Attempted::ReadDisks, error))
    }

    /// The volume's device: the one with its serial, never one with a name that could be another's.
    pub(crate) async fn device(&self, volume_id: &str) -> Result<DeviceFacts, Fault> {
        let devices = self.devices().await?;
        let mut found = devices.iter().filter(|device| is_of(device, volume_id));
        match (found.next(), found.next()) {
            (Some(device), None) => Ok(device.clone()),
            (Some(_), Some(_)) => {
                let summary = format!("several devices have the serial of {volume_id}");
                Err(Fault::new(Code::StorageDeviceMissing, summary).seen("devices", list(&devices)))
            }
            (None, _) => {
                let summary = format!("no device has the serial of {volume_id}");
                Err(Fault::new(Code::StorageDeviceMissing, summary).seen("devices", list(&devices)))
            }
        }
    }

    /// Volumes that are attached here and whose device carries this cluster's marker for that very volume.
    pub(crate) async fn verified(
        &self,
        cluster: &str,
        incarnation: &Incarnation,
        ours: &str,
        volumes: &[VolumeFacts],
    ) -> Result<BTreeSet<String>, Fault> {
        let is_here = |volume: &&VolumeFacts| {
            let mut attachments = volume.attachments.iter();
            attachments.any(|a| a.instance_id == ours && a.state == AttachmentState::Attached)
        };
        let here: Vec<&VolumeFacts> = volumes.iter().filter(is_here).collect();
        let mut verified = BTreeSet::new();
        if here.is_empty() {
            return Ok(verified);
        }
        let devices = self.devices().await?;
        let uid = incarnation.current.as_deref().unwrap_or_default();
        let expected =
            |volume: &VolumeFacts, slot: &Slot| identity(cluster, uid, slot, &volume.volume_id);
        for volume in here {
            let device = devices
                .iter()
                .find(|device| is_of(device, &volume.volume_id));
            let slot = Slot::of_tags(&volume.tags);
            if let (Some(device), Some(slot)) = (device, slot)
                && self
                    .carries_marker(incarnation, &expected(volume, &slot), device)
                    .await
            {
                verified.insert(volume.volume_id.clone());
            }
        }
        Ok(verified)
    }

    /// Looks inside a filesystem. One whose UUID says that it is ours is checked first: the look does not replay the
    /// journal, and what was written just before a power cut is only there. Anyone else's is not touched.
    pub(crate) async fn look_inside(
        &self,
        device: &DeviceFacts,
        filesystem_uuid: Option<&str>,
        identity: &VolumeIdentity,
    ) -> Result<Looked, Fault> {
        let own = identity.filesystem_uuid();
        if filesystem_uuid == Some(own.as_str()) && !self.is_planning() {
            let checked = self.host.check_filesystem(device).await;
            let checked = checked.map_err(|error| {
                fault_of(Attempted::CheckFilesystem, error).seen("volume", &identity.volume_id)
            })?;
            if matches!(checked, FilesystemCheck::Damaged { .. }) {
                return Ok(Looked::Damaged(checked));
            }
        }
        match self.host.look_inside(device).await {
            Ok(found) => Ok(Looked::Inside(found)),
            Err(error) if error.condition == Condition::Malformed => Ok(Looked::Unmountable),
            Err(error) => Err(fault_of(Attempted::ReadDisks, error)
                .seen("volume", &identity.volume_id)
                .seen("device", &device.path)),
        }
    }

    /// Whether a device carries the marker; one that cannot be looked into does not, and the gate says why later.
    async fn carries_marker(
        &self,
        incarnation: &Incarnation,
        identity: &VolumeIdentity,
        device: &DeviceFacts,
    ) -> bool {
        let contents = self.host.probe_device(device).await.ok();
        let uuid = match &contents {
            Some(DeviceContents::Filesystem { uuid, .. }) => uuid.as_deref(),
            _ => return false,
        };
        let Ok(Looked::Inside(found)) = self.look_inside(device, uuid, identity).await else {
            return false;
        };
        let context = InsideContext {
            identity,
            uids: &incarnation.uids,
            filesystem_uuid: None,
            format_intent: false,
            peer_keys: &[],
        };
        inside(&found, context) == Inside::Match
    }
}

/// Whether a device is this volume's, by its serial.
pub(super) fn is_of(device: &DeviceFacts, volume_id: &str) -> bool {
    let plain = |serial: &str| serial.replace('-', "");
    let serial = device.serial.as_deref().map(plain);
    serial == Some(plain(volume_id))
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
