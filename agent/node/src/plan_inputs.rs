//! What is known when a phase is planned: facts read by this phase and by those before it.

use quake_model::digest::Digest;
use quake_model::facts::{InstanceFacts, NetworkFacts, OsFacts};
use quake_model::redact::Secret;
use quake_model::spec::ImageSpec;
use quake_volumes::MountedSlot;
use std::collections::BTreeMap;

/// A certificate and its key, PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keypair {
    /// The certificate, or the bundle of several.
    pub certificate: String,
    /// The private key; `None` where the node may not have it, as with the cluster's CA on a worker.
    pub key: Option<Secret<String>>,
}

/// Keys, certificates and tokens of the node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credentials {
    /// Keypairs by their name in the state store, such as `ca` or `kubelet`.
    pub keypairs: BTreeMap<String, Keypair>,
    /// Secrets by their name in the state store, such as `kube` or `encryptionconfig`.
    pub secrets: BTreeMap<String, Secret<Vec<u8>>>,
}

/// A static pod of etcd-manager, as the state store holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdManifest {
    /// The object's base name without its suffix: the etcd cluster, such as `main`.
    pub name: String,
    /// The object's bytes.
    pub contents: Vec<u8>,
}

/// Facts a planner may use. Those of later phases are empty while an earlier one is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanInputs {
    pub instance: InstanceFacts,
    pub os: OsFacts,
    pub network: NetworkFacts,
    /// Filesystem types the kernel knows, for the runtime's storage driver.
    pub filesystems: Vec<String>,
    /// Base names of the files in each archive of the store.
    pub members: BTreeMap<Digest, Vec<String>>,
    /// Archives of container images that a seed left in the store.
    pub images: Vec<ImageSpec>,
    /// etcd members this node runs.
    pub slots: Vec<MountedSlot>,
    pub credentials: Credentials,
    /// The manifests of etcd-manager that kops legacy (1.8 to 1.15) keeps in the state store.
    pub etcd_manifests: Vec<EtcdManifest>,
}
