//! What kubelet keeps beside its configuration, and the images of what runs beside it.

use super::{Hit, Pair, Subject, version};
use crate::preview::view::Aspect;

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
            hits.push(Hit::new("images.registry-frozen", repository));
        }
        let name = repository.rsplit('/').next().unwrap_or_default();
        // Older images have their architecture in their names.
        let name = name.trim_end_matches("-amd64").trim_end_matches("-arm64");
        let name = OF_ONE_VERSION.iter().find(|known| **known == name);
        let tagged = version(tag.trim_start_matches('v'));
        if let (Some(name), Some(tagged)) = (name, tagged)
            && tagged.minor != subject.minor()
        {
            let hit = Hit::new("kubernetes.component-skew", *name);
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
        let hit = Hit::new("kubelet.max-pods-lowered", "maxPods");
        hits.push(hit.between(old.to_string(), new.to_string()));
    }
    for (setting, flag, default) in POLICIES {
        let sides = [&pair.old, &pair.new];
        let [old, new] = sides.map(|side| side.kubelet(setting, flag).unwrap_or(default));
        if old != new {
            hits.push(Hit::new("kubelet.manager-policy-changed", *setting).between(old, new));
        }
    }
    hits
}
