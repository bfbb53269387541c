//! Restores of single members that were begun from a file. Each is a tag of the member's volume, so
//! that every node sees which snapshot the others were restored from, and whether they are done.

use crate::tags::{Slot, instant, is_of_cluster};
use crate::view::Facts;
use quake_model::time::Timestamp;

/// The tag of a volume whose member is restored: `<hash>@<instant>`, and `/done` behind it once the
/// member has its new data.
pub const RESTORED: &str = "quake.io/etcd-restored";

const DONE: &str = "/done";

/// How long the restore of a cluster may take, member by member.
const LASTS_MS: u64 = 24 * 3_600_000;

/// The restore of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunRestore {
    /// The member's volume.
    pub volume: String,
    /// The first part of the snapshot's hash.
    pub mark: String,
    /// Whether the member has its new data.
    pub done: bool,
}

/// The tag's value before the member's data is replaced.
pub fn restored_tag(mark: &str, now: Timestamp) -> String {
    format!("{mark}@{now}")
}

/// The tag's value once the member's data is replaced.
pub fn done_tag(mark: &str, now: Timestamp) -> String {
    format!("{mark}@{now}{DONE}")
}

/// The restores that were begun in the last day.
pub fn begun_restores(facts: &Facts, etcd: &str, now: Timestamp) -> Vec<BegunRestore> {
    let of_etcd = facts.volumes.iter().filter(|volume| {
        let slot = Slot::of_tags(&volume.tags);
        is_of_cluster(&volume.tags, &facts.cluster) && slot.is_some_and(|slot| slot.etcd == etcd)
    });
    let read = |(id, value): (&String, &String)| {
        let begun = value.strip_suffix(DONE);
        let (mark, at) = begun.unwrap_or(value).rsplit_once('@')?;
        let is_recent = now.0.abs_diff(instant(at)?.0) <= LASTS_MS;
        is_recent.then(|| BegunRestore {
            volume: id.clone(),
            mark: mark.to_owned(),
            done: begun.is_some(),
        })
    };
    let tagged = of_etcd.filter_map(|it| Some((&it.volume_id, it.tags.get(RESTORED)?)));
    let mut found: Vec<BegunRestore> = tagged.filter_map(read).collect();
    found.sort_by(|a, b| a.volume.cmp(&b.volume));
    found.dedup();
    found
}
