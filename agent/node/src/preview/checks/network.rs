//! The pod network: what a cluster cannot change while it runs.

use super::{Hit, Pair, Subject, differing};
use crate::expected::network_word;

/// The rule about a value that changes, what the value is, and where it is from.
type Change = (
    &'static str,
    &'static str,
    for<'a> fn(&Subject<'a>) -> Option<&'a str>,
);

const CHANGES: &[Change] = &[
    ("network.pod-range-changed", "pods", pods),
    ("network.service-range-changed", "services", services),
    ("network.cluster-domain-changed", "domain", |it| {
        it.kubelet("clusterDomain", "--cluster-domain")
    }),
    ("network.dns-address-changed", "dns", |it| {
        it.kubelet("clusterDNS", "--cluster-dns")
    }),
    ("network.proxy-mode-changed", "mode", mode),
    ("network.api-port-changed", "port", |it| {
        it.flag("kube-apiserver --secure-port")
    }),
    ("network.node-ports-changed", "ports", |it| {
        it.node()?.networking.node_port_range.as_deref()
    }),
];

pub(super) fn step(pair: &Pair<'_>) -> Vec<Hit> {
    let (old, new) = (&pair.old, &pair.new);
    let changes = CHANGES.iter().filter_map(|(rule, what, value)| {
        let (old, new) = differing(value(old), value(new))?;
        Some(Hit::new(rule, *what).between(old, new))
    });
    let plugins = plugin(old).zip(plugin(new));
    let plugins = plugins.filter(|(old, new)| old != new);
    let hit = Hit::new("network.plugin-changed", "plugin");
    let plugin = plugins.map(|(old, new)| hit.between(old, new));
    let is_lost = has_proxy(old) && !has_proxy(new) && new.node().is_some();
    let lost = is_lost.then(|| Hit::new("network.proxy-removed", "kube-proxy"));
    changes.chain(plugin).chain(lost).collect()
}

fn pods<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    let node = subject.node()?;
    let range = node.networking.cluster_cidr.as_deref();
    range.or_else(|| subject.flag("kube-controller-manager --cluster-cidr"))
}

fn services<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    let node = subject.node()?;
    let range = node.networking.service_cidr.as_deref();
    range.or_else(|| subject.flag("kube-apiserver --service-cluster-ip-range"))
}

/// The network, by its word; `cni` where only that is known.
fn plugin(subject: &Subject<'_>) -> Option<String> {
    let word = network_word(subject.node()?);
    if word != "cni" {
        return Some(word.to_ascii_lowercase());
    }
    // The node is not told of networks that need nothing of it; the cluster's document is.
    let mut settings = subject.cluster.settings.iter();
    let option = settings.find_map(|(path, _)| {
        let below = path.strip_prefix("networking.")?;
        let name = below.split(['.', '[']).next()?;
        OPTIONS.contains(&name).then(|| name.to_ascii_lowercase())
    });
    Some(option.unwrap_or_else(|| "cni".to_owned()))
}

/// Keys of `networking` that name a network.
const OPTIONS: &[&str] = &[
    "amazonvpc",
    "amazonVPC",
    "calico",
    "canal",
    "cilium",
    "cni",
    "flannel",
    "gcp",
    "kindnet",
    "kopeio",
    "kubenet",
    "kuberouter",
    "kubeRouter",
    "lyftvpc",
    "romana",
    "weave",
];

fn has_proxy(subject: &Subject<'_>) -> bool {
    subject.node().is_some_and(|node| node.kube_proxy.is_some())
}

/// kube-proxy's mode, where it runs; iptables is what it does unless told otherwise.
fn mode<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    let stated = subject.flag("kube-proxy --proxy-mode");
    has_proxy(subject).then(|| stated.filter(|mode| !mode.is_empty()).unwrap_or("iptables"))
}
