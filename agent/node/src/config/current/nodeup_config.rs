//! `nodeupconfig.yaml`: everything the cluster asks of a node of one instance group.

use super::SCHEMA;
use super::asset::{read_assets, read_images};
use super::network::{Network, read_network};
use super::section::Section;
use crate::config::reader::{location, missing, text_map, texts};
use crate::config::validate::{self, tolerate, validate};
use quake_formats::yaml::{Yaml, parse};
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::spec::{AssetSpec, ImageSpec, KubernetesVersion};
use std::collections::BTreeMap;

/// What the nodeup configuration says, for a node of one processor. Sections that become flags or another program's
/// configuration stay sections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeupConfig {
    /// The file name or URL it was read from.
    pub source: String,
    pub cluster: String,
    pub kubernetes: KubernetesVersion,
    /// Pinned files for this processor, in order.
    pub assets: Vec<AssetSpec>,
    /// Archives of container images for this processor.
    pub images: Vec<ImageSpec>,
    /// Packages beside those the node needs anyway.
    pub packages: Vec<String>,
    /// Where keys and secrets are, for a node that reads them itself.
    pub stores: Option<Stores>,
    /// CAs to trust, PEM bundles by name.
    pub ca_bundle: BTreeMap<String, String>,
    /// Which generation of each keyset signs, by the keyset's name.
    pub keypair_ids: BTreeMap<String, String>,
    pub etcd_clusters: Vec<String>,
    /// Pods of etcd-manager in the state store.
    pub etcd_manifests: Vec<Location>,
    /// The pod that applies add-ons, in the state store.
    pub channels_manifest: Option<Location>,
    /// The lists of add-ons, where kops before 1.36 has protokube apply them.
    pub channels: Vec<String>,
    /// Other static pods: key, and path below the state store's base.
    pub static_manifests: Vec<StaticManifest>,
    /// Addresses the API server's certificate must have, too.
    pub api_server_additional_ips: Vec<String>,
    /// `KubeletConfig`.
    pub kubelet: Section,
    /// `KubeProxy`, unless kube-proxy is turned off.
    pub kube_proxy: Option<Section>,
    /// `containerdConfig`.
    pub containerd: Section,
    /// `APIServerConfig`, on nodes with an API server.
    pub api_server: Option<Section>,
    /// `ControlPlaneConfig`, on the control plane.
    pub control_plane: Option<Section>,
    pub network: Network,
    /// `NvidiaGPU`.
    pub nvidia: Option<Section>,
    /// `GVisor`.
    pub gvisor: Option<Section>,
    /// Volumes that are formatted and mounted.
    pub volume_mounts: Vec<Section>,
    /// Files of the cluster and the instance group, the group's first.
    pub file_assets: Vec<Section>,
    /// Hooks of the instance group.
    pub group_hooks: Vec<Section>,
    pub cluster_hooks: Vec<Section>,
    /// The whole document, for keys that are one value each.
    pub whole: Section,
}

/// Where keys and secrets are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stores {
    pub keypairs: Location,
    pub secrets: Location,
}

/// A static pod that the cluster brings ready-made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticManifest {
    /// What it is, such as `kube-apiserver-healthcheck`.
    pub key: String,
    /// Its path below the state store's base.
    pub path: String,
}

impl NodeupConfig {
    /// The pod called `key`.
    pub fn static_manifest(&self, key: &str) -> Option<&StaticManifest> {
        self.static_manifests.iter().find(|pod| pod.key == key)
    }

    /// Whether the cluster has no DNS of its own.
    pub fn has_no_dns(&self) -> bool {
        self.whole.is_set("usesNoneDNS")
    }

    /// Whether security updates are installed by the node itself.
    pub fn installs_updates(&self) -> bool {
        self.whole.text("UpdatePolicy") != Some("external")
    }
}

/// Reads the nodeup configuration for a node whose processor kops calls `processor`, `amd64` or `arm64`; the faults
/// beside it are findings that stop nothing.
///
/// # Errors
///
/// `config.yaml-syntax`, `config.yaml-too-large`, `config.wrong-type`; `config.missing-key` for the cluster's name and
/// the Kubernetes version; `config.location-unusable`, `config.digest-refused`, `config.asset-malformed`,
/// `config.unsupported`. Each with `source`, line and column.
pub fn read_nodeup_config(
    source: &str,
    text: &str,
    processor: &str,
) -> Result<(NodeupConfig, Vec<Fault>), Fault> {
    let root = parse(source, text)?;
    let mut findings = tolerate(validate(&SCHEMA, source, &root, "NodeupConfig"))?;
    let reader = Reader {
        source,
        root: &root,
    };
    findings.extend(reader.unregistered());
    Ok((reader.read(processor)?, findings))
}

/// Everything wrong with a nodeup configuration that was read as YAML, errors and findings alike.
pub(super) fn survey(source: &str, root: &Yaml) -> Vec<Fault> {
    let reader = Reader { source, root };
    let read = || reader.read("amd64");
    validate::survey((&SCHEMA, "NodeupConfig"), source, root, read)
}

struct Reader<'a> {
    source: &'a str,
    root: &'a Yaml,
}

impl Reader<'_> {
    fn read(&self, processor: &str) -> Result<NodeupConfig, Fault> {
        let (source, root) = (self.source, self.root);
        let whole = Section::new("NodeupConfig", root);
        // Hooks of the instance group, then those of the cluster; either may be null.
        let hooks = root.items_of("Hooks");
        let [group_hooks, cluster_hooks] =
            [0, 1].map(|at| whole.sections_in("Hooks", hooks.get(at).map_or(&[], Yaml::items)));
        Ok(NodeupConfig {
            source: source.to_owned(),
            cluster: self.required("ClusterName")?.to_owned(),
            kubernetes: self.version()?,
            assets: read_assets(source, root, processor)?,
            images: read_images(source, root, processor)?,
            packages: texts(root, "packages"),
            stores: self.stores()?,
            ca_bundle: self.map("CAs"),
            keypair_ids: self.map("KeypairIDs"),
            etcd_clusters: texts(root, "EtcdClusterNames"),
            etcd_manifests: self.locations("etcdManifests")?,
            channels_manifest: self.location(root, "channelsManifest")?,
            channels: texts(root, "channels"),
            static_manifests: self.static_manifests(),
            api_server_additional_ips: texts(root, "ApiserverAdditionalIPs"),
            kubelet: whole.section_or_empty("KubeletConfig"),
            kube_proxy: whole
                .section("KubeProxy")
                .filter(|proxy| proxy.boolean("enabled") != Some(false)),
            containerd: whole.section_or_empty("containerdConfig"),
            api_server: whole.section("APIServerConfig"),
            control_plane: whole.section("ControlPlaneConfig"),
            network: read_network(root),
            nvidia: whole.section("NvidiaGPU"),
            gvisor: whole.section("GVisor"),
            volume_mounts: whole.sections("VolumeMounts"),
            file_assets: whole.sections("FileAssets"),
            group_hooks,
            cluster_hooks,
            whole,
        })
    }

    /// What is asked for and not done, though the node serves without it.
    fn unregistered(&self) -> Option<Fault> {
        const KEY: &str = "discoveryServiceWithUniverse";
        let service = self.root.get(KEY)?.text_of("url")?;
        let summary = format!(
            "{KEY}: the keys of service accounts are not registered with {service} by this agent"
        );
        let fault = self
            .root
            .fault(self.source, Code::ConfigUnsupported, summary);
        Some(fault.seen("path", KEY).remedied_by(
            "register the cluster's JWKS with the discovery service by other means, or let nodeup run on this instance group",
        ))
    }

    fn required(&self, key: &str) -> Result<&str, Fault> {
        let text = self.root.text_of(key);
        text.ok_or_else(|| missing(self.source, self.root, key))
    }

    fn version(&self) -> Result<KubernetesVersion, Fault> {
        const KEY: &str = "KubernetesVersion";
        let text = self.required(KEY)?;
        text.parse().map_err(|_| {
            let node = self.root.get(KEY).unwrap_or(self.root);
            let summary = format!("{text:?} is not a Kubernetes version");
            node.fault(self.source, Code::ConfigWrongType, summary)
                .seen("path", KEY)
        })
    }

    fn map(&self, key: &str) -> BTreeMap<String, String> {
        self.root.get(key).map(text_map).unwrap_or_default()
    }

    fn location(&self, parent: &Yaml, key: &str) -> Result<Option<Location>, Fault> {
        let node = parent.get(key).filter(|node| !node.is_empty());
        node.map(|node| location(self.source, node)).transpose()
    }

    fn locations(&self, key: &str) -> Result<Vec<Location>, Fault> {
        let items = self.root.items_of(key).iter();
        items.map(|node| location(self.source, node)).collect()
    }

    fn stores(&self) -> Result<Option<Stores>, Fault> {
        let Some(store) = self.root.get("configStore") else {
            return Ok(None);
        };
        let keypairs = self.location(store, "keypairs")?;
        let secrets = self.location(store, "secrets")?;
        Ok(keypairs
            .zip(secrets)
            .map(|(keypairs, secrets)| Stores { keypairs, secrets }))
    }

    fn static_manifests(&self) -> Vec<StaticManifest> {
        let items = self.root.items_of("staticManifests").iter();
        let read = |item: &Yaml| {
            Some(StaticManifest {
                key: item.text_of("key")?.to_owned(),
                path: item.text_of("path")?.to_owned(),
            })
        };
        items.filter_map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_that_is_not_done_is_said() {
        let keys = "ClusterName: c.example.com\nKubernetesVersion: 1.35.0\n";
        let text =
            format!("{keys}discoveryServiceWithUniverse:\n  url: https://discovery.example.com\n");
        let (_, findings) = read_nodeup_config("n.yaml", &text, "amd64").expect("it reads");
        let [fault] = &findings[..] else {
            panic!("{findings:?}")
        };
        assert_eq!(fault.code, Code::ConfigUnsupported);
        assert!(fault.summary.contains("discovery.example.com"), "{fault:?}");
        let (_, findings) = read_nodeup_config("n.yaml", keys, "amd64").expect("it reads");
        assert_eq!(findings, []);
    }
}
