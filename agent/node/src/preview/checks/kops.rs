//! What the version of kops that writes the new state no longer supports.

use super::{Hit, Subject, version};
use crate::preview::rule::{Rule, Severity};
use crate::preview::tables::{DISTRIBUTIONS, distribution_of_image};
use quake_model::spec::EtcdProvider;

const GOSSIP: Rule = Rule {
    id: "kops.gossip-removed",
    severity: Severity::Breaks,
    summary: "{what} finds its members by gossip, which kops removed in 1.37",
    remedy: "migrate to --dns=none or to a hosted zone with kops 1.36 first: https://kops.sigs.k8s.io/gossip/",
    sources: &["https://github.com/kubernetes/kops/blob/master/docs/releases/1.37-NOTES.md"],
};

const DISTRIBUTION: Rule = Rule {
    id: "kops.distribution-removed",
    severity: Severity::Breaks,
    summary: "image {what}: kops does not run it since {old}",
    remedy: "set the group's image to a supported one, such as Ubuntu 24.04 or Debian 12, and roll that before kops",
    sources: &[DISTRIBUTIONS],
};

const CONTAINERD: Rule = Rule {
    id: "kops.containerd-too-old",
    severity: Severity::Breaks,
    summary: "containerd {what}: kops supports 2.1.0 and newer since 1.37",
    remedy: "remove spec.containerd.version, or set it to 2.1.0 or newer",
    sources: &["https://github.com/kubernetes/kops/blob/master/docs/releases/1.37-NOTES.md"],
};

const KUBERNETES: Rule = Rule {
    id: "kops.kubernetes-too-old",
    severity: Severity::Breaks,
    summary: "kops {new} does not support Kubernetes {what}; the oldest it supports is {old}",
    remedy: "upgrade Kubernetes with the kops of now first, one minor version at a time",
    sources: &["https://github.com/kubernetes/kops/tree/master/docs/releases"],
};

const LOAD_BALANCER: Rule = Rule {
    id: "kops.classic-load-balancer-removed",
    severity: Severity::Breaks,
    summary: "the API has a Classic Load Balancer, which kops removed in 1.37",
    remedy: "set spec.api.loadBalancer.class to Network with kops 1.36 first",
    sources: &["https://github.com/kubernetes/kops/blob/master/docs/releases/1.37-NOTES.md"],
};

const NETWORK: Rule = Rule {
    id: "kops.network-removed",
    severity: Severity::Breaks,
    summary: "the pod network {what} is gone since kops {old}",
    remedy: "migrate to another network, such as Calico or Cilium, with the kops of now",
    sources: &[
        "https://github.com/kubernetes/kops/blob/master/docs/releases/1.19-NOTES.md",
        "https://github.com/kubernetes/kops/blob/master/docs/releases/1.23-NOTES.md",
        "https://github.com/kubernetes/kops/blob/master/docs/releases/1.34-NOTES.md",
    ],
};

const ETCD: Rule = Rule {
    id: "kops.etcd-too-old",
    severity: Severity::Breaks,
    summary: "etcd {what}: kops runs 3.5 and 3.6 alone since 1.36",
    remedy: "upgrade etcd to 3.5 with the kops of now first",
    sources: &["https://github.com/kubernetes/kops/blob/master/docs/releases/1.36-NOTES.md"],
};

const ETCD_PROVIDER: Rule = Rule {
    id: "kops.etcd-legacy-provider",
    severity: Severity::Breaks,
    summary: "etcd {what} has the provider Legacy, which kops supports no more from Kubernetes 1.18 on",
    remedy: "migrate to etcd-manager first: https://kops.sigs.k8s.io/etcd3-migration/",
    sources: &["https://github.com/kubernetes/kops/blob/master/docs/releases/1.18-NOTES.md"],
};

pub(super) const RULES: &[Rule] = &[
    GOSSIP,
    DISTRIBUTION,
    CONTAINERD,
    KUBERNETES,
    LOAD_BALANCER,
    NETWORK,
    ETCD,
    ETCD_PROVIDER,
];

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
    hits.extend(old.map(|(text, _)| Hit::new(&CONTAINERD, text)));
    let old = subject.etcd().iter().filter(|etcd| {
        let numbers = version(&etcd.version).map(|it| (it.major, it.minor));
        kops.minor >= 36 && numbers.is_some_and(|numbers| numbers < (3, 5))
    });
    hits.extend(old.map(|etcd| Hit::new(&ETCD, format!("{} {}", etcd.name, etcd.version))));
    // Each minor version drops one: 1.31 dropped 1.25, 1.37 dropped 1.31.
    let oldest = kops.minor.saturating_sub(5);
    if kops.minor >= 31 && subject.minor() < oldest {
        let what = format!("1.{}", subject.minor());
        let hit = Hit::new(&KUBERNETES, what);
        hits.push(hit.between(format!("1.{oldest}"), format!("1.{}", kops.minor)));
    }
    hits
}

fn distribution(subject: &Subject<'_>, kops: u32) -> Option<Hit> {
    let image = subject.group.settings.get("image")?;
    let found = distribution_of_image(image)?;
    let removed = found.removed.filter(|removed| kops >= *removed)?;
    let what = format!("{image} ({})", found.name);
    Some(Hit::new(&DISTRIBUTION, what).between(format!("1.{removed}"), ""))
}

fn of_cluster(subject: &Subject<'_>, kops: u32) -> Vec<Hit> {
    let cluster = subject.cluster;
    let settings = &cluster.settings;
    let mut hits = Vec::new();
    let dns = settings.first(&["topology.dns.type", "networking.topology.dns"]);
    let has_gossip = cluster.name.ends_with(".k8s.local") && dns != Some("None");
    if kops >= 37 && has_gossip {
        hits.push(Hit::new(&GOSSIP, &cluster.name));
    }
    let class = settings.get("api.loadBalancer.class");
    let is_classic = settings.has("api.loadBalancer") && class.is_none_or(|it| it == "Classic");
    if kops >= 37 && is_classic {
        hits.push(Hit::new(&LOAD_BALANCER, "api.loadBalancer"));
    }
    let gone = NETWORKS.iter().filter(|(network, removed)| {
        let is_new_enough = *network != "weave" || subject.minor() >= *removed;
        kops >= *removed && is_new_enough && settings.has(&format!("networking.{network}"))
    });
    hits.extend(gone.map(|(network, removed)| {
        Hit::new(&NETWORK, *network).between(format!("1.{removed}"), "")
    }));
    hits
}

fn etcd_provider(subject: &Subject<'_>) -> Vec<Hit> {
    let etcd = subject.etcd().iter();
    let legacy = etcd.filter(|etcd| etcd.provider == EtcdProvider::Legacy && subject.minor() >= 18);
    legacy
        .map(|etcd| Hit::new(&ETCD_PROVIDER, &etcd.name))
        .collect()
}
