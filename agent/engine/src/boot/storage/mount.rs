//! Mounts a volume that passed the gate, and leaves on it and on EC2 whose it is.

use super::filesystem::{SafetyGate, look, unseen};
use super::refusal::{refusal, warn_of_consent};
use crate::boot::facts::BootFacts;
use crate::boot::storage::{StoragePorts, journal, local};
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::event::Event;
use quake_model::facts::{DeviceContents, DeviceFacts, FilesystemCheck};
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::{Clock, Cloud, Disks, Files};
use quake_model::step::{Step, VolumeStep};
use quake_node::up_to_date::{MountDecision, decide_mount};
use quake_volumes::{BLANK_OK, FORMATTED, GateDecision, GateRule, Marker, UID, Writer};
use std::collections::BTreeMap;

/// How much larger than its filesystem a device must be to grow it: one block group, which mkfs may leave unused at
/// the end. EBS grows by whole GiB.
const GROWTH: u64 = 128 << 20;

pub(crate) async fn mounted<H: StoragePorts>(
    context: &Context<'_, H>,
    step: &Step,
    volume: &VolumeStep,
) -> Result<Outcome, Fault> {
    let device = match local::device(context, &volume.volume_id).await {
        Ok(device) => device,
        Err(fault) => return unseen(context, fault),
    };
    let is_mounted = is_mounted(context, volume, &device).await?;
    if context.is_planning() && !is_mounted {
        return Ok(Outcome::WouldChange);
    }
    let gate = look(context, volume, &device).await?;
    match gate.decision {
        GateDecision::Mount(_) => {}
        GateDecision::Refuse(rule) => return Err(refusal(context, &gate, rule, &device)),
        GateDecision::Format(..) => {
            let id = &volume.volume_id;
            let summary = format!("{id} lost its filesystem before it was mounted");
            return Err(Fault::new(Code::StorageFormatFailed, summary));
        }
    }
    if context.is_planning() {
        return Ok(Outcome::Unchanged);
    }
    let mut changed = false;
    if !is_mounted {
        context.announce(step);
        if !gate.is_checked {
            check(context, volume, &device).await?;
        }
        mount(context, volume, &device).await?;
        changed = true;
    }
    changed |= grow(context, &gate, &device).await?;
    changed |= mark(context, &gate, &device).await?;
    tag(context, &gate).await?;
    journal::note(context, |journal| {
        journal.formatting.remove(&volume.volume_id);
    })
    .await?;
    Ok(if changed {
        Outcome::Changed
    } else {
        Outcome::Unchanged
    })
}

/// Whether the volume is mounted where it belongs; anything else there is refused.
async fn is_mounted<H: Disks>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
    device: &DeviceFacts,
) -> Result<bool, Fault> {
    let listed = context.host.list_mounts().await;
    let mounts = listed.map_err(|error| to_fault(Operation::Mount, error))?;
    match decide_mount(&volume.mount_point, &device.number, &mounts) {
        MountDecision::Keep => Ok(true),
        MountDecision::Mount => Ok(false),
        MountDecision::Refuse(source) => {
            let summary = format!("{source} is mounted at {}", volume.mount_point);
            Err(Fault::new(Code::StorageMountOccupied, summary))
        }
    }
}

async fn mount<H: Disks>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
    device: &DeviceFacts,
) -> Result<(), Fault> {
    let mounted = context.host.mount_device(device, &volume.mount_point).await;
    mounted.map_err(|error| to_fault(Operation::Mount, error).seen("volume", &volume.volume_id))?;
    if is_mounted(context, volume, device).await? {
        return Ok(());
    }
    let summary = format!("{} is not mounted at {}", device.path, volume.mount_point);
    Err(Fault::new(Code::StorageMountFailed, summary))
}

/// Repairs what can be repaired without loss; refuses the rest.
async fn check<H: Disks>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
    device: &DeviceFacts,
) -> Result<(), Fault> {
    let id = &volume.volume_id;
    let Some(FilesystemCheck::Damaged { status, output }) =
        local::check(context, device, id).await?
    else {
        return Ok(());
    };
    let summary = format!(
        "the filesystem of {id} of {} cannot be repaired safely",
        volume.slot
    );
    Err(Fault::new(Code::StorageFilesystemUnusable, summary)
        .seen("rule", GateRule::FilesystemCorrupt.name())
        .seen("status", status)
        .seen("e2fsck", output)
        .remedied_by(format!(
            "take a snapshot of {id}, then: e2fsck -f {}; or restore etcd's backup",
            device.path
        )))
}

/// Makes the filesystem as large as a volume that was enlarged.
async fn grow<H: Disks>(
    context: &Context<'_, H>,
    gate: &SafetyGate,
    device: &DeviceFacts,
) -> Result<bool, Fault> {
    let Some(DeviceContents::Filesystem {
        size_bytes: Some(size),
        ..
    }) = &gate.contents
    else {
        return Ok(false);
    };
    if device.size_bytes < size + GROWTH {
        return Ok(false);
    }
    match context.host.grow_filesystem(device).await {
        Ok(()) => Ok(true),
        Err(error) => {
            // etcd runs on the smaller filesystem as it did before.
            let fault =
                to_fault(Operation::GrowFilesystem, error).seen("volume", &gate.identity.volume_id);
            context.emitter.emit(Event::Warning { fault });
            Ok(false)
        }
    }
}

/// Writes the marker unless it is there and says the same.
async fn mark<H: Disks + Clock>(
    context: &Context<'_, H>,
    gate: &SafetyGate,
    device: &DeviceFacts,
) -> Result<bool, Fault> {
    let before = gate.inside.marker.as_deref().and_then(Marker::read);
    if before
        .as_ref()
        .is_some_and(|marker| marker.identity == gate.identity)
    {
        return Ok(false);
    }
    warn_of_consent(context, gate);
    let writer = Writer {
        agent: context.request.version.clone(),
        instance_id: context.know(BootFacts::instance)?.instance_id,
        now: context.host.now().to_string(),
    };
    let is_other_life = gate.decision.rule() == GateRule::Adopted;
    let marker = Marker::new(
        gate.identity.clone(),
        writer,
        before.as_ref(),
        is_other_life,
    );
    let written = context.host.write_marker(device, &marker.text()).await;
    written.map_err(|error| {
        to_fault(Operation::Mount, error).seen("volume", &gate.identity.volume_id)
    })?;
    Ok(true)
}

/// Writes on EC2 what the marker says, for those who cannot look inside. A role that may not is told so and goes on:
/// the marker stands. Beside etcd-manager nothing is written: the role that kops makes for such a node may tag no volume
/// that is there already (kops 1.32 to 1.37, `pkg/model/iam/iam_builder.go`), and every try would be a denied call.
async fn tag<H: Cloud + Files>(context: &Context<'_, H>, gate: &SafetyGate) -> Result<(), Fault> {
    if context.know(BootFacts::holds_etcd_back) {
        return Ok(());
    }
    let id = &gate.identity.volume_id;
    let shown = &gate.volume.tags;
    let mut wanted = BTreeMap::from([(UID.to_owned(), gate.identity.cluster_uid.clone())]);
    let record = journal::read(context).await?.formatting.get(id).cloned();
    if let Some(record) = record {
        wanted.insert(FORMATTED.to_owned(), record.at.to_string());
    }
    wanted.retain(|key, value| shown.get(key) != Some(value));
    let mut results = Vec::new();
    if !wanted.is_empty() {
        results.push(context.host.tag_volume(id, &wanted).await);
    }
    if shown.contains_key(BLANK_OK) {
        results.push(context.host.untag_volume(id, &[BLANK_OK.to_owned()]).await);
    }
    for error in results.into_iter().filter_map(Result::err) {
        let fault = to_fault(Operation::TagVolume, error).seen("volume", id);
        context.emitter.emit(Event::Warning { fault });
    }
    Ok(())
}
