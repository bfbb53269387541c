//! What runs on the node, and how the cluster sees it.

use crate::facts::ProbeFacts;
use serde::{Deserialize, Serialize};

/// A component that was asked for its health.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeSeen {
    /// The component, such as `kubelet` or `kube-apiserver`.
    pub component: String,
    pub url: String,
    pub answer: ProbeFacts,
}

/// The container runtime.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RuntimeSeen {
    /// `containerd` or `docker`.
    pub name: String,
    /// Its version, where it answered.
    pub version: Option<String>,
    /// The version of its runc, where that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runc: Option<String>,
    /// Why it did not answer.
    pub error: Option<String>,
    /// The names of its images; `None` where they were not listed.
    pub images: Option<Vec<String>>,
    /// What is wrong with its configuration as it reads it, one line each.
    pub configuration_problems: Vec<String>,
    /// Its pods; `None` where they were not listed.
    pub pods: Option<Vec<PodSeen>>,
}

/// A container of a pod as the runtime shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSeen {
    pub namespace: String,
    pub name: String,
    pub container: String,
    pub image: String,
    /// Such as `running`, `exited` or `created`.
    pub state: String,
    /// How it ended, where it did.
    pub exit_code: Option<i32>,
    /// How often it was started again.
    pub restarts: u32,
    /// Why it is so, in the runtime's word: `OOMKilled`, `StartError`; empty where it says none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The last lines that it logged, oldest first, scrubbed; of one that ended, and of the cluster's own pods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// How its run before this one ended, where that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<PodEnd>,
}

/// How a run of a container ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodEnd {
    pub exit_code: Option<i32>,
    /// As [`PodSeen::reason`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The last lines that it logged, oldest first, scrubbed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

/// A pod that kubelet works on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodFound {
    pub namespace: String,
    pub name: String,
    /// The containers that were created for it at least once, each a word: before that, its image is pulled.
    pub created: Vec<String>,
}

/// Pods of this node as kubelet and the runtime show them, of those that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodsSeen {
    /// The pods that kubelet works on.
    pub pods: Vec<PodFound>,
    /// The last run of each container that was started at least once.
    pub containers: Vec<PodSeen>,
}

/// The node's object in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeObject {
    pub name: String,
    pub conditions: Vec<NodeCondition>,
    pub taints: Vec<TaintSeen>,
    /// Such as `aws:///us-west-2a/i-0abc`; empty until a cloud controller writes it.
    pub provider_id: String,
    /// kubelet's version as it registered.
    pub kubelet_version: String,
    /// The API server's version, where it was asked.
    pub server_version: String,
    /// How many pods it may run.
    pub pods: u32,
    /// The range that its pods get their addresses from; empty until a controller gives it one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pod_range: String,
}

/// A condition of the node's object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeCondition {
    /// Such as `Ready`.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Such as `KubeletNotReady`.
    pub reason: String,
    pub message: String,
}

/// A taint of the node's object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaintSeen {
    pub key: String,
    /// Its effect, such as `NoSchedule`.
    pub effect: String,
}
