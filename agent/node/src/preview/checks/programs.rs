//! What kubelet keeps beside its configuration, and the images of what runs beside it.

use super::{Hit, Pair, Subject, version};
use crate::preview::rule::{Rule, Severity};
use crate::preview::view::Aspect;

const MAX_PODS: Rule = Rule {
    id: "kubelet.max-pods-lowered",
    severity: Severity::Risk,
    summary: "a node takes {new} pods and no more {old}: the group may be too small for its pods",
    remedy: "count the pods of each node, DaemonSets too, and raise maxSize of the group first",
    sources: &["https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/"],
};

const POLICY: Rule = Rule {
    id: "kubelet.manager-policy-changed",
    severity: Severity::Risk,
    summary: "{what} changes from {old} to {new}: on a node that runs, kubelet refuses to start with the state of the old policy",
    remedy: "replace the nodes; do not apply it to a node that runs",
    sources: &["https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/"],
};

const REGISTRY: Rule = Rule {
    id: "images.registry-frozen",
    severity: Severity::Risk,
    summary: "the image {what} is of k8s.gcr.io, which gets no new images since April 2023",
    remedy: "use registry.k8s.io in its place",
    sources: &["https://kubernetes.io/blog/2023/03/10/image-registry-redirect/"],
};

const SKEW: Rule = Rule {
    id: "kubernetes.component-skew",
    severity: Severity::Risk,
    summary: "{what} is of Kubernetes {old}, and kubelet of its node is of {new}",
    remedy: "remove the image from the spec, so that kops names the one of the version",
    sources: &["https://kubernetes.io/releases/version-skew-policy/"],
};

pub(super) const RULES: &[Rule] = &[MAX_PODS, POLICY, REGISTRY, SKEW];

/// What kubelet takes where nothing is said.
const DEFAULT_PODS: u32 = 110;

/// Components that are of one version with the node's kubelet.
const OF_ONE_VERSION: &[&str] = &[
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
];

/// Policies whose state kubelet keeps: the setting, the flag, and the default.
const POLICIES: &[(&str, &str, &str)] = &[
    ("cpuManagerPolicy", "--cpu-manager-policy", "none"),
    ("memoryManagerPolicy", "--memory-manager-policy", "None"),
];

pub(super) fn state(subject: &Subject<'_>) -> Vec<Hit> {
    let images = subject.rows(Aspect::Image);
    let images = images.filter(|(name, _)| name.contains('/'));
    let mut hits = Vec::new();
    for (_, image) in images {
        let (repository, tag) = image.rsplit_once(':').unwrap_or((image, ""));
        if repository.starts_with("k8s.gcr.io/") {
            hits.push(Hit::new(&REGISTRY, repository));
        }
        let name = repository.rsplit('/').next().unwrap_or_default();
        // Older images have their architecture in their names.
        let name = name.trim_end_matches("-amd64").trim_end_matches("-arm64");
        let name = OF_ONE_VERSION.iter().find(|known| **known == name);
        let tagged = version(tag.trim_start_matches('v'));
        if let (Some(name), Some(tagged)) = (name, tagged)
            && tagged.minor != subject.minor()
        {
            let hit = Hit::new(&SKEW, *name);
            let own = format!("1.{}", subject.minor());
            hits.push(hit.between(format!("{}.{}", tagged.major, tagged.minor), own));
        }
    }
    hits
}

pub(super) fn step(pair: &Pair<'_>) -> Vec<Hit> {
    if pair.old.view.is_none() || pair.new.view.is_none() {
        return Vec::new();
    }
    let pods = |subject: &Subject<'_>| -> u32 {
        let stated = subject.kubelet("maxPods", "--max-pods");
        stated
            .and_then(|text| text.parse().ok())
            .unwrap_or(DEFAULT_PODS)
    };
    let (old, new) = (pods(&pair.old), pods(&pair.new));
    let mut hits = Vec::new();
    if new < old {
        hits.push(Hit::new(&MAX_PODS, "maxPods").between(old.to_string(), new.to_string()));
    }
    for (setting, flag, default) in POLICIES {
        let sides = [&pair.old, &pair.new];
        let [old, new] = sides.map(|side| side.kubelet(setting, flag).unwrap_or(default));
        if old != new {
            hits.push(Hit::new(&POLICY, *setting).between(old, new));
        }
    }
    hits
}
