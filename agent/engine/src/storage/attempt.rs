//! What became of an attach whose answer is not known.

use super::pass::Pass;
use crate::context::Context;
use quake_model::facts::{AttachmentState, InstanceState, VolumeFacts};
use quake_model::fault::Fault;
use quake_model::ports::Host;
use quake_plan::storage::Attempt;

/// How far the clocks of EC2 and of this machine may be apart, in milliseconds: the most that EC2 accepts
/// in a signature.
const SKEW_MS: u64 = 5 * 60 * 1000;

/// Ends an attempt that this pass shows the end of: the volume is here, or a peer has taken it since. Anything less
/// proves nothing, for reads lag, and the member stays the one that was asked for.
pub(super) async fn settle_attempt<H: Host>(
    context: &Context<'_, H>,
    pass: &Pass,
) -> Result<(), Fault> {
    let Some(attempt) = context.journal().await?.attempt else {
        return Ok(());
    };
    let ours = &pass.world.me.instance_id;
    let mut volumes = pass.world.volumes.iter();
    let Some(volume) = volumes.find(|volume| volume.volume_id == attempt.volume_id) else {
        return Ok(());
    };
    let is_here = volume.attachments.iter().any(|attachment| {
        attachment.instance_id == *ours && attachment.state == AttachmentState::Attached
    });
    if is_here {
        return context
            .note(|journal| journal.attached(&attempt.volume_id))
            .await;
    }
    let equal = context.know(|knowledge| knowledge.storage.settling.is_confirmed());
    if equal
        && is_taken(pass, &attempt, volume)
        && context.device(&attempt.volume_id).await.is_err()
    {
        let holds = holds_any(pass);
        return context
            .note(|journal| match holds {
                true => journal.attempt = None,
                false => journal.give_up(),
            })
            .await;
    }
    Ok(())
}

/// Whether a living peer got the volume after this instance asked for it: then the ask cannot have succeeded.
fn is_taken(pass: &Pass, attempt: &Attempt, volume: &VolumeFacts) -> bool {
    let [attachment] = volume.attachments.as_slice() else {
        return false;
    };
    let ours = &pass.world.me.instance_id;
    let mut peers = pass.world.instances.iter();
    let holder = peers.find(|peer| peer.instance_id == attachment.instance_id);
    let lives = holder
        .is_some_and(|peer| matches!(peer.state, InstanceState::Pending | InstanceState::Running));
    let later = attachment
        .since
        .is_none_or(|since| since.0.saturating_add(SKEW_MS) >= attempt.asked.0);
    let is_there = matches!(
        attachment.state,
        AttachmentState::Attached | AttachmentState::Attaching | AttachmentState::Busy
    );
    attachment.instance_id != *ours && lives && later && is_there
}

/// Whether this instance has any volume of the cluster, or one on its way.
pub(super) fn holds_any(pass: &Pass) -> bool {
    let ours = &pass.world.me.instance_id;
    let mut attachments = pass
        .world
        .volumes
        .iter()
        .flat_map(|volume| &volume.attachments);
    attachments.any(|a| a.instance_id == *ours && a.state != AttachmentState::Detached)
}
