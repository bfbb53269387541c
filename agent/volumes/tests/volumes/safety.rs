//! What an attach and an adoption imply, whatever the world: each is checked against the facts, not against
//! what the choice thinks of them.

use crate::bodies::{attachment_states, instance_states};
use crate::laws::outcome;
use crate::worlds::{CLUSTER, ME, bare_volume, shared_groups, worlds};
use proptest::prelude::*;
use quake_model::facts::{AttachmentState, InstanceState, VolumeFacts, VolumeState};
use quake_volumes::{
    ADOPT, Action, IGNORE, Member, PIN, Rule, Slot, UID, VolumeClass, World, select_volumes,
};
use std::collections::BTreeSet;

/// The slots that are attached, with their volumes.
fn attaches(world: &World) -> Vec<(Slot, String)> {
    of_action(world, Action::Attach)
}

/// The slots that are adopted, with their volumes.
fn adopts(world: &World) -> Vec<(Slot, String)> {
    of_action(world, Action::Adopt)
}

fn of_action(world: &World, action: Action) -> Vec<(Slot, String)> {
    let slots = outcome(world).slots.into_iter();
    let of_action = slots.filter(|(_, decision)| decision.action == action);
    of_action
        .map(|(slot, decision)| (slot, decision.volume.expect("it is about a volume")))
        .collect()
}

fn listings<'a>(world: &'a World, id: &str) -> Vec<&'a VolumeFacts> {
    world
        .volumes
        .iter()
        .filter(|volume| volume.volume_id == id)
        .collect()
}

fn has_tag(volume: &VolumeFacts, tag: &str, wanted: &str) -> bool {
    volume.tags.get(tag).is_some_and(|value| value == wanted)
}

/// Whether the tags of a listing put it into the control plane of the cluster, for etcd.
fn is_etcd_s(volume: &VolumeFacts) -> bool {
    let ours = has_tag(volume, "KubernetesCluster", CLUSTER)
        || has_tag(volume, &format!("kubernetes.io/cluster/{CLUSTER}"), "owned");
    let has_role = has_tag(volume, "k8s.io/role/master", "1");
    ours && has_role
        && volume
            .tags
            .keys()
            .any(|key| key.starts_with("k8s.io/etcd/"))
}

fn is_here(volume: &VolumeFacts) -> bool {
    let mut attachments = volume.attachments.iter();
    attachments.any(|a| a.instance_id == ME && a.state != AttachmentState::Detached)
}

fn is_attached_here_alone(volume: &VolumeFacts) -> bool {
    let [only] = volume.attachments.as_slice() else {
        return false;
    };
    only.instance_id == ME && only.state == AttachmentState::Attached
}

/// The members that this instance's group runs in its zone.
fn own_members(world: &World) -> Vec<&Member> {
    let me = &world.me;
    let group = |member: &Member| {
        member.instance_group.is_none() || member.instance_group == me.instance_group
    };
    let zone = |member: &Member| member.zone.as_ref().is_none_or(|zone| *zone == me.zone);
    world
        .members
        .iter()
        .filter(|member| group(member) && zone(member))
        .collect()
}

fn own_names(world: &World) -> BTreeSet<&str> {
    let members = own_members(world).into_iter();
    members.map(|member| member.slot.member.as_str()).collect()
}

/// Everything that a volume must be to be attached for a slot.
fn assert_fit(world: &World, slot: &Slot, id: &str) {
    let listed = listings(world, id);
    let volume = listed[0];
    let same = |other: &&VolumeFacts| **other == *volume;
    assert!(listed.iter().all(same), "it is listed twice, differently");
    assert_eq!(volume.state, VolumeState::Available);
    assert_eq!(volume.attachments, []);
    assert!(!volume.multi_attach);
    assert_eq!(volume.zone, world.me.zone);
    assert!(is_etcd_s(volume));
    let key = format!("k8s.io/etcd/{}", slot.etcd);
    assert!(volume.tags[&key].starts_with(&format!("{}/", slot.member)));
    assert!(!volume.tags.contains_key(IGNORE));
    let known = |tag: &str| {
        volume
            .tags
            .get(tag)
            .map(|uid| world.cluster_generation.uids.contains(uid))
    };
    let adopted = known(ADOPT) == Some(true);
    assert!(known(UID) != Some(false) || adopted, "it is stale");
    let born = world.cluster_generation.born.map_or(0, |born| born.0);
    let predates = volume.created.0 < born - 300_000_u64.min(born);
    let proven = adopted || known(UID) == Some(true) || world.verified.contains(id);
    assert!(!predates || proven, "it is older than the cluster");
    let member = world
        .members
        .iter()
        .find(|member| member.slot == *slot)
        .expect("a member");
    assert!(!member.encrypted || volume.encrypted);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn at_most_one_volume_is_attached_and_it_is_fit_and_its_turn_has_come(world in worlds()) {
        let decided = outcome(&world);
        let attached = attaches(&world);
        prop_assert!(attached.len() <= 1);
        for (slot, id) in attached {
            assert_fit(&world, &slot, &id);
            prop_assert_eq!(decided.member.as_ref(), Some(&slot.member));
            let is_own = |member: &&Member| member.slot.member == slot.member;
            // One that runs here, although the spec gave it to another group since, goes on and gets nothing more.
            prop_assert!(own_members(&world).iter().any(is_own));
            let earlier = decided.slots.iter().take_while(|(other, _)| *other != slot);
            for (_, decision) in earlier {
                prop_assert_eq!(decision.action, Action::Adopt);
            }
            let refused = decided.slots.iter().any(|(_, it)| it.action == Action::Refuse);
            prop_assert!(!refused && decided.node.is_none());
        }
    }

    #[test]
    fn what_is_adopted_is_attached_here_and_to_nobody_else(world in worlds()) {
        for (_, id) in adopts(&world) {
            prop_assert!(listings(&world, &id).into_iter().any(is_attached_here_alone));
        }
    }

    #[test]
    fn a_tag_that_cannot_be_read_elsewhere_stops_nothing_that_is_here_and_may_stop_attaches(
        world in prop_oneof![worlds(), shared_groups()],
        etcd in prop_oneof![Just("main"), Just("events"), Just("other")],
        value in prop_oneof![Just("a"), Just("b"), Just(" b/b"), Just("x/y"), Just("")],
    ) {
        let mut typo = bare_volume();
        typo.tags.insert(format!("k8s.io/etcd/{etcd}"), value.to_owned());
        let mut other = world.clone();
        other.volumes.push(typo);
        let named = value.trim().split('/').next().unwrap_or_default();
        for (slot, id) in adopts(&world) {
            let members = world.members.iter().map(|member| &member.slot);
            let is_known = members.clone().any(|it| it.member == named);
            let is_unrelated = etcd != slot.etcd || (is_known && named != slot.member);
            if is_unrelated || world.verified.contains(&id) {
                prop_assert!(adopts(&other).contains(&(slot, id)), "{:?}", outcome(&other));
            }
        }
        for (slot, id) in attaches(&other) {
            let is_pinned = has_tag(listings(&other, &id)[0], PIN, &slot.to_string());
            prop_assert!(is_pinned, "nothing but an operator's choice is attached");
        }
    }

    #[test]
    fn blanks_around_an_operators_words_mean_nothing(world in worlds()) {
        let mut blanks = world.clone();
        for volume in &mut blanks.volumes {
            for (key, value) in &mut volume.tags {
                if key.starts_with("quake.io/etcd-") {
                    *value = format!(" {value}\t");
                }
            }
        }
        prop_assert_eq!(outcome(&world), outcome(&blanks));
    }

    #[test]
    fn a_second_volume_for_a_slot_stops_its_attach(
        world in prop_oneof![worlds(), shared_groups()],
        place in prop_oneof![
            Just(None),
            ("i-[1-9]", attachment_states()).prop_map(Some),
        ],
        id in "vol-[0-9]{3}",
    ) {
        for (slot, free) in attaches(&world) {
            let volume = listings(&world, &free)[0];
            if has_tag(volume, PIN, &slot.to_string()) {
                continue;
            }
            let mut second = volume.clone();
            second.volume_id = id.clone();
            if let Some((holder, state)) = &place {
                second.state = VolumeState::InUse;
                second.attachments.push(quake_model::facts::Attachment {
                    instance_id: holder.clone(),
                    device_name: "/dev/xvdba".to_owned(),
                    state: *state,
                    since: None,
                    delete_on_termination: false,
                });
            }
            let mut crowded = world.clone();
            crowded.volumes.push(second);
            prop_assert!(attaches(&crowded).iter().all(|(other, _)| *other != slot));
        }
    }

    #[test]
    fn a_volume_seen_twice_differently_stops_every_slot_it_may_be_for(
        world in prop_oneof![worlds(), shared_groups()],
        kind in 0..4_u8,
        first in any::<bool>(),
    ) {
        for (slot, free) in attaches(&world) {
            let mut second = listings(&world, &free)[0].clone();
            second.volume_id = "vol-5-late".to_owned();
            let mut early = second.clone();
            second.state = VolumeState::Creating;
            match kind {
                0 => early.tags.clear(),
                1 => early.state = VolumeState::Deleting,
                2 => early.tags.retain(|key, _| !key.starts_with("k8s.io/role/")),
                _ => {
                    early.tags.retain(|key, _| !key.starts_with("k8s.io/etcd/"));
                    early.tags.insert("k8s.io/etcd/other".to_owned(), "a/a".to_owned());
                }
            }
            let mut crowded = world.clone();
            let at = if first { 0 } else { crowded.volumes.len() };
            crowded.volumes.splice(at..at, [early, second]);
            prop_assert!(attaches(&crowded).iter().all(|(other, _)| *other != slot));
        }
    }

    #[test]
    fn what_runs_is_never_given_up_for_a_change_elsewhere(world in worlds(), others in worlds()) {
        let kept = adopts(&world);
        let mut changed = world.clone();
        changed.volumes.retain(is_here_or_verified(&world));
        let mut more = others.volumes;
        more.retain(|volume| !is_here(volume));
        for volume in &mut more {
            volume.volume_id = format!("{}-more", volume.volume_id);
        }
        changed.volumes.extend(more);
        changed.instances = others.instances;
        let now = adopts(&changed);
        for (slot, id) in kept.iter().filter(|(slot, id)| runs_alone(&world, slot, id)) {
            prop_assert!(now.contains(&(slot.clone(), id.clone())), "{slot} {id}: {now:?}");
        }
    }

    #[test]
    fn duplicates_are_refused_until_someone_acts(
        world in worlds(),
        settled in any::<bool>(),
        states in prop::collection::vec(instance_states(), 8),
        places in prop::collection::vec((0..3_u8, attachment_states()), 16),
    ) {
        let decided = outcome(&world);
        let duplicated = decided.slots.iter().filter(|(_, d)| d.rule == Rule::DuplicateVolumes);
        let duplicated: BTreeSet<Slot> = duplicated.map(|(slot, _)| slot.clone()).collect();
        let mut later = world.clone();
        later.settled = settled;
        for (peer, state) in later.instances.iter_mut().zip(states) {
            peer.state = state;
        }
        for (volume, (kind, attached)) in later.volumes.iter_mut().zip(places) {
            use VolumeState::{Available, Creating, InUse};
            let fit = matches!(volume.state, Available | Creating | InUse);
            match kind {
                0 if fit => {
                    volume.state = Available;
                    volume.attachments.clear();
                }
                1 if fit => volume.attachments.iter_mut().for_each(|a| a.state = attached),
                _ => {}
            }
        }
        later.verified.clear();
        for slot in &duplicated {
            prop_assert!(attaches(&later).iter().all(|(other, _)| other != slot));
            let now = outcome(&later).slots.into_iter().find(|(other, _)| other == slot);
            let refused = now.as_ref().is_none_or(|(_, it)| it.action == Action::Refuse);
            let doubtful = now.as_ref().is_some_and(|(_, d)| d.rule == Rule::InconsistentView);
            prop_assert!(refused || doubtful, "{now:?}");
        }
    }

    #[test]
    fn a_member_is_never_split(world in worlds()) {
        let decided = outcome(&world);
        if let Some(member) = &decided.member {
            let wanted = world.members.iter().filter(|it| it.slot.member == *member);
            let wanted: BTreeSet<&Slot> = wanted.map(|it| &it.slot).collect();
            let found: BTreeSet<&Slot> = decided.slots.iter().map(|(slot, _)| slot).collect();
            prop_assert_eq!(wanted, found);
        }
    }

    #[test]
    fn whoever_has_a_volume_of_one_member_begins_no_other(
        world in prop_oneof![worlds(), shared_groups()],
    ) {
        let decision = select_volumes(&world);
        let names = own_names(&world);
        let fit = decision.verdicts.iter().filter(|it| it.class >= VolumeClass::Conflict);
        let held = fit.filter_map(|verdict| {
            let here = listings(&world, &verdict.volume.volume_id).into_iter().any(is_here);
            let slot = verdict.slot.as_ref()?;
            (here && names.contains(slot.member.as_str())).then_some(&slot.member)
        });
        let held: BTreeSet<&String> = held.collect();
        if let Some((slot, _)) = decision.attach() {
            let begun = decision.held().any(|(other, _)| other.member == slot.member);
            let has_it = held.is_empty() || held.contains(&slot.member);
            prop_assert!(begun || has_it, "{slot} beside {held:?}");
        }
    }

    #[test]
    fn instances_that_share_several_members_never_reach_for_one_volume(world in shared_groups()) {
        let alive = |state| matches!(state, InstanceState::Pending | InstanceState::Running);
        let attachments = || world.volumes.iter().flat_map(|volume| &volume.attachments);
        let holds = |id: &str| attachments().any(|attachment| attachment.instance_id == id);
        let group = world.instances.iter().filter(|peer| {
            let same = peer.instance_group == world.me.instance_group && peer.zone == world.me.zone;
            same && alive(peer.state) && !holds(&peer.instance_id)
        });
        let seen = group.flat_map(|peer| {
            let mut theirs = world.clone();
            theirs.me = peer.clone();
            theirs.verified.clear();
            theirs.intent = None;
            match own_names(&theirs).len() {
                0 | 1 => Vec::new(),
                _ => attaches(&theirs),
            }
        });
        let seen: Vec<(Slot, String)> = seen.collect();
        let ids: BTreeSet<&String> = seen.iter().map(|(_, id)| id).collect();
        prop_assert_eq!(ids.len(), seen.len(), "{:?}", seen);
    }
}

/// Whether a volume is on this instance in any listing, or verified there.
fn is_here_or_verified(world: &World) -> impl Fn(&VolumeFacts) -> bool {
    let here = world.volumes.iter().filter(|volume| is_here(volume));
    let here: BTreeSet<String> = here.map(|volume| volume.volume_id.clone()).collect();
    let verified = world.verified.clone();
    move |volume| here.contains(&volume.volume_id) || verified.contains(&volume.volume_id)
}

/// Whether a volume is verified, attached here alone, and the only such one of its slot.
fn runs_alone(world: &World, slot: &Slot, id: &str) -> bool {
    let key = format!("k8s.io/etcd/{}", slot.etcd);
    let prefix = format!("{}/", slot.member);
    let of_slot = |volume: &&VolumeFacts| {
        volume
            .tags
            .get(&key)
            .is_some_and(|value| value.starts_with(&prefix))
    };
    let running = world.volumes.iter().filter(of_slot).filter(|volume| {
        is_attached_here_alone(volume) && world.verified.contains(&volume.volume_id)
    });
    let ids: BTreeSet<&str> = running.map(|volume| volume.volume_id.as_str()).collect();
    ids == BTreeSet::from([id])
}
