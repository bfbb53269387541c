//! What the version of kops that writes the new state no longer supports.

use super::{Hit, Subject, version};
use crate::preview::tables::distribution_of_image;
use quake_model::spec::EtcdProvider;

/// Networks that kops had, the key of each in the spec, and the first minor version without it. Weave is gone for Kubernetes 1.23
/// and newer, which kops 1.23 was the first to have.
const NETWORKS: &[(&str, u32)] = &[
    ("romana", 19),
    ("lyftvpc", 23),
    ("weave", 23),
    ("canal", 34),
];

pub(super) fn state(subject: &Subject<'_>) -> Vec<Hit> {
    let mut hits = etcd_provider(subject);
    let Some(kops) = subject.cluster.kops else {
        return hits;
    };
    hits.extend(distribution(subject, kops.minor));
    hits.extend(of_cluster(subject, kops.minor));
    let old = subject.containerd().filter(|_| kops.minor >= 37);
    let old = old.filter(|(_, it)| (it.major, it.minor) < (2, 1));
    hits.extend(old.map(|(text, _)| Hit::new("kops.containerd-too-old", text)));
    let old = subject.etcd().iter().filter(|etcd| {
        let numbers = version(&etcd.version).map(|it| (it.major, it.minor));
        kops.minor >= 36 && numbers.is_some_and(|numbers| numbers < (3, 5))
    });
    let old = old.map(|etcd| format!("{} {}", etcd.name, etcd.version));
    hits.extend(old.map(|what| Hit::new("kops.etcd-too-old", what)));
    // Each minor version drops one: 1.31 dropped 1.25, 1.37 dropped 1.31.
    let oldest = kops.minor.saturating_sub(5);
    if kops.minor >= 31 && subject.minor() < oldest {
        let what = format!("1.{}", subject.minor());
        let hit = Hit::new("kops.kubernetes-too-old", what);
        hits.push(hit.between(format!("1.{oldest}"), format!("1.{}", kops.minor)));
    }
    hits
}

fn distribution(subject: &Subject<'_>, kops: u32) -> Option<Hit> {
    let image = subject.group.settings.get("image")?;
    let found = distribution_of_image(image)?;
    let removed = found.removed.filter(|removed| kops >= *removed)?;
    let what = format!("{image} ({})", found.name);
    Some(Hit::new("kops.distribution-removed", what).between(format!("1.{removed}"), ""))
}

fn of_cluster(subject: &Subject<'_>, kops: u32) -> Vec<Hit> {
    let cluster = subject.cluster;
    let settings = &cluster.settings;
    let mut hits = Vec::new();
    let dns = settings.first(&["topology.dns.type", "networking.topology.dns"]);
    let has_gossip = cluster.name.ends_with(".k8s.local") && dns != Some("None");
    if kops >= 37 && has_gossip {
        hits.push(Hit::new("kops.gossip-removed", &cluster.name));
    }
    let class = settings.get("api.loadBalancer.class");
    let is_classic = settings.has("api.loadBalancer") && class.is_none_or(|it| it == "Classic");
    if kops >= 37 && is_classic {
        let what = "api.loadBalancer";
        hits.push(Hit::new("kops.classic-load-balancer-removed", what));
    }
    let gone = NETWORKS.iter().filter(|(network, removed)| {
        let is_new_enough = *network != "weave" || subject.minor() >= *removed;
        kops >= *removed && is_new_enough && settings.has(&format!("networking.{network}"))
    });
    hits.extend(gone.map(|(network, removed)| {
        let hit = Hit::new("kops.network-removed", *network);
        hit.between(format!("1.{removed}"), "")
    }));
    hits
}

fn etcd_provider(subject: &Subject<'_>) -> Vec<Hit> {
    let etcd = subject.etcd().iter();
    let legacy = etcd.filter(|etcd| etcd.provider == EtcdProvider::Legacy && subject.minor() >= 18);
    legacy
        .map(|etcd| Hit::new("kops.etcd-legacy-provider", &etcd.name))
        .collect()
}
