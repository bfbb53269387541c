//! The example's keypairs. They are made when they are first wanted, so that no private key is in the source or in the binary.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_keys::{make_key, public_key_pem, sign};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::Secret;
use quake_model::time::Timestamp;
use quake_node::pki::unsigned_ca;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The CA that signs for nodes and for kube-apiserver.
const KUBERNETES_CA: &str = "kubernetes-ca";

/// The keypair that tokens of service accounts are signed with.
pub(super) const SERVICE_ACCOUNT: &str = "service-account";

/// Every keypair of the cluster.
const NAMES: &[&str] = &[
    "apiserver-aggregator-ca",
    "etcd-clients-ca",
    "etcd-manager-ca-events",
    "etcd-manager-ca-main",
    "etcd-peers-ca-events",
    "etcd-peers-ca-main",
    KUBERNETES_CA,
    SERVICE_ACCOUNT,
];

/// The keypairs of one example cluster, by name. Throw-away keys: they are of no cluster that exists.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CaBundle(BTreeMap<String, Pair>);

#[derive(Clone, Default, Serialize, Deserialize)]
struct Pair {
    certificate: String,
    key: String,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Secret::new(&self.key))
    }
}

impl CaBundle {
    /// Makes new ones, good for ten years from `now`.
    ///
    /// # Errors
    ///
    /// `Io` where there is no randomness.
    pub fn make(now: Timestamp) -> Result<Self, PortError> {
        let pairs = NAMES
            .iter()
            .map(|name| Ok(((*name).to_owned(), pair(name, now)?)));
        Ok(Self(pairs.collect::<Result<_, PortError>>()?))
    }

    /// The certificate and the key of the CA that signs for nodes, PEM.
    pub fn kubernetes_ca(&self) -> (String, Secret<String>) {
        let pair = self.pair(KUBERNETES_CA);
        (pair.certificate, Secret::new(pair.key))
    }

    /// The public key that tokens of service accounts are verified with, PEM.
    pub(super) fn service_account_key(&self) -> String {
        let key = Secret::new(self.pair(SERVICE_ACCOUNT).key);
        public_key_pem(&key).unwrap_or_default()
    }

    /// `CAs` and `KeypairIDs` of a nodeup configuration for a control plane.
    pub(super) fn of_control_plane(&self) -> String {
        let pairs = || self.0.iter().enumerate();
        let certificates = pairs().filter(|(_, (name, _))| *name != SERVICE_ACCOUNT);
        let certificates: String = certificates
            .map(|(_, (name, pair))| format!("  {name}: {}\n", quoted(&pair.certificate)))
            .collect();
        let ids: String = pairs()
            .map(|(index, (name, _))| format!("  {name}: \"{}\"\n", id(index)))
            .collect();
        format!("CAs:\n{certificates}KeypairIDs:\n{ids}")
    }

    /// The same for a worker, which learns of the CA from its user data.
    pub(super) fn of_worker(&self) -> String {
        let index = self.0.keys().position(|name| name == KUBERNETES_CA);
        let id = id(index.unwrap_or_default());
        format!("CAs: {{}}\nKeypairIDs:\n  {KUBERNETES_CA}: \"{id}\"\n")
    }

    /// The keysets of the state store, by name.
    pub(super) fn keysets(&self) -> Vec<(&str, String)> {
        let pairs = self.0.iter().enumerate();
        pairs
            .map(|(index, (name, pair))| (name.as_str(), keyset(name, &id(index), pair)))
            .collect()
    }

    fn pair(&self, name: &str) -> Pair {
        self.0.get(name).cloned().unwrap_or_default()
    }
}

fn pair(name: &str, now: Timestamp) -> Result<Pair, PortError> {
    let unwritable =
        |fault: quake_model::fault::Fault| PortError::new(Condition::Malformed, fault.to_string());
    let made = make_key()?;
    let waiting = unsigned_ca(name, &made.public, now).map_err(unwritable)?;
    let signature = sign(&made.key, waiting.kind, &waiting.message)?;
    Ok(Pair {
        certificate: waiting.signed(&signature).map_err(unwritable)?,
        key: made.key.expose().clone(),
    })
}

/// The id of the keypair at this place of the list; kops makes ids of this length.
fn id(index: usize) -> String {
    format!("70000000000000000000000000{:02}", index + 1)
}

fn keyset(name: &str, id: &str, pair: &Pair) -> String {
    let [key, certificate] = [&pair.key, &pair.certificate].map(|text| STANDARD.encode(text));
    format!(
        "apiVersion: kops.k8s.io/v1alpha2\nkind: Keyset\nmetadata:\n  name: {name}\nspec:\n  keys:\n  - id: \"{id}\"\n    \
         privateMaterial: {key}\n    publicMaterial: {certificate}\n  primaryId: \"{id}\"\n  type: Keypair\n"
    )
}

/// A text of several lines as a YAML scalar: a JSON string is one.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
