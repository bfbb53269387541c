//! The decision about one slot, from the volumes that claim it; the first rule that applies.

use super::classify::{Verdict, VolumeClass};
use super::decision::{Detail, SlotDecision};
use super::rule::{Action, Rule};
use super::tags::{self, PIN, Slot};
use super::world::World;
use quake_model::facts::{Attachment, AttachmentState, InstanceState, VolumeFacts, VolumeState};

/// Decides one slot as if it were alone.
pub(super) fn decide_slot(world: &World, verdicts: &[Verdict<'_>], slot: &Slot) -> SlotDecision {
    let of_slot = |verdict: &&Verdict<'_>| verdict.slot.as_ref() == Some(slot);
    let here: Vec<&Verdict<'_>> = verdicts.iter().filter(of_slot).collect();
    let running = here
        .iter()
        .filter(|verdict| is_running(world, verdict.volume));
    if let [only] = running.collect::<Vec<_>>().as_slice() {
        return keep(&here, &only.volume.volume_id);
    }
    let may_mean = |claim: &Option<Slot>| claim.as_ref().is_none_or(|it| it == slot);
    let doubtful = |verdict: &&Verdict<'_>| verdict.claims.iter().any(may_mean);
    if let Some(verdict) = verdicts.iter().find(doubtful) {
        let id = &verdict.volume.volume_id;
        return SlotDecision::with_volume(Action::Wait, Rule::InconsistentView, id);
    }
    let candidates: Vec<&VolumeFacts> = here
        .iter()
        .filter(|verdict| verdict.class == VolumeClass::Candidate)
        .map(|verdict| verdict.volume)
        .collect();
    let value = slot.to_string();
    let is_pinned =
        |volume: &&&VolumeFacts| tags::operators(&volume.tags, PIN) == Some(value.as_str());
    let pinned: Vec<&VolumeFacts> = candidates.iter().filter(is_pinned).copied().collect();
    match pinned.as_slice() {
        [] => {}
        [only] => return decide_single(world, only),
        several => return refuse_several(Rule::MultiplePins, several),
    }
    let is_here_alone =
        matches!(candidates.as_slice(), [only] if is_attached_here_alone(world, only));
    let conflicts = verdicts.iter().filter(|verdict| {
        verdict.class == VolumeClass::Conflict
            && may_mean(&verdict.slot)
            && !(is_here_alone && is_of_others(world, verdict, slot))
    });
    if let Some(refused) = refuse_conflicts(conflicts.collect()) {
        return refused;
    }
    match candidates.as_slice() {
        [] if world.settled => SlotDecision::new(Action::Refuse, Rule::NoVolume),
        [] => SlotDecision::new(Action::Wait, Rule::NoVolumeYet),
        [only] => decide_single(world, only),
        several => refuse_several(Rule::DuplicateVolumes, several),
    }
}

/// Whether a volume that names no slot is elsewhere, and its tags can mean others alone. It is no reason to refuse what is
/// attached here already: nothing is attached then, and the gate still asks for a proof of the data.
fn is_of_others(world: &World, verdict: &Verdict<'_>, slot: &Slot) -> bool {
    let members: Vec<&Slot> = world.members.iter().map(|member| &member.slot).collect();
    verdict.slot.is_none()
        && !verdict.volume.is_held_by(&world.me.instance_id)
        && !tags::could_mean(&verdict.volume.tags, slot, &members)
}

/// Whether etcd runs on it here: attached to this instance alone, and its marker read from the device.
fn is_running(world: &World, volume: &VolumeFacts) -> bool {
    world.verified.contains(&volume.volume_id) && is_attached_here_alone(world, volume)
}

fn is_attached_here_alone(world: &World, volume: &VolumeFacts) -> bool {
    let ours = |attachment: &Attachment| {
        attachment.instance_id == world.me.instance_id
            && attachment.state == AttachmentState::Attached
    };
    matches!(volume.attachments.as_slice(), [only] if ours(only))
}

/// A member that runs goes on, whatever else has its tags.
fn keep(here: &[&Verdict<'_>], volume_id: &str) -> SlotDecision {
    let others: Vec<String> = here
        .iter()
        .filter(|verdict| verdict.class != VolumeClass::Excluded)
        .map(|verdict| verdict.volume.volume_id.clone())
        .filter(|id| id != volume_id)
        .collect();
    if others.is_empty() {
        return SlotDecision::with_volume(Action::Adopt, Rule::AlreadyOurs, volume_id);
    }
    SlotDecision::with_volume(Action::Adopt, Rule::Surplus, volume_id).with(Detail::Volumes(others))
}

fn refuse_several(rule: Rule, volumes: &[&VolumeFacts]) -> SlotDecision {
    let ids = volumes.iter().map(|volume| volume.volume_id.clone());
    SlotDecision::new(Action::Refuse, rule).with(Detail::Volumes(ids.collect()))
}

/// Refuses by the conflict whose rule and id sort first, naming all.
fn refuse_conflicts(mut conflicts: Vec<&Verdict<'_>>) -> Option<SlotDecision> {
    conflicts.sort_by_key(|verdict| (verdict.rule.name(), verdict.volume.volume_id.as_str()));
    let first = conflicts.first()?;
    let mut ids: Vec<String> = conflicts
        .iter()
        .map(|verdict| verdict.volume.volume_id.clone())
        .collect();
    ids.sort();
    let refused = SlotDecision::with_volume(Action::Refuse, first.rule, &first.volume.volume_id);
    Some(refused.with(Detail::Volumes(ids)))
}

/// Decides about the only volume of a slot, by its state and its attachment.
fn decide_single(world: &World, volume: &VolumeFacts) -> SlotDecision {
    let id = &volume.volume_id;
    let attachment = match volume.attachments.as_slice() {
        [] => None,
        [only] => Some(only),
        several => {
            let mut holders: Vec<String> = several.iter().map(|a| a.instance_id.clone()).collect();
            holders.sort();
            return SlotDecision::with_volume(Action::Refuse, Rule::MultipleAttachments, id)
                .with(Detail::Instances(holders));
        }
    };
    match (volume.state, attachment) {
        (VolumeState::Creating, _) => {
            SlotDecision::with_volume(Action::Wait, Rule::VolumeCreating, id)
        }
        // A member whose zone is not known, or not this one, may have its volume anywhere.
        (VolumeState::Available, None) if volume.zone != world.me.zone => {
            SlotDecision::with_volume(Action::Refuse, Rule::ZoneMismatch, id)
                .with(Detail::Volumes(vec![id.clone()]))
        }
        (VolumeState::Available, None) => {
            SlotDecision::with_volume(Action::Attach, Rule::Attach, id)
        }
        (VolumeState::InUse, Some(attachment)) => decide_attached(world, id, attachment),
        // Deleting, deleted and lost volumes are no candidates; what is left contradicts itself.
        _ => SlotDecision::with_volume(Action::Wait, Rule::InconsistentView, id),
    }
}

fn decide_attached(world: &World, id: &str, attachment: &Attachment) -> SlotDecision {
    use AttachmentState::{Attached, Attaching, Busy, Detached, Detaching, Unknown};
    let ours = attachment.instance_id == world.me.instance_id;
    let device = || Detail::Device(attachment.device_name.clone());
    let holder = || Detail::Holder(attachment.instance_id.clone());
    let wait = |rule| SlotDecision::with_volume(Action::Wait, rule, id);
    match (ours, attachment.state) {
        (true, Attached) => {
            SlotDecision::with_volume(Action::Adopt, Rule::AlreadyOurs, id).with(device())
        }
        (true, Attaching) => wait(Rule::AttachingSelf).with(device()),
        (true, Detaching) => wait(Rule::DetachingSelf).with(device()),
        (true, Busy) => wait(Rule::BusySelf).with(device()),
        (true, Detached) | (_, Unknown) => wait(Rule::InconsistentView),
        (false, Detaching | Detached) => wait(Rule::DetachingOther).with(holder()),
        (false, Attaching | Attached | Busy) => {
            let (action, rule) = decide_holder(world, &attachment.instance_id);
            SlotDecision::with_volume(action, rule, id).with(holder())
        }
    }
}

fn decide_holder(world: &World, holder: &str) -> (Action, Rule) {
    let Some(holder) = world.instance(holder) else {
        return (Action::Wait, Rule::HolderUnknown);
    };
    match holder.state {
        InstanceState::ShuttingDown | InstanceState::Stopping => {
            (Action::Wait, Rule::HolderTerminating)
        }
        InstanceState::Terminated => (Action::Wait, Rule::GhostAttachment),
        InstanceState::Stopped => (Action::Wait, Rule::HolderStopped),
        InstanceState::Unknown => (Action::Wait, Rule::HolderUnknown),
        InstanceState::Pending | InstanceState::Running => {
            let group = &holder.instance_group;
            match group.is_some() && *group == world.me.instance_group {
                true => (Action::StandBy, Rule::HeldByPeer),
                false => (Action::Refuse, Rule::HeldByForeignInstance),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::classify;
    use crate::report::tests::{volume, world};
    use serde_json::{Value, json};

    #[test]
    fn what_is_here_goes_on_beside_a_conflict_that_is_elsewhere_and_means_others_alone() {
        let unread = |key: &str, value: &str| volume("vol-2", &json!({key: value}));
        let (main, events) = ("k8s.io/etcd/main", "k8s.io/etcd/events");
        let here = |mut volume: Value| {
            volume["state"] = json!("in-use");
            volume["atts"] =
                json!([{"instance": "i-1", "state": "attached", "device": "/dev/xvdba"}]);
            volume
        };
        let mut too_old = volume("vol-2", &json!({main: "a/a,b"}));
        too_old["created"] = json!(1);
        let ours = here(volume("vol-1", &json!({main: "a/a,b"})));
        for (other, rule) in [
            (unread(main, "b"), Rule::AlreadyOurs),
            (unread(events, "a"), Rule::AlreadyOurs),
            (unread(main, "a"), Rule::TagMalformed),
            (here(unread(main, "b")), Rule::TagMalformed),
            (too_old, Rule::PredatesCluster),
        ] {
            let world = world(&json!([ours, other]));
            let slot = Slot::new("main", "a");
            let decided = decide_slot(&world, &classify(&world), &slot);
            assert_eq!(decided.rule, rule, "{other}");
        }
    }
}
