//! The cluster around the node: etcd and networking.

use crate::location::Location;
use serde::Serialize;

/// Who makes and runs etcd's pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EtcdProvider {
    /// The agent writes etcd's static pods itself, as protokube did.
    Legacy,
    /// etcd-manager does, from a manifest in the state store.
    #[default]
    Manager,
}

/// One member of an etcd cluster, as the cluster spec names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EtcdMember {
    /// The member's short name, such as `a`.
    pub name: String,
    /// The instance group that runs it, where the spec says so.
    pub instance_group: Option<String>,
    /// Whether its volume must be encrypted.
    pub encrypted: bool,
}

/// One etcd cluster: `main` or `events`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct EtcdCluster {
    /// `main`, `events`, …
    pub name: String,
    /// The members; empty where only the digest of the spec in user data is known.
    pub members: Vec<EtcdMember>,
    /// The etcd version, such as `2.2.1`.
    pub version: String,
    pub image: String,
    pub provider: EtcdProvider,
    /// Where its backups are, if not below the cluster's own objects.
    pub backup_store: Option<Location>,
    /// The path of the static pod that runs it, where that manifest is written only once the member's volume is mounted.
    /// `None` where the manifest is written with the node's other files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
}

/// How pods get their network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkMode {
    /// kubelet's own bridge network; the agent writes an equivalent CNI configuration.
    Kubenet,
    /// A networking add-on other than CNI programs routes; kubelet bridges as with kubenet.
    External,
    /// A CNI plugin whose configuration a DaemonSet writes later.
    Cni {
        /// The networking option, such as `calico`; empty where only `cni` is known.
        provider: String,
    },
}

/// The pod network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Networking {
    /// How pods get their network.
    pub mode: NetworkMode,
    /// MTU of the pod bridge in bytes, where the spec gives one.
    pub mtu: Option<u32>,
    /// The range of all pods, such as `100.96.0.0/11`.
    pub cluster_cidr: Option<String>,
    /// The range not masqueraded, such as `100.64.0.0/10`.
    pub non_masquerade_cidr: Option<String>,
    /// The node's own pod range where the spec fixes it (`podCIDR`).
    pub pod_cidr: Option<String>,
    pub service_cidr: Option<String>,
    /// Ports kept free for NodePort services, such as `30000-32767`.
    pub node_port_range: Option<String>,
}
