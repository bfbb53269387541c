//! The cluster around the node: the pod network.

use super::node::Node;
use quake_formats::yaml::Yaml;
use quake_model::fault::Fault;
use quake_model::spec::{NetworkMode, Networking, Role};

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
