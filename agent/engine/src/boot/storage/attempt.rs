//! When an intent ends. EC2's reads lag behind its writes, so one that was acted on is not given up for what a
//! single look shows; the rules are those that the explorer in `proof/` holds to every order of events.

use super::pass::Pass;
use crate::boot::storage::journal;
use crate::context::Context;
use quake_model::facts::{AttachmentState, VolumeFacts};
use quake_model::fault::Fault;
use quake_model::ports::Files;
use quake_volumes::{Journal, Slot};

/// How far the clocks of EC2 and of this machine may be apart, in milliseconds: the most that EC2 accepts
/// in a signature.
const SKEW_MS: u64 = 5 * 60 * 1000;

/// Ends what this pass shows the end of. A volume that is here ends its attempt; the member stays. A member is given up
/// only when settled looks show nothing here and its volume with a living peer.
pub(super) async fn settle_intent<H: Files>(
    context: &Context<'_, H>,
    pass: &Pass,
) -> Result<(), Fault> {
    let journal = journal::read(context).await?;
    if let Some(attempt) = &journal.attempt
        && is_here(pass, &attempt.volume_id)
    {
        let id = attempt.volume_id.clone();
        return journal::note(context, |journal| journal.attached(&id)).await;
    }
    let settled = context.know(|knowledge| knowledge.storage.settling.is_settled());
    if settled && !holds_any(pass) && is_taken(pass, &journal) {
        return journal::note(context, Journal::give_up).await;
    }
    Ok(())
}

fn is_here(pass: &Pass, volume_id: &str) -> bool {
    let mut volumes = pass.world.volumes.iter();
    let volume = volumes.find(|volume| volume.volume_id == volume_id);
    volume.is_some_and(|volume| volume.is_attached_to(&pass.world.me.instance_id))
}

/// Whether a living peer has a volume of the member that is meant; one whose attach was requested, not one from before.
fn is_taken(pass: &Pass, journal: &Journal) -> bool {
    let Some(member) = &journal.member else {
        return false;
    };
    let is_meant = |volume: &&VolumeFacts| match &journal.attempt {
        Some(attempt) => volume.volume_id == attempt.volume_id,
        None => Slot::of_tags(&volume.tags).is_some_and(|slot| slot.member == *member),
    };
    let requested_at = journal
        .attempt
        .as_ref()
        .map_or(0, |attempt| attempt.requested_at.0);
    pass.world.volumes.iter().filter(is_meant).any(|volume| {
        let [attachment] = volume.attachments.as_slice() else {
            return false;
        };
        let mut peers = pass.world.instances.iter();
        let holder = peers.find(|peer| peer.instance_id == attachment.instance_id);
        let lives = holder.is_some_and(|peer| peer.state.is_alive());
        let since = attachment.since;
        let later = since.is_none_or(|since| since.0.saturating_add(SKEW_MS) >= requested_at);
        let is_there = matches!(
            attachment.state,
            AttachmentState::Attached | AttachmentState::Attaching | AttachmentState::Busy
        );
        attachment.instance_id != pass.world.me.instance_id && lives && later && is_there
    })
}

/// Whether this instance has any volume of the cluster's etcd, or one on its way here or off.
pub(super) fn holds_any(pass: &Pass) -> bool {
    let ours = &pass.world.me.instance_id;
    let volumes = pass.world.volumes.iter();
    let mut of_etcd = volumes.filter(|volume| Slot::of_tags(&volume.tags).is_some());
    of_etcd.any(|volume| volume.is_held_by(ours))
}
