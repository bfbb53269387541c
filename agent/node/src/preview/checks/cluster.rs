//! The cluster as a whole: its name, its version, its groups, the objects of its add-ons.

use super::Hit;
use crate::preview::side::ClusterSide;
use crate::preview::tables::{APIS, removed_api};

/// Objects that the cluster's version does not serve.
pub(super) fn state(cluster: &ClusterSide) -> Vec<Hit> {
    let Some(version) = cluster.kubernetes else {
        return Vec::new();
    };
    let gone = cluster.objects.iter().filter_map(|object| {
        let row = removed_api(&object.api_version, &object.kind, version.minor)?;
        let what = format!(
            "{} {} of {} in {}",
            object.kind, object.name, object.api_version, object.source
        );
        let hit = Hit::new("kubernetes.api-removed", what);
        let hit = hit.between("", format!("1.{}", version.minor));
        Some(hit.instead(row.instead, APIS))
    });
    gone.collect()
}

pub(super) fn step(old: &ClusterSide, new: &ClusterSide) -> Vec<Hit> {
    let mut hits = Vec::new();
    if let (Some(before), Some(after)) = (old.kubernetes, new.kubernetes) {
        let hit = |rule| Hit::new(rule, "").between(before.to_string(), after.to_string());
        if (after.major, after.minor) < (before.major, before.minor) {
            hits.push(hit("kubernetes.downgraded"));
        } else if after.major == before.major && after.minor > before.minor + 1 {
            hits.push(hit("kubernetes.minor-skipped"));
        }
    }
    if old.name != new.name {
        hits.push(Hit::new("cluster.renamed", "").between(&old.name, &new.name));
    }
    if old.generation != new.generation {
        let names = [old.generation, new.generation].map(|it| match it.name() {
            "legacy" => "legacy (1.8 to 1.15)",
            _ => "(1.32 and newer)",
        });
        hits.push(Hit::new("cluster.kops-generation-changed", "").between(names[0], names[1]));
    }
    let gone = old.groups.keys();
    let gone = gone.filter(|group| !new.groups.contains_key(*group));
    hits.extend(gone.map(|group| Hit::new("group.removed", group)));
    hits
}
