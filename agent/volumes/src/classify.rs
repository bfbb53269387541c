//! What each volume is to this cluster, looked at alone; the first rule that applies.

use super::rule::Rule;
use super::tags::{self, BadTags, Slot};
use super::world::{ClusterGeneration, World};
use quake_model::facts::{Attachment, VolumeFacts, VolumeState};
use quake_model::time::Timestamp;
use std::collections::BTreeMap;

/// How much older than the cluster's CA a volume may be, in milliseconds: kops makes both in one run,
/// in an order that changed between versions.
const BIRTH_TOLERANCE_MS: u64 = 300_000;

/// What a volume is to its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VolumeClass {
    /// It is of another cluster, or not etcd's.
    Ignored,
    /// It is etcd's and out of the question.
    Excluded,
    /// It may be the slot's and something speaks against it: nobody chooses then.
    Conflict,
    /// It is fit for its slot.
    Candidate,
}

impl VolumeClass {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::Excluded => "excluded",
            Self::Conflict => "conflict",
            Self::Candidate => "candidate",
        }
    }
}

/// A volume and what it is to this cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict<'a> {
    pub volume: &'a VolumeFacts,
    /// The slot its tags name, where they name one.
    pub slot: Option<Slot>,
    pub class: VolumeClass,
    pub rule: Rule,
    /// Where EC2 listed it twice, differently: the slot of each listing that is not ignored; `None` stands for any.
    pub(super) claims: Vec<Option<Slot>>,
}

/// Judges every volume, in the order of their ids. One that is listed twice, differently, is judged
/// by the listing that puts it here, else by the one that speaks most for it.
pub(super) fn classify(world: &World) -> Vec<Verdict<'_>> {
    let mut listed: Vec<&VolumeFacts> = world.volumes.iter().collect();
    // Only a repeated id is worth looking at closer.
    listed.sort_by(|a, b| {
        let ids = a.volume_id.cmp(&b.volume_id);
        ids.then_with(|| Body::new(a).cmp(&Body::new(b)))
    });
    let of_one = listed.chunk_by(|a, b| a.volume_id == b.volume_id);
    of_one
        .filter_map(|listings| judge_listings(world, listings))
        .collect()
}

fn judge_listings<'a>(world: &World, listings: &[&'a VolumeFacts]) -> Option<Verdict<'a>> {
    let (first, others) = listings.split_first()?;
    let body = Body::new(first);
    if others.iter().all(|other| Body::new(other) == body) {
        return Some(judge(world, first));
    }
    let verdicts: Vec<Verdict<'a>> = listings.iter().map(|it| judge(world, it)).collect();
    let claims = verdicts
        .iter()
        .filter(|it| it.class != VolumeClass::Ignored);
    let claims: Vec<Option<Slot>> = claims.map(|verdict| verdict.slot.clone()).collect();
    let weight = |verdict: &Verdict<'_>| {
        let is_here = verdict.volume.is_held_by(&world.me.instance_id);
        let is_held = !verdict.volume.attachments.is_empty();
        let class = verdict.class;
        (class != VolumeClass::Ignored, is_here, class, is_held)
    };
    let chosen = verdicts.into_iter().rev().max_by_key(weight)?;
    Some(Verdict { claims, ..chosen })
}

/// A volume's listing, without its id, as something that has an order and in which the order of its attachments
/// means nothing. What comes first and last is of no consequence, but must not depend on names.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Body<'a> {
    state: u8,
    zone: &'a str,
    size_gib: u32,
    created: Timestamp,
    flags: (bool, bool),
    snapshot: Option<&'a str>,
    tags: &'a BTreeMap<String, String>,
    attachments: Vec<(&'a str, &'a str, u8, Option<Timestamp>, bool)>,
}

impl<'a> Body<'a> {
    fn new(volume: &'a VolumeFacts) -> Self {
        // By name, so that a new field cannot be forgotten.
        let VolumeFacts {
            volume_id: _,
            zone,
            state,
            size_gib,
            created,
            encrypted,
            multi_attach,
            snapshot_id,
            tags,
            attachments,
        } = volume;
        let attachment = |attachment: &'a Attachment| {
            let Attachment {
                instance_id,
                device_name,
                state,
                since,
                delete_on_termination,
            } = attachment;
            let (state, ends) = (*state as u8, *delete_on_termination);
            (
                instance_id.as_str(),
                device_name.as_str(),
                state,
                *since,
                ends,
            )
        };
        let mut attachments: Vec<_> = attachments.iter().map(attachment).collect();
        attachments.sort_unstable();
        Self {
            state: *state as u8,
            zone,
            size_gib: *size_gib,
            created: *created,
            flags: (*encrypted, *multi_attach),
            snapshot: snapshot_id.as_deref(),
            tags,
            attachments,
        }
    }
}

fn judge<'a>(world: &World, volume: &'a VolumeFacts) -> Verdict<'a> {
    let (slot, class, rule) = classify_volume(world, volume);
    Verdict {
        volume,
        slot,
        class,
        rule,
        claims: Vec::new(),
    }
}

fn classify_volume(world: &World, volume: &VolumeFacts) -> (Option<Slot>, VolumeClass, Rule) {
    use VolumeClass::{Conflict, Excluded, Ignored};
    if !tags::is_of_cluster(&volume.tags, &world.cluster) {
        return (None, Ignored, Rule::NotOurs);
    }
    if !tags::is_of_control_plane(&volume.tags) {
        return (None, Ignored, Rule::NotControlPlane);
    }
    let ignored = volume.tags.contains_key(tags::IGNORE);
    let slot = match tags::slot_of(&volume.tags) {
        Ok(Some(slot)) => slot,
        Ok(None) => return (None, Ignored, Rule::NotEtcd),
        // It may be a duplicate of anything.
        Err(_) if ignored => return (None, Excluded, Rule::OperatorIgnored),
        Err(BadTags::Several) => return (None, Conflict, Rule::MultiRole),
        Err(BadTags::Malformed) => return (None, Conflict, Rule::TagMalformed),
    };
    let (class, rule) = class_for(world, volume, &slot, ignored);
    (Some(slot), class, rule)
}

fn class_for(
    world: &World,
    volume: &VolumeFacts,
    slot: &Slot,
    ignored: bool,
) -> (VolumeClass, Rule) {
    use VolumeClass::{Candidate, Conflict, Excluded};
    let Some(member) = world.members.iter().find(|member| member.slot == *slot) else {
        return (Excluded, Rule::UnknownMember);
    };
    let adopted = is_adopted(volume, &world.cluster_generation);
    let uid = volume.tags.get(tags::UID);
    let is_stale = uid.is_some_and(|uid| !world.cluster_generation.uids.contains(uid));
    let is_elsewhere = member
        .zone
        .as_ref()
        .is_some_and(|zone| *zone != volume.zone);
    let born = world.cluster_generation.born;
    let predates =
        born.is_some_and(|born| volume.created.0.saturating_add(BIRTH_TOLERANCE_MS) < born.0);
    let verified = world.verified.contains(&volume.volume_id);
    if ignored {
        (Excluded, Rule::OperatorIgnored)
    } else if matches!(volume.state, VolumeState::Deleting | VolumeState::Deleted) {
        (Excluded, Rule::Deleting)
    } else if volume.state == VolumeState::Error {
        (Excluded, Rule::StateError)
    } else if is_stale && !adopted {
        (Excluded, Rule::StaleUid)
    } else if is_elsewhere {
        (Conflict, Rule::ZoneMismatch)
    } else if volume.multi_attach {
        (Conflict, Rule::MultiAttachEnabled)
    } else if member.encrypted && !volume.encrypted {
        (Conflict, Rule::NotEncrypted)
    } else if uid.is_none() && !adopted && predates && !verified {
        (Conflict, Rule::PredatesCluster)
    } else {
        (Candidate, Rule::Candidate)
    }
}

/// Whether an operator took the volume into this life of the cluster.
pub fn is_adopted(volume: &VolumeFacts, cluster_generation: &ClusterGeneration) -> bool {
    let uid = tags::operators(&volume.tags, tags::ADOPT);
    uid.is_some_and(|uid| cluster_generation.uids.contains(uid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{volume, world};
    use serde_json::{Value, json};

    /// How `vol-1` is judged that is listed like this and like that, in both orders.
    fn judged(this: &Value, that: &Value) -> (VolumeClass, bool, usize) {
        let of = |listings: Value| {
            let world = world(&listings);
            let verdicts = classify(&world);
            let verdict = verdicts.first().expect("it is listed");
            let is_held = !verdict.volume.attachments.is_empty();
            (verdict.class, is_held, verdict.claims.len())
        };
        let judged = of(json!([this, that]));
        assert_eq!(judged, of(json!([that, this])), "no order matters");
        judged
    }

    fn attached(mut volume: Value, instance: &str) -> Value {
        volume["atts"] =
            json!([{"instance": instance, "state": "attached", "device": "/dev/xvdba"}]);
        volume
    }

    #[test]
    fn a_volume_that_is_listed_twice_is_judged_by_the_listing_that_weighs_most() {
        let tags = json!({"k8s.io/etcd/main": "a/a,b"});
        let free = volume("vol-1", &tags);
        let untagged = volume("vol-1", &json!({}));
        let candidate = VolumeClass::Candidate;
        // One that is not etcd's weighs nothing, even where it is here.
        let here = attached(untagged.clone(), "i-1");
        assert_eq!(judged(&free, &here), (candidate, false, 1));
        // One that is here goes before one that is not.
        let held = attached(free.clone(), "i-1");
        assert_eq!(judged(&free, &held), (candidate, true, 2));
        // One that somebody has goes before one that nobody has.
        let by_peer = attached(free.clone(), "i-2");
        assert_eq!(judged(&free, &by_peer), (candidate, true, 2));
        // A listing that is repeated as it was says nothing new.
        assert_eq!(judged(&free, &free), (candidate, false, 0));
    }
}
