//! What a step waits for.

use serde::Serialize;

/// Something that comes about by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    tag = "kind"
)]
pub enum Condition {
    /// The instance's own tags contain these keys, of which one is enough.
    OwnTags { any_of: Vec<String> },
    /// A component answers its health check.
    Healthy {
        /// The component, such as `kubelet`.
        component: String,
        url: String,
    },
    /// A CNI configuration is in the directory.
    CniConfigured { directory: String },
    /// A unit is active, and has been for a moment or shows that it lives.
    UnitActive {
        unit: String,
        /// Where its program answers once it lives.
        #[serde(skip_serializing_if = "Option::is_none")]
        healthz: Option<String>,
    },
    /// The container runtime answers over its socket.
    RuntimeAnswers {
        /// The runtime's word, such as `containerd`.
        runtime: String,
    },
    /// Every container of a pod that kubelet runs from a file is up.
    PodRuns {
        /// The pod's name in its manifest, without the node's.
        pod: String,
    },
    /// The API server knows the node.
    NodeRegistered {
        /// The node's name; empty where kubelet finds it itself.
        node: String,
        /// kubelet's kubeconfig, by which the API server is asked.
        kubeconfig: String,
    },
    /// The names that this boot published are so at every name server of their zone; one that is late is only remarked on.
    NamesInSync {
        /// The zone, as the operator names it.
        zone: String,
    },
    /// The configuration of the pod network that counts is the network's own, whoever writes it.
    PodNetwork {
        directory: String,
        /// The network's word, such as `cilium`; empty for one that nobody named.
        network: String,
    },
}

impl Condition {
    /// A short name for the condition.
    pub fn name(&self) -> String {
        match self {
            Self::OwnTags { .. } => "own-tags".to_owned(),
            Self::Healthy { component, .. } => component.clone(),
            Self::CniConfigured { .. } | Self::PodNetwork { .. } => "cni".to_owned(),
            Self::UnitActive { unit, .. } => unit.clone(),
            Self::RuntimeAnswers { runtime } => runtime.clone(),
            Self::PodRuns { pod } => format!("pod/{pod}"),
            Self::NodeRegistered { .. } => "node".to_owned(),
            Self::NamesInSync { zone } => format!("dns-in-sync/{zone}"),
        }
    }
}
