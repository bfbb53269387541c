//! Holds volumes: attached, found by serial, formatted only when blank, mounted.

use crate::context::Context;
use crate::meaning::{Attempted, fault_of};
use quake_model::facts::{AttachmentState, DeviceFacts, VolumeFacts};
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::{Condition, Host, VolumeQuery};
use quake_model::step::{Step, VolumeStep};
use quake_plan::hold::{FormatDecision, MountDecision, decide_format, decide_mount};
use std::time::Duration;

/// How long an attach may take until the kernel shows the device. A guess: seconds as a rule; the rest is
/// room for a volume that the last holder gives up slowly.
const ATTACH_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// Where a volume is, seen from this instance.
enum Seen {
    Ours,
    Coming,
    Free,
}

pub(crate) async fn attached<H: Host>(
    context: &Context<'_, H>,
    step: &Step,
    volume: &VolumeStep,
) -> Result<Outcome, Fault> {
    let wait = context.wait(step.phase, &step.id, ATTACH_DEADLINE);
    let ours = context
        .know(crate::knowledge::Knowledge::instance)?
        .instance_id;
    let mut outcome = Outcome::Held;
    if let Seen::Free = context.retry(&wait, || see(context, volume, &ours)).await? {
        if context.is_planning() {
            return Ok(Outcome::WouldChange);
        }
        context.announce(step);
        // Looking again before each try makes asking twice harmless.
        let ask = || async {
            match see(context, volume, &ours).await? {
                Seen::Free => attach(context, volume, &ours).await,
                Seen::Ours | Seen::Coming => Ok(()),
            }
        };
        context.retry(&wait, ask).await?;
        outcome = Outcome::Changed;
    }
    let verify = || async {
        match see(context, volume, &ours).await? {
            Seen::Ours => device(context, volume).await.map(|_| ()),
            Seen::Coming | Seen::Free => {
                let summary = format!(
                    "EC2 does not show {} attached to {ours} yet",
                    volume.volume_id
                );
                Err(Fault::new(Code::StorageVolumeBusy, summary))
            }
        }
    };
    context.retry(&wait, verify).await?;
    Ok(outcome)
}

/// Asks for the attachment once. That it is ours already is not an error: an earlier try may have
/// reached EC2 without its answer reaching us.
async fn attach<H: Host>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
    ours: &str,
) -> Result<(), Fault> {
    let asked = context
        .host
        .attach_volume(&volume.volume_id, ours, &volume.device_name)
        .await;
    let Err(error) = asked else { return Ok(()) };
    if error.condition == Condition::Conflict
        && let Ok(Seen::Ours | Seen::Coming) = see(context, volume, ours).await
    {
        return Ok(());
    }
    Err(fault_of(Attempted::AttachVolume, error).seen("volume", &volume.volume_id))
}

async fn see<H: Host>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
    ours: &str,
) -> Result<Seen, Fault> {
    let query = VolumeQuery::Ids(vec![volume.volume_id.clone()]);
    let described = context.host.describe_volumes(&query).await;
    let volumes = described.map_err(|error| fault_of(Attempted::DescribeVolumes, error))?;
    let Some(found) = volumes
        .iter()
        .find(|found| found.volume_id == volume.volume_id)
    else {
        let summary = format!("EC2 does not show {}", volume.volume_id);
        return Err(Fault::new(Code::StorageVolumeMissing, summary));
    };
    place_of(found, ours)
}

fn place_of(found: &VolumeFacts, ours: &str) -> Result<Seen, Fault> {
    let id = &found.volume_id;
    match found
        .attachments
        .iter()
        .find(|attachment| attachment.state != AttachmentState::Detached)
    {
        None => Ok(Seen::Free),
        Some(attachment) if attachment.instance_id != ours => {
            let summary = format!("{id} is attached to {}", attachment.instance_id);
            Err(Fault::new(Code::StorageAttachFailed, summary)
                .seen("holder", &attachment.instance_id))
        }
        Some(attachment) => match attachment.state {
            AttachmentState::Attached => Ok(Seen::Ours),
            AttachmentState::Attaching => Ok(Seen::Coming),
            AttachmentState::Detaching
            | AttachmentState::Detached
            | AttachmentState::Busy
            | AttachmentState::Unknown => {
                let summary = format!("the attachment of {id} to this instance is being undone");
                Err(Fault::new(Code::StorageVolumeBusy, summary))
            }
        },
    }
}

/// Finds the volume's device by its serial, never by a name that could be another's.
async fn device<H: Host>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
) -> Result<DeviceFacts, Fault> {
    let listed = context.host.list_devices().await;
    let devices = listed.map_err(|error| fault_of(Attempted::ReadDisks, error))?;
    let serial = volume.volume_id.replace('-', "");
    let found = devices.iter().find(|device| {
        device
            .serial
            .as_ref()
            .is_some_and(|found| found.replace('-', "") == serial)
    });
    match found {
        Some(device) => Ok(device.clone()),
        None => {
            let seen: Vec<String> = devices
                .iter()
                .map(|device| {
                    format!(
                        "{}({})",
                        device.path,
                        device.serial.as_deref().unwrap_or("-")
                    )
                })
                .collect();
            let summary = format!("no device has the serial {serial}");
            Err(Fault::new(Code::StorageDeviceMissing, summary).seen("devices", seen.join(" ")))
        }
    }
}

pub(crate) async fn formatted<H: Host>(
    context: &Context<'_, H>,
    step: &Step,
    volume: &VolumeStep,
) -> Result<Outcome, Fault> {
    let device = match device(context, volume).await {
        Ok(device) => device,
        Err(fault) => return unseen(context, fault),
    };
    let probe = async || {
        let probed = context.host.probe_device(&device.path).await;
        probed.map_err(|error| fault_of(Attempted::ReadDisks, error).seen("device", &device.path))
    };
    match decide_format(&probe().await?) {
        FormatDecision::Hold => return Ok(Outcome::Held),
        FormatDecision::Refuse(what) => {
            let summary = format!("{} ({}) carries {what}", volume.volume_id, device.path);
            return Err(
                Fault::new(Code::StorageDeviceNotBlank, summary).seen("device", &device.path)
            );
        }
        FormatDecision::Make => {}
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    let made = context
        .host
        .make_filesystem(&device.path, &volume.label)
        .await;
    made.map_err(|error| {
        fault_of(Attempted::MakeFilesystem, error).seen("volume", &volume.volume_id)
    })?;
    match decide_format(&probe().await?) {
        FormatDecision::Hold => Ok(Outcome::Changed),
        _ => {
            let summary = format!(
                "{} carries no ext4 filesystem after it was made",
                device.path
            );
            Err(Fault::new(Code::StorageFormatFailed, summary))
        }
    }
}

pub(crate) async fn mounted<H: Host>(
    context: &Context<'_, H>,
    step: &Step,
    volume: &VolumeStep,
) -> Result<Outcome, Fault> {
    let device = match device(context, volume).await {
        Ok(device) => device,
        Err(fault) => return unseen(context, fault),
    };
    let decide = async || {
        let listed = context.host.list_mounts().await;
        let mounts = listed.map_err(|error| fault_of(Attempted::Mount, error))?;
        Ok::<_, Fault>(decide_mount(volume, &device.number, &mounts))
    };
    match decide().await? {
        MountDecision::Hold => return Ok(Outcome::Held),
        MountDecision::Refuse(source) => {
            let summary = format!("{source} is mounted at {}", volume.mount_point);
            return Err(Fault::new(Code::StorageMountOccupied, summary));
        }
        MountDecision::Mount => {}
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    let mounted = context
        .host
        .mount_device(&device.path, &volume.mount_point)
        .await;
    mounted.map_err(|error| fault_of(Attempted::Mount, error).seen("volume", &volume.volume_id))?;
    match decide().await? {
        MountDecision::Hold => Ok(Outcome::Changed),
        _ => {
            let summary = format!("{} is not mounted at {}", device.path, volume.mount_point);
            Err(Fault::new(Code::StorageMountFailed, summary))
        }
    }
}

/// A plan cannot see the device of a volume that is not attached; a boot must.
fn unseen<H: Host>(context: &Context<'_, H>, fault: Fault) -> Result<Outcome, Fault> {
    if context.is_planning() && fault.code == Code::StorageDeviceMissing {
        return Ok(Outcome::WouldChange);
    }
    Err(fault)
}
