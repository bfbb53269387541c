//! The cluster around the node: networking, etcd and the proxy.

use super::documents::Form;
use super::node::Node;
use crate::config::reader::{etcd_member, missing};
use quake_formats::yaml::Yaml;
use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_model::spec::{EtcdCluster, EtcdProvider, NetworkMode, Networking, Role};
use std::collections::BTreeMap;

/// Networking options that bring a CNI plugin, configured by a `DaemonSet`.
const CNI_OPTIONS: [&str; 9] = [
    "weave",
    "flannel",
    "calico",
    "canal",
    "kuberouter",
    "romana",
    "amazonvpc",
    "cilium",
    "cni",
];

/// Lowers the pod network; `kubelet` is the node's kubelet section.
///
/// # Errors
///
/// `config.unsupported` for an option this agent does not bring up, `config.missing-key` where nothing says
/// how pods get their network.
pub(super) fn lower_networking(node: &Node<'_>, kubelet: &Yaml) -> Result<Networking, Fault> {
    let spec = &node.cluster.spec;
    let text = |section: Option<&Yaml>, key: &str| {
        let text = section.and_then(|section| section.text_of(key));
        text.map(str::to_owned)
    };
    let section = |key: &str| node.section(key);
    let option_mtu = node.section("networking").and_then(|networking| {
        let mut options = networking.entries().iter();
        options.find_map(|(_, option)| option.text_of("mtu"))
    });
    let mtu = option_mtu.or_else(|| kubelet.text_of("networkPluginMTU"));
    Ok(Networking {
        mode: mode(node, kubelet)?,
        mtu: mtu.and_then(|mtu| mtu.parse().ok()).filter(|mtu| *mtu > 0),
        cluster_cidr: text(section("kubeControllerManager"), "clusterCIDR")
            .or_else(|| text(section("kubeProxy"), "clusterCIDR"))
            .or_else(|| text(Some(spec), "podCIDR")),
        non_masquerade_cidr: text(Some(kubelet), "nonMasqueradeCIDR")
            .or_else(|| text(Some(spec), "nonMasqueradeCIDR")),
        pod_cidr: text(Some(kubelet), "podCIDR"),
        service_cidr: text(Some(spec), "serviceClusterIPRange")
            .or_else(|| text(section("kubeAPIServer"), "serviceClusterIPRange")),
        node_port_range: text(section("kubeAPIServer"), "serviceNodePortRange"),
    })
}

fn mode(node: &Node<'_>, kubelet: &Yaml) -> Result<NetworkMode, Fault> {
    if let Some(networking) = node.section("networking") {
        for (key, value) in networking.entries() {
            let has = |name: &str| key.name == name && networking.get(name).is_some();
            if has("kubenet") {
                return Ok(NetworkMode::Kubenet);
            }
            if has("external") || has("kopeio") {
                return Ok(NetworkMode::External);
            }
            if CNI_OPTIONS.iter().any(|name| has(name)) {
                let provider = if key.name == "cni" { "" } else { &key.name };
                let provider = provider.to_owned();
                return Ok(NetworkMode::Cni { provider });
            }
            if ["classic", "gce", "lyftvpc"].iter().any(|name| has(name)) {
                let path = format!("networking.{}", key.name);
                return Err(node.unsupported(value, &path, "is not brought up by this agent"));
            }
        }
    }
    match kubelet.text_of("networkPluginName") {
        Some("kubenet") => Ok(NetworkMode::Kubenet),
        Some("cni") => Ok(NetworkMode::Cni {
            provider: String::new(),
        }),
        Some(_) => {
            let place = kubelet.get("networkPluginName").unwrap_or(kubelet);
            let path = "kubelet.networkPluginName";
            Err(node.unsupported(place, path, "is not brought up by this agent"))
        }
        // A bastion runs no pods.
        None if node.role == Role::Bastion => Ok(NetworkMode::External),
        None => Err(node.missing("networking")),
    }
}

/// Lowers etcd's clusters, `main` first; none but on a control plane.
///
/// # Errors
///
/// `config.unsupported` for a provider that is none, `config.missing-key` for a cluster or member without name.
pub(super) fn lower_etcd(node: &Node<'_>) -> Result<Vec<EtcdCluster>, Fault> {
    if node.role != Role::ControlPlane {
        return Ok(Vec::new());
    }
    let mut clusters = Vec::new();
    match (node.section("etcdClusters"), node.cluster.form) {
        (Some(list), Form::Stored) => {
            for entry in list.items() {
                let name = entry.text_of("name");
                let path = "etcdClusters.name";
                let name = name.ok_or_else(|| missing(&node.cluster.source, entry, path))?;
                clusters.push(etcd_cluster(node, name, Some(entry))?);
            }
        }
        (Some(map), Form::Inline) => {
            for (key, entry) in map.entries() {
                clusters.push(etcd_cluster(node, &key.name, Some(entry))?);
            }
        }
        (None, _) => {}
    }
    if clusters.is_empty() {
        // kops before 1.9.2 left etcd out of user data; every cluster it made has these two.
        for name in ["main", "events"] {
            clusters.push(etcd_cluster(node, name, None)?);
        }
    }
    clusters.sort_by_key(|cluster| cluster.name != "main");
    Ok(clusters)
}

fn etcd_cluster(node: &Node<'_>, name: &str, entry: Option<&Yaml>) -> Result<EtcdCluster, Fault> {
    let provider = provider(node, entry)?;
    let stated = |key: &str| entry.and_then(|entry| entry.text_of(key));
    let version = stated("version").unwrap_or_else(|| default_version(node, provider));
    // kops pulls etcd from where it pulls the other images, so that a mirror of them serves it too.
    let image = stated("image").map_or_else(
        || format!("{}/etcd:{version}", registry(node)),
        str::to_owned,
    );
    let members = entry.map_or(&[][..], |entry| entry.items_of("etcdMembers"));
    Ok(EtcdCluster {
        name: name.to_owned(),
        members: members
            .iter()
            .map(|member| etcd_member(&node.cluster.source, member))
            .collect::<Result<_, _>>()?,
        version: version.to_owned(),
        image,
        provider,
        backup_store: entry.and_then(backup_store),
        manifest: None,
    })
}

/// Where etcd-manager keeps the backups. What is no location names nothing that could be looked into.
pub(super) fn backup_store(entry: &Yaml) -> Option<Location> {
    let store = entry.get("backups")?.text_of("backupStore")?;
    store.trim_end_matches('/').parse().ok()
}

/// The provider the cluster names, else etcd-manager where there are manifests for it.
fn provider(node: &Node<'_>, entry: Option<&Yaml>) -> Result<EtcdProvider, Fault> {
    let stated = entry.and_then(|entry| entry.get("provider"));
    match stated.and_then(Yaml::text) {
        Some("Manager") => Ok(EtcdProvider::Manager),
        Some("Legacy") => Ok(EtcdProvider::Legacy),
        None | Some("") => {
            let managed = entry.is_some_and(|entry| entry.get("manager").is_some());
            if managed || !node.environment.etcd_manifests.is_empty() {
                Ok(EtcdProvider::Manager)
            } else {
                Ok(EtcdProvider::Legacy)
            }
        }
        Some(other) => {
            let place = stated.unwrap_or(&node.cluster.spec);
            let summary = format!("is {other}, and should be Legacy or Manager");
            Err(node.unsupported(place, "etcdClusters.provider", &summary))
        }
    }
}

/// What kops defaults to (`pkg/model/components/etcd.go`, v1.15.3).
fn default_version(node: &Node<'_>, provider: EtcdProvider) -> &'static str {
    let managed = provider == EtcdProvider::Manager;
    if node.version.at_least(1, 14) {
        "3.3.10"
    } else if node.version.at_least(1, 13) || (managed && node.version.at_least(1, 11)) {
        "3.2.24"
    } else {
        "2.2.1"
    }
}

/// The registry of the cluster's other images: `gcr.io/google_containers` up to kops 1.8, then `k8s.gcr.io`,
/// or the operator's mirror.
fn registry<'a>(node: &Node<'a>) -> &'a str {
    ["kubeAPIServer", "kubeProxy"]
        .iter()
        .filter_map(|key| node.cluster.spec.get(key)?.text_of("image"))
        .find_map(|image| image.rsplit_once('/'))
        .map_or("k8s.gcr.io", |(registry, _)| registry)
}

/// The proxy variables kops gives the node's components (`util/pkg/proxy`, v1.15.3); none without a proxy host.
pub(super) fn lower_proxy(node: &Node<'_>) -> BTreeMap<String, String> {
    let Some(egress) = node.section("egressProxy") else {
        return BTreeMap::new();
    };
    let http = egress.get("httpProxy");
    let Some(host) = http.and_then(|http| http.text_of("host")) else {
        return BTreeMap::new();
    };
    let port = http.and_then(|http| http.text_of("port")).unwrap_or("0");
    let scheme = if host.contains("://") { "" } else { "http://" };
    let url = if port == "0" {
        format!("{scheme}{host}")
    } else {
        format!("{scheme}{host}:{port}")
    };
    let excludes = egress.text_of("excludes").unwrap_or_default().to_owned();
    BTreeMap::from([
        ("http_proxy".to_owned(), url.clone()),
        ("https_proxy".to_owned(), url),
        ("NO_PROXY".to_owned(), excludes.clone()),
        ("no_proxy".to_owned(), excludes),
    ])
}
