//! Groups of agents that decide at the same moment, from views that are behind and by clocks that differ.

use crate::world::{Rules, STEP, Seen, World};
use proptest::prelude::*;
use quake_model::repair::Symptom;
use std::collections::{BTreeMap, BTreeSet};

/// A node's fault: from which step on, and what.
type Faults = BTreeMap<String, (u64, Symptom)>;

fn run(rules: Rules, faults: &Faults, skews: &[i64], steps: u64) -> World {
    let mut world = World::new(rules);
    for (node, skew) in world.nodes.iter_mut().zip(skews) {
        node.skew = *skew;
    }
    let begin = world.now;
    for _ in 0..steps {
        world.step(|node, now| {
            let fault = faults.get(&node.name);
            let has = fault.filter(|(from, _)| now >= begin + from * STEP);
            Seen {
                symptoms: has.map(|(_, symptom)| *symptom).into_iter().collect(),
                ..Seen::default()
            }
        });
    }
    world
}

fn name(index: usize) -> String {
    format!("n{index:02}")
}

#[test]
fn a_hundred_agents_that_fail_at_the_same_moment_with_one_symptom_replace_none() {
    let faults = (0..100)
        .map(|index| (name(index), (0, Symptom::Runtime)))
        .collect();
    let rules = Rules {
        size: 100,
        zones: 3,
        ..Rules::default()
    };
    let world = run(rules, &faults, &[], 480);
    assert_eq!(world.replaced, Vec::<String>::new());
}

#[test]
fn a_fifth_that_fails_at_the_same_moment_is_replaced_within_the_share() {
    let faults: Faults = (0..20)
        .map(|index| (name(index * 5), (0, Symptom::Runtime)))
        .collect();
    let rules = Rules {
        size: 100,
        zones: 3,
        stale: 120,
        ..Rules::default()
    };
    let world = run(rules, &faults, &[], 480);
    let replaced: BTreeSet<&String> = world.replaced.iter().collect();
    // After ten the symptom recurs, and a person is needed.
    assert_eq!((replaced.len(), world.replaced.len()), (10, 10));
    assert_eq!(world.most_away, 10);
}

#[test]
fn members_of_etcd_are_replaced_one_after_the_other() {
    let faults = Faults::from([
        (name(0), (0, Symptom::Runtime)),
        (name(1), (60, Symptom::DiskFull)),
    ]);
    let rules = Rules {
        size: 3,
        zones: 3,
        etcd: true,
        stale: 120,
        ..Rules::default()
    };
    let world = run(rules, &faults, &[], 480);
    assert_eq!(world.replaced, [name(0), name(1)]);
    assert_eq!(world.most_away, 1);
}

prop_compose! {
    fn faulty(size: usize)(
        picked in prop::collection::btree_map(0..size, (0..40_u64, prop::sample::select(Symptom::ALL)), 0..size)
    ) -> Faults {
        picked.into_iter().map(|(index, fault)| (name(index), fault)).collect()
    }
}

prop_compose! {
    fn groups()(size in 2..40_usize)(
        faults in faulty(size),
        skews in prop::collection::vec(-240..240_i64, size),
        percent in 1..50_u8,
        (zones, stale) in (1..4_usize, 0..=120_u64),
        size in Just(size),
    ) -> (Rules, Faults, Vec<i64>) {
        let share = percent.to_string().parse().expect("it is a percentage");
        let rules = Rules { size, zones, share, stale, ..Rules::default() };
        (rules, faults, skews)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn simultaneous_agents_keep_the_share_whatever_their_clocks_and_views((rules, faults, skews) in groups()) {
        let most = rules.share.of(rules.size);
        let world = run(rules, &faults, &skews, 240);
        prop_assert!(world.most_away <= most, "{} were away, {most} may be: {:?}", world.most_away, world.replaced);
        let unique: BTreeSet<&String> = world.replaced.iter().collect();
        prop_assert_eq!(unique.len(), world.replaced.len(), "none is replaced twice");
        for replaced in &world.replaced {
            prop_assert!(faults.contains_key(replaced), "{} is well", replaced);
        }
    }

    #[test]
    fn quorum_is_never_lost_by_repairs((rules, faults, skews) in groups(), members in 0..3_usize) {
        let members = [1, 3, 5][members];
        let rules = Rules { size: members, zones: 3.min(members), etcd: true, ..rules };
        let world = run(rules, &faults, &skews, 240);
        prop_assert!(world.most_away <= 1);
        prop_assert!(world.replaced.is_empty() || members >= 3, "the only member was replaced");
    }
}
