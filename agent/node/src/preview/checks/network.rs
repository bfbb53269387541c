//! The pod network: what a cluster cannot change while it runs.

use super::{Hit, Pair, Subject, differing};
use crate::expected::network_word;
use crate::preview::rule::{Rule, Severity};

const NETWORKING: &str = "https://kubernetes.io/docs/concepts/cluster-administration/networking/";

const PODS: Rule = Rule {
    id: "network.pod-range-changed",
    severity: Severity::Breaks,
    summary: "the range of pods changes from {old} to {new}: nodes of both ranges have no routes to each other's pods",
    remedy: "keep {old}; another range needs a new cluster, or a migration of the network plugin",
    sources: &[NETWORKING],
};

const SERVICES: Rule = Rule {
    id: "network.service-range-changed",
    severity: Severity::Breaks,
    summary: "the range of services changes from {old} to {new}: services keep their old addresses, and the API's certificate \
              and DNS lose theirs",
    remedy: "keep {old}; to have more addresses, add a ServiceCIDR object (Kubernetes 1.33 and newer)",
    sources: &["https://kubernetes.io/docs/tasks/network/extend-service-ip-ranges/"],
};

const DOMAIN: Rule = Rule {
    id: "network.cluster-domain-changed",
    severity: Severity::Breaks,
    summary: "the cluster's DNS domain changes from {old} to {new}: names that pods and issuers use lead nowhere",
    remedy: "keep {old}; pods of old and new nodes resolve different names while the roll goes on",
    sources: &["https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/"],
};

const DNS: Rule = Rule {
    id: "network.dns-address-changed",
    severity: Severity::Risk,
    summary: "the address of the cluster's DNS changes from {old} to {new}: pods keep the old one until they are replaced",
    remedy: "keep a service at {old} until no pod uses it",
    sources: &["https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/"],
};

const CNI: Rule = Rule {
    id: "network.plugin-changed",
    severity: Severity::Breaks,
    summary: "the network plugin changes from {old} to {new}: pods of old and new nodes do not reach each other during the roll",
    remedy: "follow a migration of the new plugin, or move to a new cluster; a rolling update alone interrupts the network",
    sources: &["https://kops.sigs.k8s.io/networking/#switching-between-networking-providers"],
};

const MODE: Rule = Rule {
    id: "network.proxy-mode-changed",
    severity: Severity::Risk,
    summary: "kube-proxy's mode changes from {old} to {new}: the old mode's rules stay until the node is replaced",
    remedy: "replace the nodes; do not apply it to a node that runs",
    sources: &["https://kubernetes.io/docs/reference/networking/virtual-ips/#proxy-modes"],
};

const PROXY: Rule = Rule {
    id: "network.proxy-removed",
    severity: Severity::Risk,
    summary: "kube-proxy runs on the nodes no more: services work only if the network plugin takes its place",
    remedy: "turn on the replacement of the network plugin, such as cilium.enableNodePort, before the roll",
    sources: &["https://docs.cilium.io/en/stable/network/kubernetes/kubeproxy-free/"],
};

const PORTS: Rule = Rule {
    id: "network.node-ports-changed",
    severity: Severity::Risk,
    summary: "the range of node ports changes from {old} to {new}: ports that are given out outside of it stop to work",
    remedy: "list the services with node ports, and keep a range that has them all",
    sources: &["https://kubernetes.io/docs/concepts/services-networking/service/#type-nodeport"],
};

const API_PORT: Rule = Rule {
    id: "network.api-port-changed",
    severity: Severity::Risk,
    summary: "kube-apiserver's port changes from {old} to {new}: load balancers, security groups and kubeconfigs have the old one",
    remedy: "keep {old}, or change all of them in one step",
    sources: &["https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/"],
};

pub(super) const RULES: &[Rule] = &[
    PODS, SERVICES, DOMAIN, DNS, CNI, MODE, PROXY, PORTS, API_PORT,
];

/// A rule about a value that changes, what the value is, and where it is from.
type Change = (
    &'static Rule,
    &'static str,
    for<'a> fn(&Subject<'a>) -> Option<&'a str>,
);

const CHANGES: &[Change] = &[
    (&PODS, "pods", pods),
    (&SERVICES, "services", services),
    (&DOMAIN, "domain", domain),
    (&DNS, "dns", dns),
    (&MODE, "mode", mode),
    (&API_PORT, "port", api_port),
    (&PORTS, "ports", ports),
];

pub(super) fn step(pair: &Pair<'_>) -> Vec<Hit> {
    let (old, new) = (&pair.old, &pair.new);
    let changes = CHANGES.iter().filter_map(|(rule, what, value)| {
        let (old, new) = differing(value(old), value(new))?;
        Some(Hit::new(rule, *what).between(old, new))
    });
    let plugins = plugin(old).zip(plugin(new));
    let plugins = plugins.filter(|(old, new)| old != new);
    let plugin = plugins.map(|(old, new)| Hit::new(&CNI, "plugin").between(old, new));
    let is_lost = has_proxy(old) && !has_proxy(new) && new.node().is_some();
    let lost = is_lost.then(|| Hit::new(&PROXY, "kube-proxy"));
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

fn api_port<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    subject.flag("kube-apiserver --secure-port")
}

fn domain<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    subject.kubelet("clusterDomain", "--cluster-domain")
}

fn dns<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    subject.kubelet("clusterDNS", "--cluster-dns")
}

fn ports<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    subject.node()?.networking.node_port_range.as_deref()
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
