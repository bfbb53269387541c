//! Every order in which an API may list things, and what comes of each.

use crate::worlds;
use quake_volumes::{World, decision_json, select_volumes};
use std::collections::BTreeMap;

/// The volume of each etcd cluster that a node ends up with.
pub type Taken = BTreeMap<String, String>;

/// Every order of `items`: n! of them, so few items.
pub fn orders<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let begun_with = |first: usize| {
        let mut rest = items.to_vec();
        let first = rest.remove(first);
        let ends = orders(&rest).into_iter();
        ends.map(move |end| [vec![first.clone()], end].concat())
    };
    (0..items.len()).flat_map(begun_with).collect()
}

/// How many of the orders of the world's volumes lead to each outcome.
pub fn count<T: Ord>(world: &World, decide: impl Fn(&World) -> T) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    for volumes in orders(&world.volumes) {
        let world = World {
            volumes,
            ..world.clone()
        };
        *counts.entry(decide(&world)).or_default() += 1;
    }
    counts
}

/// The decision about a world as text: two decisions that differ in anything have two texts.
pub fn decided(world: &World) -> String {
    let decision = select_volumes(world);
    let slots = decision_json(&decision);
    format!("{:?} {slots:?}", decision.member)
}

/// What this instance ends up with by our choice, when it is alone and every attach succeeds.
pub fn settle(world: &World) -> Taken {
    let mut world = world.clone();
    loop {
        let attach = select_volumes(&world).attach().map(|(_, id)| id.to_owned());
        let Some(id) = attach else {
            let decision = select_volumes(&world);
            let held = decision.held();
            return held
                .map(|(slot, id)| (slot.etcd.clone(), id.to_owned()))
                .collect();
        };
        let me = world.me.instance_id.clone();
        let volumes = world.volumes.iter_mut();
        for volume in volumes.filter(|volume| volume.volume_id == id) {
            worlds::attach(volume, &me);
        }
    }
}
