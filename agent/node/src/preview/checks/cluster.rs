//! The cluster as a whole: its name, its version, its groups, the objects of its add-ons.

use super::Hit;
use crate::preview::rule::{Rule, Severity};
use crate::preview::side::ClusterSide;
use crate::preview::tables::{APIS, removed_api};

const SKEW: &str = "https://kubernetes.io/releases/version-skew-policy/";

const SKIPPED: Rule = Rule {
    id: "kubernetes.minor-skipped",
    severity: Severity::Breaks,
    summary: "Kubernetes goes from {old} to {new}, and the API server is upgraded one minor version at a time",
    remedy: "roll each minor version between {old} and {new} first",
    sources: &[SKEW],
};

const DOWNGRADED: Rule = Rule {
    id: "kubernetes.downgraded",
    severity: Severity::Breaks,
    summary: "Kubernetes goes back from {old} to {new}, which nobody supports: what the newer API server stored may not be read",
    remedy: "keep {old}; to go back, restore a backup of etcd of before",
    sources: &[SKEW],
};

const API: Rule = Rule {
    id: "kubernetes.api-removed",
    severity: Severity::Breaks,
    summary: "{what}: Kubernetes {new} does not serve it",
    remedy: "write the add-on with {instead}, or let the kops of the new version write it",
    sources: &[APIS],
};

const RENAMED: Rule = Rule {
    id: "cluster.renamed",
    severity: Severity::Breaks,
    summary: "the cluster's name changes from {old} to {new}: its certificates, tags and names are of {old}",
    remedy: "compare two states of one cluster; a cluster cannot be renamed",
    sources: &["https://kops.sigs.k8s.io/cluster_spec/"],
};

const GENERATION: Rule = Rule {
    id: "cluster.kops-generation-changed",
    severity: Severity::Risk,
    summary: "the layout of the state store changes from kops {old} to kops {new}: user data, keys and add-ons are written anew",
    remedy: "take a backup of etcd and of the state store; go by kops' own upgrades, one minor version at a time",
    sources: &["docs/kops-generations.md"],
};

const GROUP: Rule = Rule {
    id: "group.removed",
    severity: Severity::Risk,
    summary: "the instance group {what} is there no more",
    remedy: "drain its nodes first; `kops delete instancegroup` removes what AWS has of it",
    sources: &["https://kops.sigs.k8s.io/instance_groups/"],
};

pub(super) const RULES: &[Rule] = &[SKIPPED, DOWNGRADED, API, RENAMED, GENERATION, GROUP];

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
        let hit = Hit::new(&API, what).between("", format!("1.{}", version.minor));
        Some(hit.instead(row.instead, APIS))
    });
    gone.collect()
}

pub(super) fn step(old: &ClusterSide, new: &ClusterSide) -> Vec<Hit> {
    let mut hits = Vec::new();
    if let (Some(before), Some(after)) = (old.kubernetes, new.kubernetes) {
        let hit = |rule| Hit::new(rule, "").between(before.to_string(), after.to_string());
        if (after.major, after.minor) < (before.major, before.minor) {
            hits.push(hit(&DOWNGRADED));
        } else if after.major == before.major && after.minor > before.minor + 1 {
            hits.push(hit(&SKIPPED));
        }
    }
    if old.name != new.name {
        hits.push(Hit::new(&RENAMED, "").between(&old.name, &new.name));
    }
    if old.generation != new.generation {
        let names = [old.generation, new.generation].map(|it| match it.name() {
            "legacy" => "legacy (1.8 to 1.15)",
            _ => "(1.32 and newer)",
        });
        hits.push(Hit::new(&GENERATION, "").between(names[0], names[1]));
    }
    let gone = old.groups.keys();
    let gone = gone.filter(|group| !new.groups.contains_key(*group));
    hits.extend(gone.map(|group| Hit::new(&GROUP, group)));
    hits
}
