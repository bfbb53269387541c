//! Holds volumes that the operator names by their devices: a filesystem is made where the device is proven blank, and on
//! nothing else; and it is mounted.
//!
//! This is the gate of etcd's volumes without what only etcd's have: no tags, no marker, no backups that say whether data is
//! expected. What is not blank and not the filesystem that is wanted is refused and left as it is.

use crate::context::Context;
use crate::ensure::glances;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::facts::{DeviceContents, DeviceFacts};
use quake_model::fault::{Code, Fault};
use quake_model::item::VolumeMount;
use quake_model::outcome::Outcome;
use quake_model::ports::{Disks, Meter};
use quake_model::step::Step;
use quake_node::up_to_date::{DeviceDecision, MountDecision, decide_device, decide_mount};
use std::time::Duration;

/// How long a device may take to appear. A guess: what the launch attaches is there before the agent is.
const DEVICE_DEADLINE: Duration = Duration::from_secs(5 * 60);

pub(crate) async fn mounted<H: Disks + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    volume: &VolumeMount,
) -> Result<Outcome, Fault> {
    let wait = context.wait(step.phase, &step.id, DEVICE_DEADLINE);
    let device = match context.is_planning() {
        true => find(context, volume).await,
        false => {
            let is_there = async || find(context, volume).await.is_ok();
            let early = || glances::until(context, is_there);
            let find = || find(context, volume);
            context.retry_early(&wait, find, early).await
        }
    };
    let device = match device {
        Err(fault) if context.is_planning() && fault.code == Code::StorageDeviceMissing => {
            return Ok(Outcome::WouldChange);
        }
        device => device?,
    };
    if is_mounted(context, volume, &device).await? {
        return Ok(Outcome::Unchanged);
    }
    let decision = look(context, volume, &device).await?;
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    if decision == DeviceDecision::Format {
        let made = context.host.format_device(&device, volume).await;
        made.map_err(|error| about(to_fault(Operation::MakeFilesystem, error), volume))?;
        if look(context, volume, &device).await? != DeviceDecision::Mount {
            let summary = format!("{} is blank after mkfs", device.path);
            return Err(about(
                Fault::new(Code::StorageFormatFailed, summary),
                volume,
            ));
        }
    }
    let mounted = context.host.mount_volume(&device, volume).await;
    mounted.map_err(|error| about(to_fault(Operation::Mount, error), volume))?;
    match is_mounted(context, volume, &device).await? {
        true => Ok(Outcome::Changed),
        false => {
            let summary = format!("{} is not mounted at {}", device.path, volume.path);
            Err(about(Fault::new(Code::StorageMountFailed, summary), volume))
        }
    }
}

async fn find<H: Disks>(
    context: &Context<'_, H>,
    volume: &VolumeMount,
) -> Result<DeviceFacts, Fault> {
    let found = context.host.find_device(&volume.device).await;
    let found = found.map_err(|error| about(to_fault(Operation::ReadDisks, error), volume))?;
    found.ok_or_else(|| {
        let summary = format!("there is no device {}", volume.device);
        about(Fault::new(Code::StorageDeviceMissing, summary), volume).remedied_by(format!(
            "see lsblk: on Nitro instances /dev/xvd… is a link to an NVMe device, and not every image makes it; name the device that {} is in the group's volumeMounts",
            volume.path
        ))
    })
}

async fn look<H: Disks>(
    context: &Context<'_, H>,
    volume: &VolumeMount,
    device: &DeviceFacts,
) -> Result<DeviceDecision, Fault> {
    let probed = context.host.probe_device(device).await;
    let contents = probed.map_err(|error| about(to_fault(Operation::ReadDisks, error), volume))?;
    match decide_device(volume, &contents) {
        DeviceDecision::Refuse => Err(refused(volume, device, &contents)),
        decision => Ok(decision),
    }
}

fn refused(volume: &VolumeMount, device: &DeviceFacts, contents: &DeviceContents) -> Fault {
    let code = match contents {
        DeviceContents::Filesystem { .. } | DeviceContents::Damaged { .. } => {
            Code::StorageFilesystemUnusable
        }
        _ => Code::StorageDeviceNotBlank,
    };
    let (path, filesystem) = (&device.path, &volume.filesystem);
    let summary = format!(
        "{path} is to carry {filesystem} for {}, and {contents}",
        volume.path
    );
    about(Fault::new(code, summary), volume).remedied_by(format!(
        "if nothing on it is needed: wipefs --all {path}; else take it out of the group's volumeMounts, or name its filesystem there"
    ))
}

async fn is_mounted<H: Disks>(
    context: &Context<'_, H>,
    volume: &VolumeMount,
    device: &DeviceFacts,
) -> Result<bool, Fault> {
    let listed = context.host.list_mounts().await;
    let mounts = listed.map_err(|error| to_fault(Operation::Mount, error))?;
    match decide_mount(&volume.path, &device.number, &mounts) {
        MountDecision::Keep => Ok(true),
        MountDecision::Mount => Ok(false),
        MountDecision::Refuse(source) => {
            let summary = format!("{source} is mounted at {}", volume.path);
            Err(about(
                Fault::new(Code::StorageMountOccupied, summary),
                volume,
            ))
        }
    }
}

fn about(fault: Fault, volume: &VolumeMount) -> Fault {
    fault
        .seen("device", &volume.device)
        .seen("path", &volume.path)
}
