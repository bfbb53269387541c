//! The gate before a volume's data: what is on the device decides whether it is mounted, formatted or left alone.

use super::local::Looked;
use super::refusal::refusal;
use crate::boot::facts::BootFacts;
use crate::boot::observe::objects;
use crate::boot::storage::identity::{peer_keys, read_generation};
use crate::boot::storage::{StoragePorts, journal, local};
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::backoff::TRANSIENT_RETRY;
use quake_model::facts::{
    DeviceContents, DeviceFacts, FilesystemCheck, InsideFacts, NewFilesystem, VolumeFacts,
};
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::ports::{Clock, Condition, Disks, Files, Meter, Objects, PortError};
use quake_model::step::{Step, VolumeStep};
use quake_volumes::{
    self, ClusterGeneration, ContentsContext, DeviceSignature, Expectation, FilesystemContents,
    Formatting, GateDecision, GateFacts, Slot, VolumeIdentity, decide_gate, expects_data, identity,
    inside, newest_backup, surface,
};

/// How often a device that cannot be read is read again before that is believed.
const PROBES: u32 = 2;

/// What the gate saw and decided.
pub(super) struct SafetyGate {
    pub(super) decision: GateDecision,
    pub(super) identity: VolumeIdentity,
    pub(super) contents: Option<DeviceContents>,
    pub(super) inside: InsideFacts,
    /// The volume as EC2 showed it last.
    pub(super) volume: VolumeFacts,
    pub(super) expectation: Option<Expectation>,
    /// Whether its filesystem was checked for this decision.
    pub(super) is_checked: bool,
    /// What the check said, where it was damaged.
    pub(super) check: Option<FilesystemCheck>,
    /// Why it cannot be mounted.
    pub(super) unmountable: Option<PortError>,
}

pub(crate) async fn formatted<H: StoragePorts>(
    context: &Context<'_, H>,
    step: &Step,
    volume: &VolumeStep,
) -> Result<Outcome, Fault> {
    let device = match local::device(context, &volume.volume_id).await {
        Ok(device) => device,
        Err(fault) => return unseen(context, fault),
    };
    let gate = look(context, volume, &device).await?;
    let over = match gate.decision {
        GateDecision::Mount(_) => return Ok(Outcome::Unchanged),
        GateDecision::Refuse(rule) => return Err(refusal(context, &gate, rule, &device)),
        GateDecision::Format(_, over) => over,
    };
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    let record = Formatting {
        slot: volume.slot.clone(),
        uuid: volume.uuid.clone(),
        at: context.host.now(),
    };
    journal::note(context, |journal| {
        journal.formatting.insert(volume.volume_id.clone(), record);
    })
    .await?;
    let wanted = NewFilesystem {
        uuid: volume.uuid.clone(),
        label: volume.label.clone(),
        over,
    };
    let mut failed = None;
    if let Err(error) = context.host.make_filesystem(&device, &wanted).await {
        // The mkfs of an agent that was killed may have ended since the look: then it is ours, and done.
        let is_changed = error.condition == Condition::Occupied;
        let fault = to_fault(Operation::MakeFilesystem, error).seen("volume", &volume.volume_id);
        if !is_changed {
            return Err(fault);
        }
        failed = Some(fault);
    }
    match look(context, volume, &device).await?.decision {
        GateDecision::Mount(_) => Ok(Outcome::Changed),
        _ => Err(failed.unwrap_or_else(|| {
            let what = "carries no filesystem of ours after it was made";
            Fault::new(Code::StorageFormatFailed, format!("{} {what}", device.path))
        })),
    }
}

/// A plan cannot see the device of a volume that is not attached; a boot must.
pub(super) fn unseen<H>(context: &Context<'_, H>, fault: Fault) -> Result<Outcome, Fault> {
    if context.is_planning() && fault.code == Code::StorageDeviceMissing {
        return Ok(Outcome::WouldChange);
    }
    Err(fault)
}

/// Looks at a device and decides.
pub(super) async fn look<H: StoragePorts>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
    device: &DeviceFacts,
) -> Result<SafetyGate, Fault> {
    let subject = subject(context, volume).await?;
    let Subject {
        identity, shown, ..
    } = &subject;
    let (mut surface, contents) = probe(context, volume, device, subject.format_intent).await?;
    let mut found = InsideFacts::default();
    let mut inside_seen = FilesystemContents::NoMarker;
    let mut is_checked = false;
    let mut check = None;
    let mut unmountable = None;
    if surface == DeviceSignature::Ext4 {
        let uuid = uuid_of(contents.as_ref());
        match local::look_inside(context, device, uuid, identity).await? {
            Looked::FilesystemContents(facts, checked) => {
                is_checked = checked;
                found = facts;
                inside_seen = judge(context, &subject, &found, contents.as_ref()).await?;
            }
            Looked::Damaged(checked) => {
                surface = DeviceSignature::Damaged;
                check = Some(checked);
            }
            Looked::Unmountable(error) => {
                surface = DeviceSignature::Damaged;
                unmountable = Some(error);
            }
        }
    }
    let expectation = match surface {
        DeviceSignature::Blank | DeviceSignature::Unsigned => {
            expectation(context, &subject).await?
        }
        _ => None,
    };
    let by_flag = context.request.empty_slots.contains(&volume.slot);
    let decision = decide_gate(&GateFacts {
        surface,
        inside: inside_seen,
        from_snapshot: shown.snapshot_id.is_some(),
        format_intent: subject.format_intent,
        data_expected: expectation.is_some(),
        empty_consented: by_flag
            || quake_volumes::consents(&shown.tags, &subject.slot, context.host.now()),
        adopted: quake_volumes::is_adopted(shown, &subject.cluster_generation),
    });
    Ok(SafetyGate {
        decision,
        identity: identity.clone(),
        contents,
        inside: found,
        volume: subject.shown,
        expectation,
        is_checked,
        check,
        unmountable,
    })
}

/// What the gate judges.
struct Subject {
    slot: Slot,
    identity: VolumeIdentity,
    cluster_generation: ClusterGeneration,
    shown: VolumeFacts,
    format_intent: bool,
}

async fn subject<H: Objects + Files + Clock + Meter>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
) -> Result<Subject, Fault> {
    let spec = context.know(BootFacts::spec)?;
    let cluster_generation = read_generation(context).await?;
    let slot: Slot = volume
        .slot
        .parse()
        .map_err(|error| Fault::new(Code::BootInternal, format!("{error}")))?;
    let uid = cluster_generation.current.as_deref().unwrap_or_default();
    let identity = identity(&spec.cluster, uid, &slot, &volume.volume_id);
    let shown = context.know(|knowledge| {
        let mut volumes = knowledge.storage.volumes.iter();
        volumes
            .find(|shown| shown.volume_id == volume.volume_id)
            .cloned()
    });
    let shown = shown.ok_or_else(|| {
        let summary = format!("EC2 does not show {}", volume.volume_id);
        Fault::new(Code::StorageViewInconsistent, summary)
    })?;
    let journal = journal::read(context).await?;
    let record = journal.formatting.get(&volume.volume_id);
    Ok(Subject {
        slot,
        identity,
        cluster_generation,
        shown,
        format_intent: record.is_some_and(|record| record.uuid == volume.uuid),
    })
}

async fn probe<H: Disks>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
    device: &DeviceFacts,
    format_intent: bool,
) -> Result<(DeviceSignature, Option<DeviceContents>), Fault> {
    let mut tries = 0;
    loop {
        match context.host.probe_device(device).await {
            Ok(contents) => {
                let surface = surface(&contents, &volume.uuid, format_intent);
                return Ok((surface, Some(contents)));
            }
            // One transient failure of a disk should not end the boot until someone comes.
            Err(error) if error.condition == Condition::Io && tries < PROBES => {
                tries += 1;
                context
                    .pause(TRANSIENT_RETRY.pause(tries, context.draw()))
                    .await?;
            }
            Err(error) if error.condition == Condition::Io => {
                return Ok((DeviceSignature::Unreadable, None));
            }
            Err(error) => return Err(unreadable(error, device)),
        }
    }
}

async fn judge<H: Objects + Meter>(
    context: &Context<'_, H>,
    subject: &Subject,
    found: &InsideFacts,
    contents: Option<&DeviceContents>,
) -> Result<FilesystemContents, Fault> {
    let peer_keys = match found.peer_ca_bundle.is_empty() || found.marker.is_some() {
        true => Vec::new(),
        false => peer_keys(context, &subject.slot.etcd).await?,
    };
    Ok(inside(
        found,
        ContentsContext {
            identity: &subject.identity,
            uids: &subject.cluster_generation.uids,
            filesystem_uuid: uuid_of(contents),
            format_intent: subject.format_intent,
            peer_keys: &peer_keys,
        },
    ))
}

fn unreadable(error: PortError, device: &DeviceFacts) -> Fault {
    to_fault(Operation::ReadDisks, error).seen("device", &device.path)
}

fn uuid_of(contents: Option<&DeviceContents>) -> Option<&str> {
    match contents {
        Some(DeviceContents::Filesystem { uuid, .. }) => uuid.as_deref(),
        _ => None,
    }
}

/// Why data is expected on a volume that has none: by tags first, which cost nothing, then by the backups.
async fn expectation<H: Objects + Meter>(
    context: &Context<'_, H>,
    subject: &Subject,
) -> Result<Option<Expectation>, Fault> {
    let Subject {
        slot,
        cluster_generation,
        shown,
        ..
    } = subject;
    let spec = context.know(BootFacts::spec)?;
    let volumes = context.know(|knowledge| knowledge.storage.volumes.clone());
    if let Some(found) = expects_data(&spec.cluster, slot, shown, &volumes, cluster_generation) {
        // What this instance itself was about to make empty was judged before it began.
        let stands = !subject.format_intent || found == Expectation::WasFormatted;
        return Ok(stands.then_some(found));
    }
    if subject.format_intent {
        return Ok(None);
    }
    let mut clusters = spec.etcd.iter();
    let cluster = clusters.find(|cluster| cluster.name == slot.etcd);
    let store = match cluster.and_then(|cluster| cluster.backup_store.clone()) {
        Some(store) => store,
        None => objects::config_base(context)?
            .join("backups/etcd")
            .join(&slot.etcd),
    };
    let names = objects::list_names(
        context,
        Phase::Storage,
        Operation::ReadConfiguration,
        &store,
    )
    .await?;
    let newest = newest_backup(&names);
    Ok(newest.map(|name| Expectation::Backup(store.join(name).to_string())))
}
