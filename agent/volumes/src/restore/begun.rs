//! Restores of single members that were begun from a file. Each is a tag of the member's volume, so
//! that every node sees which snapshot the others were restored from.

use crate::tags::{Slot, instant, is_of_cluster};
use crate::view::Facts;
use quake_model::time::Timestamp;

/// The tag of a volume whose member was restored: `<hash>@<instant>`.
pub const RESTORED: &str = "quake.io/etcd-restored";

/// How long the restore of a cluster may take, member by member.
const LASTS_MS: u64 = 24 * 3_600_000;

/// The tag's value.
pub fn restored_tag(mark: &str, now: Timestamp) -> String {
    format!("{mark}@{now}")
}

/// The restores that were begun in the last day: the volume, and the first part of its snapshot's hash.
pub fn begun_restores(facts: &Facts, etcd: &str, now: Timestamp) -> Vec<(String, String)> {
    let of_etcd = facts.volumes.iter().filter(|volume| {
        let slot = Slot::of_tags(&volume.tags);
        is_of_cluster(&volume.tags, &facts.cluster) && slot.is_some_and(|slot| slot.etcd == etcd)
    });
    let read = |(id, value): (&String, &String)| {
        let (mark, at) = value.rsplit_once('@')?;
        let is_recent = now.0.abs_diff(instant(at)?.0) <= LASTS_MS;
        is_recent.then(|| (id.clone(), mark.to_owned()))
    };
    let tagged = of_etcd.filter_map(|it| Some((&it.volume_id, it.tags.get(RESTORED)?)));
    let mut found: Vec<(String, String)> = tagged.filter_map(read).collect();
    found.sort();
    found.dedup();
    found
}
