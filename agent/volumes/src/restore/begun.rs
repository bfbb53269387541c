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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{volume, world};
    use crate::world::ClusterGeneration;
    use serde_json::json;

    #[test]
    fn a_restore_is_seen_for_a_day_by_the_volumes_of_its_own_etcd_cluster() {
        const DAY_MS: u64 = 86_400_000;
        let now = Timestamp(1_800_000_000_000);
        let at = |age_ms: u64| restored_tag("0123", Timestamp(now.0 - age_ms));
        let main = "k8s.io/etcd/main";
        let mut of_another = volume("vol-5", &json!({main: "a/a", RESTORED: at(0)}));
        of_another["tags"]["KubernetesCluster"] = json!("another");
        let volumes = json!([
            volume("vol-2", &json!({main: "a/a,b", RESTORED: at(DAY_MS)})),
            volume("vol-1", &json!({main: "b/a,b", RESTORED: at(0)})),
            volume("vol-3", &json!({main: "a/a,b", RESTORED: at(DAY_MS + 1)})),
            volume(
                "vol-4",
                &json!({"k8s.io/etcd/events": "a/a,b", RESTORED: at(0)})
            ),
            of_another,
            volume("vol-6", &json!({main: "a/a,b", RESTORED: "0123"})),
            volume("vol-7", &json!({main: "a/a,b"})),
            volume(
                "vol-8",
                &json!({main: "a/a,b", RESTORED: done_tag("0123", now)})
            ),
        ]);
        let facts = Facts {
            cluster: "c.example".to_owned(),
            etcd: Vec::new(),
            zones: [].into(),
            cluster_generation: ClusterGeneration::default(),
            volumes: world(&volumes).volumes,
            instances: Vec::new(),
            settled: true,
        };
        let begun = |id: &str, done| BegunRestore {
            volume: id.to_owned(),
            mark: "0123".to_owned(),
            done,
        };
        let found = begun_restores(&facts, "main", now);
        let wanted = [
            begun("vol-1", false),
            begun("vol-2", false),
            begun("vol-8", true),
        ];
        assert_eq!(found, wanted);
        let found = begun_restores(&facts, "events", now);
        assert_eq!(found, [begun("vol-4", false)]);
    }
}
