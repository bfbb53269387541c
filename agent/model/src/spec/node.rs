//! The node in one normal form.

use super::{
    AssetSpec, Component, ControlPlane, EtcdCluster, FileAsset, Hook, ImageSpec, InternalNames,
    Kubelet, Networking, Runtime,
};
use crate::item::{File, Item, Unit};
use crate::location::Location;
use crate::step::Condition;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

words! {
    /// Which kops wrote the configuration. Builds before 0.1 wrote `kube_env` and `kops`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    KopsGeneration {
        /// kops legacy (1.8 to 1.15): `kube_env.yaml`, `cluster.spec`, `instancegroup/<name>`.
        #[serde(alias = "kube_env")]
        Legacy = "legacy",
        /// kops (1.32 and newer): `BootConfig` and `nodeupconfig.yaml`.
        #[serde(alias = "kops")]
        Current = "current",
    }
}

words! {
    /// What the node is in its cluster.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    Role {
        /// Runs the API server, the controllers and etcd.
        ControlPlane = "control-plane",
        Worker = "worker",
        /// Runs an API server without etcd.
        ApiServer = "api-server",
        /// Runs no part of the cluster.
        Bastion = "bastion",
    }
}

/// A Kubernetes version; ordered by its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct KubernetesVersion {
    /// Major number, always 1 so far.
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl KubernetesVersion {
    /// Whether this is `major.minor` or newer.
    pub fn at_least(self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The text is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a Kubernetes version")]
pub struct VersionError {
    text: String,
}

impl FromStr for KubernetesVersion {
    type Err = VersionError;

    /// Reads `1.8.7`, `v1.8.7`, `1.8` and `1.9.0-beta.1` (whose suffix is left out).
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let error = || VersionError {
            text: text.to_owned(),
        };
        let numbers = text
            .trim_start_matches('v')
            .split(['-', '+'])
            .next()
            .unwrap_or_default();
        let mut parts = numbers
            .split('.')
            .map(|part| part.parse::<u32>().map_err(|_| error()));
        let major = parts.next().ok_or_else(error)??;
        let minor = parts.next().ok_or_else(error)??;
        let patch = parts.next().transpose()?.unwrap_or_default();
        Ok(Self {
            major,
            minor,
            patch,
        })
    }
}

/// A pod of kops's that applies the cluster's add-ons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AddonsPod {
    /// Its name: `kops-channels`, or `protokube` before kops had that.
    pub name: String,
    /// The URL at which it tells whether it is well; `None` for one that does not.
    pub health: Option<String>,
    /// The labels that it is told to give the node it runs on, beside those of every control plane.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// What the agent sets in the node's object in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeObjectSpec {
    pub labels: BTreeMap<String, String>,
    /// Each as `key=value:Effect` or `key:Effect`.
    pub taints: Vec<String>,
    /// Whether the object has the id of AWS's cloud provider.
    pub has_provider_id: bool,
    /// Whether the agent grants the node's components their access, because nobody else does.
    pub grants_access: bool,
}

/// What this node is to be: everything asked for, in one form whichever kops wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeSpec {
    /// The front end it came from.
    pub generation: KopsGeneration,
    /// The cluster's name, a DNS name.
    pub cluster: String,
    pub instance_group: String,
    /// What the node is in its cluster.
    pub role: Role,
    /// kops-controller's URLs, for a node that asks it for its configuration; empty for all others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bootstrap_servers: Vec<String>,
    /// The Kubernetes version, from the cluster spec or the kubelet's URL.
    pub kubernetes: KubernetesVersion,
    /// Where the cluster's objects are in the state store.
    pub config_base: Location,
    /// Pinned files, in the order of the spec.
    pub assets: Vec<AssetSpec>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageSpec>,
    /// Add-on channels in the state store.
    pub channels: Vec<String>,
    /// The pod that applies the add-ons of the channels; `None` where the agent does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addons_pod: Option<AddonsPod>,
    /// What the agent sets in the node's object; `None` where kubelet or a pod of kops does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_object: Option<NodeObjectSpec>,
    /// etcd-manager's static pods in the state store; empty unless etcd-manager runs etcd.
    pub etcd_manifests: Vec<Location>,
    pub runtime: Runtime,
    pub kubelet: Kubelet,
    /// kube-proxy, unless it is turned off.
    pub kube_proxy: Option<Component>,
    /// The control plane, on its nodes only.
    pub control_plane: Option<ControlPlane>,
    /// etcd's clusters, `main` first; empty on workers.
    pub etcd: Vec<EtcdCluster>,
    /// The names that a control plane publishes; `None` on all other nodes, and where nothing says where to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<InternalNames>,
    pub networking: Networking,
    /// The cloud provider's configuration file, where the spec has one.
    pub cloud_config: Option<BTreeMap<String, String>>,
    /// Proxy variables for the node's components.
    pub proxy: BTreeMap<String, String>,
    pub file_assets: Vec<FileAsset>,
    pub hooks: Vec<Hook>,
    /// Whether the node installs security updates by itself.
    pub automatic_upgrades: bool,
    /// What the node must have, item by item. Front ends leave it empty, and builders fill it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
    /// What must hold before any unit starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub start_conditions: Vec<Condition>,
    /// What must hold before the node is ready, in the order in which one thing needs another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ready_conditions: Vec<Condition>,
}

impl NodeSpec {
    /// Whether etcd's pods are kept out of kubelet's directory until their volumes are mounted, so that the rest of the
    /// node need not wait for the volumes.
    pub fn holds_etcd_back(&self) -> bool {
        self.etcd.iter().any(|cluster| cluster.manifest.is_some())
    }

    /// The files that are items of their own.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.items.iter().filter_map(Item::file)
    }

    /// The file at `path`, if it is an item of its own.
    pub fn file_at(&self, path: &str) -> Option<&File> {
        self.files().find(|file| file.path == path)
    }

    /// The units that the node must have.
    pub fn units(&self) -> impl Iterator<Item = &Unit> {
        self.items.iter().filter_map(Item::unit)
    }

    /// Whether the node runs the control plane and etcd.
    pub fn is_control_plane(&self) -> bool {
        self.role == Role::ControlPlane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_and_without_their_ornaments() {
        for (text, wanted) in [
            ("v1.8.7", "1.8.7"),
            ("1.9.0-beta.1", "1.9.0"),
            ("1.15", "1.15.0"),
        ] {
            let version: KubernetesVersion = text.parse().expect("a literal");
            assert_eq!(version.to_string(), wanted);
        }
    }

    #[test]
    fn a_minor_version_is_compared_as_a_number() {
        let version: KubernetesVersion = "1.10.3".parse().expect("a literal");
        assert!(version.at_least(1, 9) && !version.at_least(1, 11));
    }
}
