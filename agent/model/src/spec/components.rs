//! What runs on the node: runtime, kubelet and the static pods, each as image and flags.

use serde::Serialize;
use std::collections::BTreeMap;

/// One command-line flag, `--name=value`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Flag {
    pub name: String,
    /// The value as the program reads it.
    pub value: String,
}

impl Flag {
    /// Makes a flag.
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: value.into(),
        }
    }
}

impl std::fmt::Display for Flag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "--{}={}", self.name, self.value)
    }
}

/// A component that runs as a static pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Component {
    pub image: String,
    /// The flags the spec asks for, by the component's own names; sorted.
    pub flags: Vec<Flag>,
    /// CPU request, such as `100m`.
    pub cpu_request: Option<String>,
    pub cpu_limit: Option<String>,
    pub memory_request: Option<String>,
    pub memory_limit: Option<String>,
}

impl Component {
    /// The value of the flag called `name`.
    pub fn flag(&self, name: &str) -> Option<&str> {
        self.flags
            .iter()
            .find(|flag| flag.name == name)
            .map(|flag| flag.value.as_str())
    }
}

/// The three components that make a node a control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ControlPlane {
    pub api_server: Component,
    pub controller_manager: Component,
    pub scheduler: Component,
    /// Whether secrets are encrypted at rest, from `encryptionConfig`.
    pub encryption_config: bool,
    /// The API server's name inside the cluster's network, `api.internal.<cluster>`.
    pub internal_name: String,
    /// The API server's public name, where it is published in DNS.
    pub public_name: Option<String>,
}

/// kubelet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kubelet {
    /// The flags the spec asks for; sorted. Labels and taints are not among them.
    pub flags: Vec<Flag>,
    /// Labels the node registers with.
    pub labels: BTreeMap<String, String>,
    /// Taints the node registers with, `key=value:Effect`, in the order of the spec.
    pub taints: Vec<String>,
    /// One more, `key=value:Effect`, which goes once the node is ready for pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_taint: Option<String>,
    pub kubeconfig_path: String,
    /// Where it reads static pods.
    pub manifest_path: String,
}

impl Kubelet {
    /// The value of the flag called `name`.
    pub fn flag(&self, name: &str) -> Option<&str> {
        self.flags
            .iter()
            .find(|flag| flag.name == name)
            .map(|flag| flag.value.as_str())
    }
}

/// docker as the container runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DockerRuntime {
    /// The version asked for, such as `1.13.1`.
    pub version: Option<String>,
    /// The daemon's flags; sorted. `storage-driver` may list several in order of preference.
    pub flags: Vec<Flag>,
}

/// The container runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum Runtime {
    Docker(DockerRuntime),
    Containerd { version: Option<String> },
}

/// A file the cluster spec asks for on the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileAsset {
    /// Its name in the spec.
    pub name: String,
    pub path: String,
    pub content: String,
}

/// What a hook runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookKind {
    /// The `[Service]` section of a unit, or a whole unit file when `raw`.
    Manifest {
        text: String,
        /// Whether the text is a whole unit file.
        raw: bool,
    },
    Container {
        image: String,
        command: Vec<String>,
        environment: BTreeMap<String, String>,
    },
}

/// A unit the spec asks to run around the node's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hook {
    /// The unit's name, with its suffix.
    pub unit: String,
    pub before: Vec<String>,
    pub requires: Vec<String>,
    pub kind: HookKind,
}
