//! What the earlier agents made of duplicates, and that ours makes one thing of each world.

use quake_bench::orders::{Taken, count, decided, settle};
use quake_bench::product::product;
use quake_bench::worlds::{duplicates, large, three_members};
use quake_bench::{legacy, orders};
use quake_volumes::{World, select_volumes};
use std::collections::BTreeMap;

type Agent = fn(&World) -> Taken;

const EARLIER: [(&str, Agent); 2] = [
    ("protokube", legacy::protokube),
    ("etcd-manager", legacy::etcd_manager),
];

#[test]
fn earlier_agents_make_four_things_of_two_duplicates_and_ours_makes_one() {
    for (name, agent) in EARLIER {
        let outcomes = count(&duplicates(), agent);
        let counts: Vec<usize> = outcomes.values().copied().collect();
        assert_eq!(counts, [6, 6, 6, 6], "{name}: {outcomes:?}");
    }
    let ours = count(&duplicates(), decided);
    assert_eq!(ours.values().copied().collect::<Vec<_>>(), [24], "{ours:?}");
    assert_eq!(
        count(&duplicates(), settle),
        BTreeMap::from([(Taken::new(), 24)])
    );
}

#[test]
fn earlier_agents_split_members_in_two_of_three_orders_and_ours_never() {
    for (name, agent) in EARLIER {
        let outcomes = count(&three_members(), agent);
        let split = outcomes.iter().filter(|(taken, _)| is_split(taken));
        assert_eq!(split.map(|(_, count)| count).sum::<usize>(), 480, "{name}");
        assert_eq!(outcomes.values().sum::<usize>(), 720, "{name}");
    }
    assert_eq!(count(&three_members(), decided).len(), 1);
    let ours = count(&three_members(), settle);
    let whole = [("events", "vol-events-a"), ("main", "vol-main-a")];
    let whole: Taken = whole
        .map(|(etcd, id)| (etcd.to_owned(), id.to_owned()))
        .into();
    assert_eq!(ours, BTreeMap::from([(whole, 720)]));
}

fn is_split(taken: &Taken) -> bool {
    let mut members = taken.values().filter_map(|id| id.rsplit('-').next());
    let first = members.next();
    members.any(|member| Some(member) != first)
}

#[test]
fn every_order_is_made_once() {
    let mut all = orders::orders(&[1, 2, 3, 4]);
    assert_eq!(all.len(), 24);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 24);
}

#[test]
fn a_large_world_attaches_its_one_free_member() {
    let world = large(2_000).join();
    assert!(world.volumes.len() >= 2_150, "{}", world.volumes.len());
    let decision = select_volumes(&world);
    assert_eq!(decision.attach().map(|(_, id)| id), Some("vol-main-m00"));
    assert_eq!(decision.verdicts.len(), 2_000);
}

/// The counts are those of an independent, executable model of the rules.
#[test]
fn the_product_of_single_volumes_has_the_known_counts() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for world in product() {
        let decision = select_volumes(&world);
        let (_, decided) = decision.slots.first().expect("one slot");
        *counts.entry(decided.action.name()).or_default() += 1;
    }
    let known = [
        ("ADOPT", 588),
        ("ATTACH", 26),
        ("REFUSE", 58_164),
        ("STANDBY", 156),
        ("WAIT", 3_274),
    ];
    assert_eq!(counts, BTreeMap::from(known));
}
