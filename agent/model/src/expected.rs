//! What a node is expected to have once it is booted, without secrets: the part of the spec that can be compared with
//! the machine later, by someone who has neither the state store nor the user data.

use crate::spec::KopsGeneration;
use serde::{Deserialize, Serialize};

/// What a node is expected to have. Fields that an older agent did not write are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Expected {
    /// Which kops wrote the configuration.
    #[serde(rename = "kopsGeneration", alias = "dialect")]
    pub generation: Option<KopsGeneration>,
    /// The name kubelet registers the node with; empty where kubelet finds it itself.
    pub node_name: String,
    /// Where the cluster's objects are in the state store.
    pub config_base: String,
    /// kops-controller's URLs, for a node that asks it for its configuration and its certificates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bootstrap_servers: Vec<String>,
    /// The container runtime's word, `docker` or `containerd`.
    pub runtime: String,
    /// The units that the node cannot do without.
    pub units: Vec<String>,
    /// The hosts of the API server, the one kubelet uses first.
    pub api_servers: Vec<String>,
    /// Names that must resolve before kubelet can register.
    pub names: Vec<String>,
    /// Names that a control plane publishes: of each entry one or more are to lead to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<ExpectedNames>,
    pub network: ExpectedNetwork,
    /// kubelet's flags that are compared with the machine, as `name=value`.
    pub kubelet_flags: Vec<String>,
    pub kubeconfig: String,
    /// Static pods that are to run here, by component.
    pub static_pods: Vec<String>,
    /// Where kubelet reads static pods.
    pub manifest_directory: String,
    /// Health checks of components on this node: the component, a blank, the URL.
    pub probes: Vec<String>,
    pub etcd: Vec<ExpectedMember>,
    pub assets: Vec<ExpectedAsset>,
    /// Where etcd's backups are, by etcd cluster.
    pub backups: Vec<String>,
    /// Hosts that a proxy must not stand before.
    pub no_proxy: Vec<String>,
    /// Whether a proxy is asked for.
    pub proxied: bool,
}

impl Expected {
    /// Whether kops (1.32 and newer) wrote the configuration.
    pub fn is_of_current_kops(&self) -> bool {
        self.generation == Some(KopsGeneration::Current)
    }

    /// Whether kops legacy (1.8 to 1.15) wrote the configuration.
    pub fn is_of_legacy_kops(&self) -> bool {
        self.generation == Some(KopsGeneration::Legacy)
    }
}

/// Names of which at least one leads to this node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExpectedNames {
    /// The names: one, or those of all members of an etcd cluster, of which a node runs one.
    pub any_of: Vec<String>,
}

/// The pod network that is expected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExpectedNetwork {
    /// Its word in the spec, such as `calico`.
    pub name: String,
    /// Who writes its configuration: `agent`, `runtime` (from a template) or `daemon-set`.
    pub writer: String,
    pub directory: String,
    pub plugins: String,
    /// The files that the agent writes in that directory.
    pub files: Vec<String>,
}

/// A member of an etcd cluster that runs on this node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExpectedMember {
    /// The etcd cluster, such as `main`.
    pub cluster: String,
    /// The members of that cluster, in the spec's order.
    pub members: Vec<String>,
    /// The instance groups that run them, in the same order; empty where the spec does not say.
    pub groups: Vec<String>,
    /// The names under which the members reach each other, in the same order; empty where nobody knows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The ports on which the members reach each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub peer_ports: Vec<u16>,
    /// The static pod that runs the member, and is held back until its volume is mounted; `None` where no pod is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<ExpectedPod>,
    /// How the member is asked; `None` where only its health is, without a certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ExpectedClient>,
}

/// A static pod that is expected once its volume is mounted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExpectedPod {
    /// Its name, without the node's.
    pub name: String,
    pub manifest: String,
}

/// How a member of etcd is asked. The files are the node's own; what is in them is not here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExpectedClient {
    /// The port on which members answer clients.
    pub port: u16,
    pub certificate: String,
    pub key: String,
    /// The path of the CA that signs the members' certificates.
    pub ca: String,
}

impl ExpectedClient {
    /// The URL of the member on this node.
    pub fn url(&self) -> String {
        self.url_at("127.0.0.1")
    }

    /// The URL of the member on another host.
    pub fn url_at(&self, host: &str) -> String {
        format!("https://{host}:{}", self.port)
    }
}

/// A pinned file that is expected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExpectedAsset {
    /// Its name, such as `kubelet`.
    pub name: String,
    /// Its digest, `sha256:…`.
    pub digest: String,
    /// The hosts of its mirrors, in their order.
    pub hosts: Vec<String>,
    /// Where it is placed; empty where it is unpacked or imported.
    pub paths: Vec<String>,
}
