//! The pod network, as the nodeup configuration tells it.

use crate::config::EgressProxy;
use quake_formats::yaml::Yaml;

/// The pod network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    pub provider: Provider,
    /// The range that is not masqueraded; `::/0` in a cluster of IPv6 alone.
    pub non_masquerade_cidr: Option<String>,
    pub service_cidr: Option<String>,
    /// Whether containerd itself gives pods their addresses.
    pub uses_kubenet: bool,
    /// Whether the pinned CNI plugins are installed.
    pub installs_plugins: bool,
    pub has_cilium_etcd: bool,
    /// The proxy that leaves the cluster's network.
    pub egress_proxy: Option<EgressProxy>,
}

/// What makes the pod network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    /// None is named: kubenet, or add-ons that need nothing of the node.
    Unnamed,
    AmazonVpc,
    Calico {
        /// Whether its traffic is encrypted, where that is said.
        wireguard: Option<bool>,
    },
    Cilium {
        /// Whether pods get addresses of the instance's own interfaces.
        eni: bool,
    },
    /// An add-on of the operator's.
    Cni {
        /// Whether it attaches interfaces of its own to the instance.
        secondary_ip: bool,
    },
    Flannel,
    KubeRouter,
    Kindnet,
}

/// Reads the pod network from the whole configuration.
pub(super) fn read_network(root: &Yaml) -> Network {
    let networking = root.get("Networking");
    let text = |key: &str| {
        let networking = networking?;
        networking.text_of(key).map(str::to_owned)
    };
    let is_set = |key: &str| root.boolean_of(key) == Some(true);
    Network {
        provider: networking.map_or(Provider::Unnamed, provider),
        non_masquerade_cidr: text("nonMasqueradeCIDR"),
        service_cidr: text("serviceClusterIPRange"),
        uses_kubenet: is_set("UsesKubenet"),
        installs_plugins: is_set("InstallCNIAssets"),
        has_cilium_etcd: is_set("UseCiliumEtcd"),
        egress_proxy: networking.and_then(EgressProxy::of_section),
    }
}

fn provider(networking: &Yaml) -> Provider {
    if networking.get("amazonVPC").is_some() {
        return Provider::AmazonVpc;
    }
    if let Some(calico) = networking.get("calico") {
        let wireguard = calico.boolean_of("wireguardEnabled");
        return Provider::Calico { wireguard };
    }
    if let Some(cilium) = networking.get("cilium") {
        let eni = cilium.text_of("ipam") == Some("eni");
        return Provider::Cilium { eni };
    }
    if let Some(cni) = networking.get("cni") {
        let secondary_ip = cni.boolean_of("usesSecondaryIP") == Some(true);
        return Provider::Cni { secondary_ip };
    }
    let named = [
        ("flannel", Provider::Flannel),
        ("kubeRouter", Provider::KubeRouter),
        ("kindnet", Provider::Kindnet),
    ];
    let found = named
        .into_iter()
        .find(|(key, _)| networking.get(key).is_some());
    found.map_or(Provider::Unnamed, |(_, provider)| provider)
}
