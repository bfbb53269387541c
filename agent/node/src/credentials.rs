//! Which keys, certificates and tokens a node needs. Fetching them is the engine's; where they go is the
//! files phase's.

use quake_model::spec::{EtcdProvider, NodeSpec};
use quake_model::step::Need;

/// The keypair the API server shows to an etcd that etcd-manager runs with TLS. It is in no state store: the
/// control plane issues it for itself, signed by [`ETCD_CLIENTS_CA`]. Where it is known, the API server uses it.
pub const ETCD_CLIENT: &str = "kube-apiserver-etcd-client";

/// The CA that signs etcd's clients, where etcd-manager runs etcd.
pub const ETCD_CLIENTS_CA: &str = "etcd-clients-ca";

/// Names of the secrets that are tokens of the API server's static token file, as kops made them until its
/// tokens were retired (`pkg/tokens`, kops 1.15).
pub const TOKENS: &[&str] = &[
    "admin",
    "kube",
    "kube-proxy",
    "kubelet",
    "system:controller_manager",
    "system:dns",
    "system:logging",
    "system:monitoring",
    "system:scheduler",
];

/// The directories of a cluster that may have the bundle of a keypair, in the order in which they are read. Whoever needs no key
/// reads nothing where keys are, and may not be allowed to.
pub const fn bundle_places(with_key: bool) -> &'static [&'static str] {
    match with_key {
        true => &["pki/private", "pki/issued"],
        false => &["pki/issued"],
    }
}

/// Where certificates are that have one object for each serial, as the first versions of kops kept them, and how their names end.
pub const SERIAL_CERTIFICATES: (&str, &str) = ("pki/issued", ".crt");

/// Where the keys of such certificates are.
pub const SERIAL_KEYS: (&str, &str) = ("pki/private", ".key");

/// A keypair the node needs from the state store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedKeypair {
    /// Its name in the state store, such as `kubelet`.
    pub name: String,
    /// Whether the private key is needed too; a worker may not even read that of the cluster's CA.
    pub key: bool,
    /// Whether the node can do without it.
    pub need: Need,
}

/// A secret the node needs from the state store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedSecret {
    /// Its name in the state store, such as `dockerconfig`.
    pub name: String,
    /// Whether the node can do without it.
    pub need: Need,
}

/// The keypairs a node of this role and version needs, sorted by name.
pub fn wanted(spec: &NodeSpec) -> Vec<WantedKeypair> {
    let mut all = Vec::new();
    let mut want = |name: &str, key: bool, need: Need| {
        all.push(WantedKeypair {
            name: name.to_owned(),
            key,
            need,
        });
    };
    let signs = spec.is_control_plane() && spec.kubernetes.at_least(1, 6);
    want("ca", signs, Need::Required);
    let kubelet = match bootstraps(spec) {
        true => Need::Optional,
        false => Need::Required,
    };
    want("kubelet", true, kubelet);
    if spec.kube_proxy.is_some() {
        want("kube-proxy", true, Need::Required);
    }
    if spec.control_plane.is_some() {
        for name in [
            "kube-controller-manager",
            "kube-scheduler",
            "kubecfg",
            "master",
        ] {
            want(name, true, Need::Required);
        }
        want("kops", true, Need::Optional);
        if spec.kubernetes.at_least(1, 7) {
            // Nothing reads apiserver-proxy-client since the aggregator has a CA of its own.
            want("apiserver-proxy-client", true, Need::Optional);
            want("apiserver-aggregator", true, Need::Required);
            want("apiserver-aggregator-ca", false, Need::Optional);
        }
        if secures_kubelet(spec) {
            want("kubelet-api", true, Need::Required);
        }
        for name in manager_ca_bundle(spec) {
            want(&name, true, Need::Optional);
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The secrets a node of this role and version needs, sorted by name.
pub fn wanted_secrets(spec: &NodeSpec) -> Vec<WantedSecret> {
    let mut all = vec![("dockerconfig", Need::Optional)];
    if let Some(control_plane) = &spec.control_plane {
        if control_plane.encryption_config {
            all.push(("encryptionconfig", Need::Required));
        }
        let need = |name: &str| {
            if has_basic_auth(spec) && name == "kube" {
                Need::Required
            } else {
                Need::Optional
            }
        };
        all.extend(TOKENS.iter().map(|name| (*name, need(name))));
    }
    all.sort_by_key(|(name, _)| *name);
    all.into_iter()
        .map(|(name, need)| WantedSecret {
            name: name.to_owned(),
            need,
        })
        .collect()
}

/// The CAs of the clusters etcd-manager runs: their names in the state store.
pub(crate) fn manager_ca_bundle(spec: &NodeSpec) -> Vec<String> {
    let managed: Vec<_> = spec
        .etcd
        .iter()
        .filter(|cluster| cluster.provider == EtcdProvider::Manager)
        .collect();
    if managed.is_empty() {
        return Vec::new();
    }
    let mut names = vec![ETCD_CLIENTS_CA.to_owned()];
    for cluster in managed {
        names.push(format!("etcd-manager-ca-{}", cluster.name));
        names.push(format!("etcd-peers-ca-{}", cluster.name));
    }
    names
}

/// Whether kubelet gets its certificate by a bootstrap token; a control plane never does, having no one to ask.
pub(crate) fn bootstraps(spec: &NodeSpec) -> bool {
    !spec.is_control_plane() && spec.kubelet.flag("bootstrap-kubeconfig").is_some()
}

/// Whether kubelet asks its callers for a client certificate.
pub(crate) fn secures_kubelet(spec: &NodeSpec) -> bool {
    spec.kubelet.flag("anonymous-auth") == Some("false")
}

/// Whether the API server of this version still knows password files (removed in 1.19).
pub(crate) fn has_basic_auth(spec: &NodeSpec) -> bool {
    !spec.kubernetes.at_least(1, 19)
}
