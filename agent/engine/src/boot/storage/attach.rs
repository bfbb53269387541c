//! Attaches a volume. The attach itself is the lock: EC2 gives a volume to one instance at most.

use super::attempt::settle_intent;
use super::busy::until_device_appears;
use super::choose::is_watched;
use super::pass::{Pass, has_unknown_holder};
use crate::boot::facts::BootFacts;
use crate::boot::observe::cloud::{describe_instances, describe_volumes};
use crate::boot::storage::choose::confirmed;
use crate::boot::storage::pass::observe_pass;
use crate::boot::storage::{StoragePorts, journal, local};
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_formats::tags::own_tags_seen;
use quake_model::event::Event;
use quake_model::facts::{Attachment, AttachmentState, VolumeFacts, VolumeState};
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::ports::{
    Clock, Cloud, Condition, Disks, Files, InstanceQuery, Meter, PortError, VolumeQuery,
};
use quake_model::step::{Step, VolumeStep};
use quake_volumes::{Action, Rule, Slot, device_names};
use std::time::Duration;

/// How long an attach may take until the kernel shows the device. A guess: seconds as a rule; the rest is
/// room for a volume that the last holder gives up slowly.
const ATTACH_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// How long EC2's views may lag behind its own answer. A guess: seconds as a rule.
const TAKEN_DEADLINE: Duration = Duration::from_secs(60);

/// What one try to have the volume came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tried {
    Ours,
    Coming,
    Requested,
    WouldAsk,
}

pub(crate) async fn attached<H: StoragePorts>(
    context: &Context<'_, H>,
    step: &Step,
    volume: &VolumeStep,
) -> Result<Outcome, Fault> {
    let wait = context
        .wait(step.phase, &step.id, ATTACH_DEADLINE)
        .watching();
    let tried = context.retry(&wait, || take(context, step, volume)).await?;
    let outcome = match tried {
        Tried::WouldAsk => return Ok(Outcome::WouldChange),
        Tried::Ours => Outcome::Unchanged,
        Tried::Coming | Tried::Requested => Outcome::Changed,
    };
    let verify = || verify(context, volume);
    let early = || until_device_appears(context, &volume.volume_id);
    let attachment = context.retry_early(&wait, verify, early).await?;
    keep_on_termination(context, volume, &attachment).await?;
    let member = volume.slot.rsplit('/').next().map(str::to_owned);
    journal::note(context, |journal| {
        journal.attached(&volume.volume_id);
        // As long as this instance lives it is this member's, whatever a late answer shows.
        journal.member = journal.member.take().or(member);
    })
    .await?;
    Ok(outcome)
}

/// Decides anew, from a fresh view of everything, and asks for the volume if that is the decision.
async fn take<H: StoragePorts>(
    context: &Context<'_, H>,
    step: &Step,
    volume: &VolumeStep,
) -> Result<Tried, Fault> {
    if context.know(|knowledge| knowledge.storage.awaits_own_tags) {
        require_own_tags(context).await?;
    }
    let pass = observe_pass(context).await?;
    settle_intent(context, &pass).await?;
    let decision = quake_volumes::select_volumes(&pass.world);
    let decided = decision
        .slots
        .iter()
        .find(|(slot, _)| slot.to_string() == volume.slot);
    match decided {
        Some((slot, decided)) if decided.volume.as_ref() == Some(&volume.volume_id) => {
            match (decided.action, decided.rule) {
                (Action::Adopt, _) => return Ok(Tried::Ours),
                (_, Rule::AttachingSelf) => return Ok(Tried::Coming),
                (Action::Attach, _) | (_, Rule::OrderedBehindMain) if context.is_planning() => {
                    return Ok(Tried::WouldAsk);
                }
                (Action::Attach, _) => {
                    context.announce(step);
                    ask(context, &pass, slot, volume).await?;
                    return Ok(Tried::Requested);
                }
                _ => {}
            }
        }
        _ if quake_volumes::decision_fault(&pass.world, &decision).is_none() => {
            let summary = format!(
                "{} is not the volume of {} any more",
                volume.volume_id, volume.slot
            );
            return Err(Fault::new(Code::StorageAttachFailed, summary));
        }
        _ => {}
    }
    let fault = quake_volumes::decision_fault(&pass.world, &decision).unwrap_or_else(|| {
        let summary = format!("{} cannot be taken in its turn", volume.volume_id);
        Fault::new(Code::StorageViewInconsistent, summary)
    });
    if is_watched(&fault) {
        // What was to be taken is another's now: the phase chooses again, and waits there for as long as it may.
        let summary = format!("the choice has changed: {}", fault.summary);
        return Err(Fault::new(Code::StorageAttachFailed, summary));
    }
    Err(confirmed(
        context,
        fault,
        has_unknown_holder(&pass.world, &pass.views),
    ))
}

/// Looks at this instance alone, as long as only its own tags are waited for.
async fn require_own_tags<H: Cloud>(context: &Context<'_, H>) -> Result<(), Fault> {
    let ours = context.know(BootFacts::instance)?.instance_id;
    let cluster = context.know(BootFacts::spec)?.cluster.clone();
    let query = InstanceQuery::Ids(vec![ours.clone()]);
    let views = describe_instances(context, &query).await?;
    let seen = views
        .iter()
        .any(|view| view.instance_id == ours && own_tags_seen(&view.tags, &cluster));
    if !seen {
        return Err(tags_pending(&ours));
    }
    context.learn(|knowledge| knowledge.storage.awaits_own_tags = false);
    Ok(())
}

fn tags_pending(ours: &str) -> Fault {
    let summary = format!("EC2 does not show the cluster's tags on {ours} yet");
    Fault::new(Code::IdentityTagsPending, summary)
}

/// Asks for the volume under the first device name that is free.
async fn ask<H: Cloud + Files + Clock + Meter>(
    context: &Context<'_, H>,
    pass: &Pass,
    slot: &Slot,
    volume: &VolumeStep,
) -> Result<(), Fault> {
    let ours = pass.world.me.instance_id.as_str();
    if !pass.own_tags_seen {
        // kops' policy allows the attach by the instance's tags, so a refusal now would mean nothing.
        context.learn(|knowledge| knowledge.storage.awaits_own_tags = true);
        return Err(tags_pending(ours));
    }
    if context.know(|knowledge| {
        knowledge.storage.journal_lost && !knowledge.storage.settling.is_settled()
    }) {
        let summary = "the journal is lost, so nothing is attached before EC2's views have settled";
        return Err(Fault::new(Code::StorageViewInconsistent, summary));
    }
    require_free(context, &volume.volume_id).await?;
    let names = device_names(slot, ours, &pass.world.volumes, &pass.views);
    let mut taken = Vec::new();
    let is_fresh = journal::read(context).await?.member.is_none();
    for name in names {
        let now = context.host.now();
        context.learn(|knowledge| knowledge.storage.settling.restart());
        journal::note(context, |journal| {
            journal.ask(slot, &volume.volume_id, &name, now);
        })
        .await?;
        let attached = context
            .host
            .attach_volume(&volume.volume_id, ours, &name)
            .await;
        match attached {
            Ok(()) => return Ok(()),
            Err(error) if error.condition == Condition::Occupied => {
                journal::note(context, quake_volumes::Journal::refused).await?;
                taken.push(name);
            }
            Err(error) => return Err(refused(context, volume, error, is_fresh).await?),
        }
    }
    if is_fresh {
        journal::note(context, quake_volumes::Journal::give_up).await?;
    }
    let summary = format!("no device name is free for {}", volume.volume_id);
    Err(Fault::new(Code::StorageAttachFailed, summary).seen("names tried", taken.join(" ")))
}

/// What an attach that did not succeed means, noted in the journal. An intent that this pass made (`is_fresh`) and whose
/// every ask was answered with a refusal had no effect for certain, and is given up; no other is.
async fn refused<H: Cloud + Files + Meter>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
    error: PortError,
    is_fresh: bool,
) -> Result<Fault, Fault> {
    let id = &volume.volume_id;
    let condition = error.condition;
    let is_known = !matches!(
        condition,
        // A 503 may come after the act: EC2 says of its throttles only that they mostly come before.
        Condition::Throttled
            | Condition::Unreachable
            | Condition::TimedOut
            | Condition::Io
            | Condition::Unknown
    );
    if is_known {
        journal::note(context, quake_volumes::Journal::refused).await?;
    }
    let is_clear = journal::read(context).await?.attempt.is_none();
    if is_clear && is_fresh {
        journal::note(context, quake_volumes::Journal::give_up).await?;
    }
    match condition {
        Condition::Conflict if is_clear && is_fresh => {
            await_taken(context, id).await;
            let summary = format!("another instance took {id} of {} first", volume.slot);
            let mut fault = Fault::new(Code::StorageAttachFailed, summary);
            fault.evidence = error.evidence;
            Ok(fault)
        }
        Condition::Conflict => {
            let summary = format!(
                "{id} is in use, perhaps by an earlier ask of this instance that was never answered"
            );
            Ok(Fault::new(Code::StorageVolumeBusy, summary))
        }
        Condition::NotReady => Ok(error.into_fault(Code::StorageVolumeBusy)),
        Condition::Missing => Ok(error.into_fault(Code::StorageViewInconsistent)),
        Condition::Impossible => Ok(error.into_fault(Code::StorageVolumeElsewhere)),
        Condition::Limit => Ok(error.into_fault(Code::StorageAttachLimit)),
        Condition::Denied if error.evidence.iter().any(|piece| piece.name == "kms") => {
            Ok(error.into_fault(Code::StorageKeyDenied))
        }
        _ => Ok(to_fault(Operation::AttachVolume, error).seen("volume", id)),
    }
}

/// Waits until EC2's views show what its answer said already: that the volume is taken. Decided on older ones, it would
/// only be requested again.
async fn await_taken<H: Cloud + Meter>(context: &Context<'_, H>, volume_id: &str) {
    let wait = context.wait(Phase::Storage, "storage:taken", TAKEN_DEADLINE);
    let look = || async {
        let free = require_free(context, volume_id).await.is_ok();
        let summary = format!("EC2 still shows {volume_id} free, which is taken");
        match free {
            true => Err(Fault::new(Code::StorageViewInconsistent, summary)),
            false => Ok(()),
        }
    };
    // At its end everything is observed again anyway.
    let _ = context.retry(&wait, look).await;
}

/// Looks once more at the volume alone, just before its attach is requested.
async fn require_free<H: Cloud>(context: &Context<'_, H>, volume_id: &str) -> Result<(), Fault> {
    let found = describe(context, volume_id).await?;
    if found.state == VolumeState::Available && found.attachments.is_empty() {
        return Ok(());
    }
    let summary = format!("{volume_id} is not free any more");
    Err(Fault::new(Code::StorageViewInconsistent, summary)
        .seen("state", quake_volumes::volume_state(found.state)))
}

async fn describe<H: Cloud>(
    context: &Context<'_, H>,
    volume_id: &str,
) -> Result<VolumeFacts, Fault> {
    let query = VolumeQuery::Ids(vec![volume_id.to_owned()]);
    let found = describe_volumes(context, &query).await?;
    let mut found = found
        .into_iter()
        .filter(|volume| volume.volume_id == volume_id);
    found.next().ok_or_else(|| {
        let summary = format!("EC2 does not show {volume_id}");
        Fault::new(Code::StorageViewInconsistent, summary)
    })
}

/// Ours by EC2's word, and its device by the kernel's.
async fn verify<H: Cloud + Disks>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
) -> Result<Attachment, Fault> {
    let ours = context.know(BootFacts::instance)?.instance_id;
    let id = &volume.volume_id;
    let found = describe(context, id).await?;
    let not_yet = |what: String| Err(Fault::new(Code::StorageVolumeBusy, what));
    match found.attachments.as_slice() {
        [] => not_yet(format!("EC2 does not show {id} attached to {ours} yet")),
        [only] if only.instance_id != ours => {
            let summary = format!("{id} is attached to {}", only.instance_id);
            Err(Fault::new(Code::StorageAttachFailed, summary).seen("holder", &only.instance_id))
        }
        [only] => match only.state {
            AttachmentState::Attached => {
                local::device(context, id).await?;
                Ok(only.clone())
            }
            AttachmentState::Attaching => not_yet(format!("{id} is attaching to {ours}")),
            AttachmentState::Detaching
            | AttachmentState::Detached
            | AttachmentState::Busy
            | AttachmentState::Unknown => {
                not_yet(format!("the attachment of {id} to {ours} is being undone"))
            }
        },
        _ => {
            let summary = format!("{id} is attached to several instances");
            Err(Fault::new(Code::StorageSeveralAttachments, summary))
        }
    }
}

/// A volume outlives its instance. That EC2 would delete it with the instance is corrected if the role may, and said
/// if it may not.
async fn keep_on_termination<H: Cloud>(
    context: &Context<'_, H>,
    volume: &VolumeStep,
    attachment: &Attachment,
) -> Result<(), Fault> {
    if !attachment.delete_on_termination || context.is_planning() {
        return Ok(());
    }
    let kept = context
        .host
        .keep_on_termination(&attachment.instance_id, &attachment.device_name)
        .await;
    if let Err(error) = kept {
        let fault = to_fault(Operation::KeepVolume, error).seen("volume", &volume.volume_id);
        context.emitter.emit(Event::Warning { fault });
    }
    Ok(())
}
