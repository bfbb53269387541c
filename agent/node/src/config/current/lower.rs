//! Lowers the configuration to the one normal form, for everybody who asks what the node is: status, `expected`, diagnose.
//! What the node is to have is in its items.

use super::boot_config::{BootConfig, Origin};
use super::network::Provider;
use super::nodeup_config::NodeupConfig;
use super::section::Section;
use crate::config::reader::{kubelet_paths, texts, texts_by_key};
use quake_model::item::Item;
use quake_model::location::Location;
use quake_model::spec::{
    ControlPlane, KopsGeneration, Kubelet, NetworkMode, Networking, NodeSpec, Role, Runtime,
};
use std::collections::BTreeMap;

/// The node's spec. A node that asks kops-controller knows of no state store, and its base is the machine's own root.
pub fn lower(boot: &BootConfig, config: &NodeupConfig, items: Vec<Item>) -> NodeSpec {
    let config_base = match &boot.origin {
        Origin::Store(base) => base.clone(),
        Origin::Server(_) | Origin::Nowhere => Location::file("/"),
    };
    let bootstrap_servers = match &boot.origin {
        Origin::Server(server) => server.servers.clone(),
        Origin::Store(_) | Origin::Nowhere => Vec::new(),
    };
    NodeSpec {
        bootstrap_servers,
        generation: KopsGeneration::Current,
        cluster: boot.cluster.clone(),
        instance_group: boot.instance_group.clone(),
        role: boot.role,
        kubernetes: config.kubernetes,
        config_base,
        assets: config.assets.clone(),
        images: config.images.clone(),
        channels: Vec::new(),
        addons_pod: None,
        node_object: None,
        etcd_manifests: config.etcd_manifests.clone(),
        runtime: Runtime::Containerd {
            version: config.containerd.text("version").map(str::to_owned),
        },
        kubelet: kubelet(&config.kubelet),
        kube_proxy: config.kube_proxy.as_ref().map(Section::component),
        control_plane: control_plane(boot, config),
        // They follow from objects of the state store.
        etcd: Vec::new(),
        names: None,
        networking: networking(config),
        cloud_config: None,
        proxy: BTreeMap::new(),
        file_assets: Vec::new(),
        hooks: Vec::new(),
        automatic_upgrades: config.installs_updates(),
        items,
        start_conditions: Vec::new(),
        ready_conditions: Vec::new(),
    }
}

fn kubelet(section: &Section) -> Kubelet {
    let node = section.node();
    let (kubeconfig_path, manifest_path) = kubelet_paths(node);
    Kubelet {
        flags: section.flags(),
        labels: texts_by_key(node, "nodeLabels"),
        taints: texts(node, "taints"),
        startup_taint: None,
        kubeconfig_path,
        manifest_path,
    }
}

/// The control plane; `None` for a node with an API server alone, of which the normal form knows nothing.
fn control_plane(boot: &BootConfig, config: &NodeupConfig) -> Option<ControlPlane> {
    if boot.role != Role::ControlPlane {
        return None;
    }
    let part = |section: Option<&Section>, key: &str| {
        let section = section.and_then(|section| section.section(key));
        section.as_ref().map(Section::component)
    };
    let api = config.api_server.as_ref();
    let control = config.control_plane.as_ref();
    Some(ControlPlane {
        api_server: part(api, "KubeAPIServer")?,
        controller_manager: part(control, "KubeControllerManager")?,
        scheduler: part(control, "KubeScheduler")?,
        encryption_config: api.is_some_and(|api| api.has("EncryptionConfigSecretHash")),
        internal_name: format!("api.internal.{}", boot.cluster),
        public_name: None,
    })
}

fn networking(config: &NodeupConfig) -> Networking {
    let named = |provider: &str| NetworkMode::Cni {
        provider: provider.to_owned(),
    };
    let mode = match &config.network.provider {
        Provider::Unnamed if config.network.uses_kubenet => NetworkMode::Kubenet,
        Provider::Unnamed | Provider::Cni { .. } => named(""),
        Provider::AmazonVpc => named("amazonvpc"),
        Provider::Calico { .. } => named("calico"),
        Provider::Cilium { .. } => named("cilium"),
        Provider::Flannel => named("flannel"),
        Provider::KubeRouter => named("kuberouter"),
        Provider::Kindnet => named("kindnet"),
    };
    let cluster_cidr = config.kube_proxy.as_ref();
    let cluster_cidr = cluster_cidr.and_then(|proxy| proxy.text("clusterCIDR"));
    Networking {
        mode,
        mtu: None,
        cluster_cidr: cluster_cidr.map(str::to_owned),
        non_masquerade_cidr: config.network.non_masquerade_cidr.clone(),
        pod_cidr: None,
        service_cidr: config.network.service_cidr.clone(),
        node_port_range: config.whole.text("ServiceNodePortRange").map(str::to_owned),
    }
}
