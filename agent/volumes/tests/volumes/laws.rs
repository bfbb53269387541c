//! What the choice may depend on: not on order, nor on listings that say the same twice, nor on names, nor on
//! what is not etcd's.

use crate::conformance::scenarios;
use crate::worlds::worlds;
use proptest::prelude::*;
use quake_model::facts::VolumeFacts;
use quake_volumes::{Detail, Slot, SlotDecision, VolumeClass, World, select_volumes};
use std::collections::{BTreeMap, BTreeSet};

/// What a decision says about the node; its verdicts borrow from the world.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) member: Option<String>,
    pub(crate) slots: Vec<(Slot, SlotDecision)>,
    pub(crate) node: Option<SlotDecision>,
}

pub(crate) fn outcome(world: &World) -> Outcome {
    let decision = select_volumes(world);
    Outcome {
        member: decision.member,
        slots: decision.slots,
        node: decision.node,
    }
}

/// Each volume's id, slot, standing and rule.
fn verdicts(world: &World) -> Vec<String> {
    let decision = select_volumes(world);
    let shown = decision.verdicts.iter().map(|verdict| {
        let slot = verdict.slot.as_ref().map(Slot::to_string);
        let (class, rule) = (verdict.class.name(), verdict.rule);
        let id = &verdict.volume.volume_id;
        format!("{id} {slot:?} {class} {rule}")
    });
    shown.collect()
}

/// Puts a list into an order that a number picks.
fn shuffle<T>(list: &mut [T], mut seed: u64) {
    for last in (1..list.len()).rev() {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from(seed >> 33).expect("31 bits") % (last + 1);
        list.swap(last, other);
    }
}

/// The same observations in another order.
pub(crate) fn shuffled(world: &World, seed: u64) -> World {
    let mut world = world.clone();
    shuffle(&mut world.volumes, seed);
    shuffle(&mut world.instances, seed ^ 1);
    shuffle(&mut world.members, seed ^ 2);
    for (number, volume) in (3..).zip(&mut world.volumes) {
        shuffle(&mut volume.attachments, seed ^ number);
    }
    world
}

/// The same listing in pages that overlap by one and come in another order.
fn paged(world: &World, size: usize, seed: u64) -> World {
    let mut world = world.clone();
    let listed = std::mem::take(&mut world.volumes);
    let starts = (0..listed.len()).step_by(size);
    let mut pages: Vec<&[VolumeFacts]> = starts
        .map(|start| &listed[start.saturating_sub(1)..(start + size).min(listed.len())])
        .collect();
    shuffle(&mut pages, seed);
    world.volumes = pages.concat();
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_world_is_decided_and_the_same_world_the_same_way(world in worlds()) {
        let decision = select_volumes(&world);
        prop_assert_eq!(&decision, &select_volumes(&world));
        prop_assert!(!decision.slots.is_empty() || decision.node.is_some());
    }

    #[test]
    fn no_order_of_the_facts_changes_the_decision(world in worlds(), seed in any::<u64>()) {
        let other = shuffled(&world, seed);
        prop_assert_eq!(outcome(&world), outcome(&other));
        prop_assert_eq!(verdicts(&world), verdicts(&other));
    }

    #[test]
    fn a_listing_that_repeats_itself_changes_nothing(
        world in worlds(),
        twice in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        seed in any::<u64>(),
    ) {
        let mut other = world.clone();
        if !world.volumes.is_empty() {
            other.volumes.extend(twice.iter().map(|index| index.get(&world.volumes).clone()));
        }
        if !world.instances.is_empty() {
            other.instances.extend(twice.iter().map(|index| index.get(&world.instances).clone()));
        }
        let other = shuffled(&other, seed);
        prop_assert_eq!(outcome(&world), outcome(&other));
        prop_assert_eq!(verdicts(&world), verdicts(&other));
    }

    #[test]
    fn no_split_into_pages_changes_the_decision(
        world in worlds(),
        size in 1..4_usize,
        seed in any::<u64>(),
    ) {
        let other = paged(&world, size, seed);
        prop_assert_eq!(outcome(&world), outcome(&other));
        prop_assert_eq!(verdicts(&world), verdicts(&other));
    }

    #[test]
    fn an_instance_described_twice_differently_decides_the_same_in_any_order(
        world in worlds(),
        again in worlds(),
        seed in any::<u64>(),
    ) {
        let mut world = world;
        world.instances.extend(again.instances);
        prop_assert_eq!(outcome(&world), outcome(&shuffled(&world, seed)));
    }

    #[test]
    fn volumes_that_are_not_etcd_s_never_matter(
        world in worlds(),
        strangers in worlds(),
        seed in any::<u64>(),
    ) {
        let mut without = world.clone();
        let ignored = ignored(&world);
        without.volumes.retain(|volume| !ignored.contains(&volume.volume_id));
        prop_assert_eq!(outcome(&world), outcome(&without));

        let mut with = world.clone();
        for mut volume in strangers.volumes {
            volume.volume_id = format!("{}-stranger", volume.volume_id);
            volume.tags.remove("k8s.io/role/master");
            with.volumes.push(volume);
        }
        for volume in with.volumes.iter_mut().filter(|volume| ignored.contains(&volume.volume_id)) {
            volume.zone = "elsewhere".to_owned();
            volume.attachments.clear();
        }
        prop_assert_eq!(outcome(&world), outcome(&shuffled(&with, seed)));
    }

    #[test]
    fn names_matter_by_their_order_alone(world in worlds()) {
        let renamed = Renaming::new(&world);
        prop_assert_eq!(renamed.outcome(&outcome(&world)), outcome(&renamed.world(&world)));
    }
}

#[test]
fn no_recorded_world_depends_on_order_or_on_repetition() {
    for scenario in scenarios() {
        let world = scenario.world();
        let first = outcome(&world);
        assert_eq!(first, outcome(&world), "{}", scenario.name);
        for seed in 0..50 {
            assert_eq!(first, outcome(&shuffled(&world, seed)), "{}", scenario.name);
            let pages = paged(&world, 1, seed);
            assert_eq!(first, outcome(&pages), "{}", scenario.name);
        }
    }
}

/// The ids of which no listing is anything to etcd.
fn ignored(world: &World) -> BTreeSet<String> {
    let mut alone = world.clone();
    let mut of = |volume: &VolumeFacts| {
        alone.volumes = vec![volume.clone()];
        select_volumes(&alone).verdicts[0].class == VolumeClass::Ignored
    };
    let (ignored, others): (Vec<_>, Vec<_>) = world.volumes.iter().partition(|volume| of(volume));
    let id = |volume: &VolumeFacts| volume.volume_id.clone();
    let others: BTreeSet<String> = others.into_iter().map(id).collect();
    ignored
        .into_iter()
        .map(id)
        .filter(|id| !others.contains(id))
        .collect()
}

/// New names for all volumes and instances, in the same order as the old ones.
struct Renaming {
    names: BTreeMap<String, String>,
}

impl Renaming {
    fn new(world: &World) -> Self {
        let volumes = world.volumes.iter().map(|volume| &volume.volume_id);
        let holders = world.volumes.iter().flat_map(|volume| &volume.attachments);
        let holders = holders.map(|attachment| &attachment.instance_id);
        let instances = world.instances.iter().map(|peer| &peer.instance_id);
        let volumes: BTreeSet<&String> = volumes.chain(&world.verified).collect();
        let instances: BTreeSet<&String> = holders
            .chain(instances)
            .chain([&world.me.instance_id])
            .collect();
        let renamed = |kind: &'static str| {
            move |(rank, old): (usize, &String)| (old.clone(), format!("{kind}{:03}", rank * 7))
        };
        let volumes = volumes.into_iter().enumerate().map(renamed("disk "));
        let instances = instances.into_iter().enumerate().map(renamed("host!"));
        Self {
            names: volumes.chain(instances).collect(),
        }
    }

    fn name(&self, old: &str) -> String {
        self.names[old].clone()
    }

    fn world(&self, world: &World) -> World {
        let mut world = world.clone();
        world.me.instance_id = self.name(&world.me.instance_id);
        for peer in &mut world.instances {
            peer.instance_id = self.name(&peer.instance_id);
        }
        for volume in &mut world.volumes {
            volume.volume_id = self.name(&volume.volume_id);
            for attachment in &mut volume.attachments {
                attachment.instance_id = self.name(&attachment.instance_id);
            }
        }
        world.verified = world.verified.iter().map(|id| self.name(id)).collect();
        world
    }

    fn decision(&self, decision: &SlotDecision) -> SlotDecision {
        let all = |ids: &Vec<String>| ids.iter().map(|id| self.name(id)).collect();
        let mut decision = decision.clone();
        decision.volume = decision.volume.map(|id| self.name(&id));
        decision.detail = match &decision.detail {
            Detail::Holder(id) => Detail::Holder(self.name(id)),
            Detail::Volumes(ids) => Detail::Volumes(all(ids)),
            Detail::Instances(ids) => Detail::Instances(all(ids)),
            Detail::None | Detail::Device(_) | Detail::Members(_) => decision.detail,
        };
        decision
    }

    fn outcome(&self, outcome: &Outcome) -> Outcome {
        let slots = outcome.slots.iter();
        Outcome {
            member: outcome.member.clone(),
            slots: slots
                .map(|(slot, decision)| (slot.clone(), self.decision(decision)))
                .collect(),
            node: outcome
                .node
                .as_ref()
                .map(|decision| self.decision(decision)),
        }
    }
}
