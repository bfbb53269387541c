//! Chooses the node's volumes; as long as the choice waits for something, looks and chooses again.

use super::attempt::{holds_any, settle_intent};
use super::pass::has_unknown_holder;
use super::state::{Waiting, sorted};
use crate::boot::facts::BootFacts;
use crate::boot::storage::pass::{cheaply_shown, look_cheaply, observe_pass};
use crate::boot::storage::{StoragePorts, journal};
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::event::Event;
use quake_model::facts::EntryKind;
use quake_model::fault::{Class, Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::{Cloud, Files};
use quake_model::step::{Step, VolumeStep};
use quake_volumes::MountedSlot;

/// Where protokube and etcd-manager look for mounts if it is there: systems with a read-only root have it.
const MOUNTS_ON_READ_ONLY_ROOT: &str = "/mnt/disks";
const MOUNTS: &str = "/mnt";

pub(crate) async fn plan_storage<H: StoragePorts>(
    context: &Context<'_, H>,
) -> Result<Vec<Step>, Fault> {
    let spec = context.know(BootFacts::spec)?;
    if !quake_volumes::has_slots(&spec) {
        return Ok(Vec::new());
    }
    let mounts = find_mounts_folder(context).await?;
    let wait = context
        .wait(Phase::Storage, "storage", Phase::Storage.row().deadline)
        .watching();
    let (chosen, slots) = context
        .retry(&wait, || choose_or_wait(context, mounts))
        .await?;
    context.learn(|knowledge| knowledge.slots = slots);
    let steps = quake_volumes::steps(&chosen);
    debug_assert_eq!(quake_node::lint::lint(&steps), Vec::<String>::new());
    Ok(steps)
}

async fn find_mounts_folder<H: Files>(context: &Context<'_, H>) -> Result<&'static str, Fault> {
    let looked = context.host.look_file(MOUNTS_ON_READ_ONLY_ROOT, 0).await;
    let found = looked.map_err(|error| to_fault(Operation::UseFile, error))?;
    let is_there = found.is_some_and(|found| found.kind == EntryKind::Directory);
    Ok(if is_there {
        MOUNTS_ON_READ_ONLY_ROOT
    } else {
        MOUNTS
    })
}

/// Chooses, unless one cheap look shows that what is waited for has not changed.
async fn choose_or_wait<H: StoragePorts>(
    context: &Context<'_, H>,
    mounts: &str,
) -> Result<(Vec<VolumeStep>, Vec<MountedSlot>), Fault> {
    if let Some(fault) = still_waiting(context).await? {
        return Err(fault);
    }
    let chosen = choose(context, mounts).await;
    let waiting = match &chosen {
        Err(fault) if is_watched(fault) => {
            let cluster = context.know(BootFacts::spec)?.cluster.clone();
            let is_open = context.know(|knowledge| knowledge.storage.has_open_intent);
            let looked = cheaply_shown(context, &cluster);
            Some(Waiting::for_fault(fault.clone(), looked, is_open))
        }
        _ => None,
    };
    context.learn(|knowledge| knowledge.storage.waiting = waiting);
    chosen
}

async fn still_waiting<H: Cloud>(context: &Context<'_, H>) -> Result<Option<Fault>, Fault> {
    let waiting = context.know(|knowledge| knowledge.storage.waiting.clone());
    let Some(waiting) = waiting.filter(|waiting| waiting.left > 0) else {
        return Ok(None);
    };
    let cluster = context.know(BootFacts::spec)?.cluster.clone();
    let looked = sorted(look_cheaply(context, &cluster).await?);
    let same = looked == waiting.looked;
    let fault = waiting.fault.clone();
    let next = same.then_some(Waiting {
        left: waiting.left - 1,
        ..waiting
    });
    context.learn(|knowledge| knowledge.storage.waiting = next);
    Ok(same.then_some(fault))
}

async fn choose<H: StoragePorts>(
    context: &Context<'_, H>,
    mounts: &str,
) -> Result<(Vec<VolumeStep>, Vec<MountedSlot>), Fault> {
    let pass = observe_pass(context).await?;
    settle_intent(context, &pass).await?;
    let is_open = journal::read(context).await?.member.is_some() && !holds_any(&pass);
    context.learn(|knowledge| knowledge.storage.has_open_intent = is_open);
    let decision = quake_volumes::select_volumes(&pass.world);
    if let Some(fault) = quake_volumes::decision_fault(&pass.world, &decision) {
        return Err(confirmed(
            context,
            fault,
            has_unknown_holder(&pass.world, &pass.views),
        ));
    }
    for fault in quake_volumes::warnings(&decision) {
        context.emitter.emit(Event::Warning { fault });
    }
    let uid = pass
        .world
        .cluster_generation
        .current
        .clone()
        .unwrap_or_default();
    let chosen = quake_volumes::volume_steps(&pass.world, &decision, &uid, mounts);
    let slots = quake_volumes::mounted_slots(&pass.world, &chosen);
    Ok((chosen, slots))
}

/// A refusal ends the boot, so it is believed only when several looks agree: EC2's reads lag, and tags come
/// late. With a holder whose group nobody knows yet, they must agree for as long as tags may take.
pub(super) fn confirmed<H>(
    context: &Context<'_, H>,
    fault: Fault,
    has_unknown_holder: bool,
) -> Fault {
    let is_final = matches!(fault.class(), Class::Refused | Class::Invalid);
    let settling = context.know(|knowledge| knowledge.storage.settling.clone());
    let believed = match has_unknown_holder && fault.code == Code::StorageHeldByForeign {
        true => settling.is_settled(),
        false => settling.is_confirmed(),
    };
    if !is_final || believed {
        return fault;
    }
    let summary = format!("looking again before refusing: {}", fault.summary);
    let mut doubt = Fault::new(Code::StorageViewInconsistent, summary);
    doubt.evidence = fault.evidence;
    doubt.seen("code", fault.code)
}

/// Whether a change of what is waited for shows in one cheap look.
pub(super) fn is_watched(fault: &Fault) -> bool {
    matches!(
        fault.code,
        Code::StorageVolumeHeld
            | Code::StorageHolderEnding
            | Code::StorageHolderStopped
            | Code::StorageHolderUnknown
            | Code::StorageVolumeBusy
            | Code::StorageVolumeMissing
    )
}
