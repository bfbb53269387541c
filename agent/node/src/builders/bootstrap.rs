//! What a node says to kops-controller, and what it hears (`pkg/apis/nodeup/bootstrap.go`, kops v1.36.2).
//!
//! One request may ask for the configuration and for certificates. Which certificates the server signs depends on the
//! configuration, which the node does not have yet, and a name that it does not sign fails the whole request (400, `key name
//! not enabled`). So the first request asks for [`USUAL`]; refused with 400, a second asks for [`CERTAIN`], and what is then
//! still wanted is asked for once the configuration is known. Ids of keypairs are compared only where they are given; the
//! first request gives none, and the certificates that come are checked against the configuration.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use quake_model::fault::{Code, Fault};
use quake_model::ports::TokenVersion;
use quake_model::redact::Secret;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use x509_cert::der::pem::{self, LineEnding};

/// Certificates that every kops-controller signs.
pub const CERTAIN: &[&str] = &["kubelet", "kubelet-server"];

/// Certificates that a kops-controller signs in a cluster with kube-proxy.
pub const USUAL: &[&str] = &["kubelet", "kubelet-server", "kube-proxy"];

/// The versions of the token that a round of questions tries, in their order; a later one only where
/// the server refuses those before it.
///
/// A server that does not know a version answers as to an instance that it does not know: 403, and no
/// reason. The first round therefore tries both. Each later one tries one, in turn: most refusals are
/// of the instance, and each costs the server two calls to AWS.
pub fn token_versions(accepted: Option<TokenVersion>, round: usize) -> Vec<TokenVersion> {
    let order = match accepted {
        Some(TokenVersion::V1) => [TokenVersion::V1, TokenVersion::V2],
        Some(TokenVersion::V2) | None => [TokenVersion::V2, TokenVersion::V1],
    };
    match (accepted, round) {
        (None, 0) => order.to_vec(),
        (_, round) => vec![order[round % 2]],
    }
}

/// What a node asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootstrapRequest {
    /// Public keys by the name of the certificate that is wanted for them, as [`public_key`] writes them.
    pub keys: BTreeMap<String, String>,
    /// Which generation of a CA each is expected to be signed with; empty where the node cannot know.
    pub keypair_ids: BTreeMap<String, String>,
    /// Whether the configuration is wanted, too.
    pub wants_config: bool,
}

impl BootstrapRequest {
    /// The body. Equal requests give equal bytes, which the token is bound to.
    pub fn body(&self) -> Vec<u8> {
        let body = json!({
            "apiVersion": "bootstrap.kops.k8s.io/v1alpha1",
            "certs": self.keys,
            "keypairIDs": self.keypair_ids,
            "includeNodeConfig": self.wants_config,
        });
        body.to_string().into_bytes()
    }
}

/// Reads a request as the server does; `None` for a body that is none.
pub fn read_request(body: &[u8]) -> Option<BootstrapRequest> {
    let root: Value = serde_json::from_slice(body).ok()?;
    let map = |key: &str| -> Option<BTreeMap<String, String>> {
        match root.get(key) {
            None | Some(Value::Null) => Some(BTreeMap::new()),
            Some(value) => {
                let entries = value.as_object()?.iter();
                entries
                    .map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())))
                    .collect()
            }
        }
    };
    Some(BootstrapRequest {
        keys: map("certs")?,
        keypair_ids: map("keypairIDs")?,
        wants_config: root.get("includeNodeConfig") == Some(&Value::Bool(true)),
    })
}

/// The `SubjectPublicKeyInfo` in a key as [`public_key`] writes it; `None` for another text.
pub fn read_public_key(text: &str) -> Option<Vec<u8>> {
    let (label, info) = pem::decode_vec(text.as_bytes()).ok()?;
    (label == LABEL).then_some(info)
}

/// The value of `X-Kops-Request-Sha`, which is signed with the token and so binds it to one body.
pub fn request_hash(body: &[u8]) -> String {
    STANDARD_NO_PAD.encode(Sha256::digest(body))
}

/// A public key as the server wants it: of any kind, as a `SubjectPublicKeyInfo`, under a label that says RSA.
pub fn public_key(info: &[u8]) -> String {
    pem::encode_string(LABEL, LineEnding::LF, info).expect("the label is plain ASCII")
}

const LABEL: &str = "RSA PUBLIC KEY";

/// What the server sends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootstrapResponse {
    pub certificates: BTreeMap<String, String>,
    /// The nodeup configuration, byte for byte.
    pub config: Option<String>,
    pub secrets: BTreeMap<String, Secret<Vec<u8>>>,
}

impl BootstrapResponse {
    /// The body, as the server writes it.
    pub fn body(&self) -> Vec<u8> {
        let mut body = json!({ "Certs": self.certificates });
        if let Some(config) = &self.config {
            let secrets = self.secrets.iter();
            let secrets: BTreeMap<&String, String> = secrets
                .map(|(name, secret)| (name, STANDARD.encode(secret.expose())))
                .collect();
            body["nodeConfig"] = json!({ "nodeupConfig": config, "nodeSecrets": secrets });
        }
        body.to_string().into_bytes()
    }
}

/// Reads a response of the server called `source`.
///
/// # Errors
///
/// `config.object-malformed`; no part of the response is in the fault, for it may be a secret.
pub fn read_response(source: &str, body: &[u8]) -> Result<BootstrapResponse, Fault> {
    let malformed = |what: &str| {
        let summary = format!("the answer of {source} {what}");
        Fault::new(Code::ConfigObjectMalformed, summary).seen("source", source)
    };
    let root: Value = serde_json::from_slice(body).map_err(|_| malformed("is not JSON"))?;
    let map = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut response = BootstrapResponse::default();
    for (name, certificate) in map(&root["Certs"]) {
        let text = certificate.as_str();
        let text = text.ok_or_else(|| malformed("holds a certificate that is no text"))?;
        response.certificates.insert(name, text.to_owned());
    }
    let node = &root["nodeConfig"];
    response.config = node["nodeupConfig"].as_str().map(str::to_owned);
    for (name, secret) in map(&node["nodeSecrets"]) {
        let bytes = secret.as_str().and_then(|text| STANDARD.decode(text).ok());
        let bytes = bytes.ok_or_else(|| malformed("holds a secret that is not base64"))?;
        response.secrets.insert(name, Secret::new(bytes));
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_asks_for_all_at_once_and_is_the_same_on_every_run() {
        let request = BootstrapRequest {
            keys: BTreeMap::from([("kubelet".to_owned(), public_key(b"key"))]),
            wants_config: true,
            ..BootstrapRequest::default()
        };
        let body: Value = serde_json::from_slice(&request.body()).expect("it is JSON");
        assert_eq!(body["apiVersion"], "bootstrap.kops.k8s.io/v1alpha1");
        assert_eq!(body["includeNodeConfig"], true);
        assert_eq!(body["keypairIDs"], json!({}));
        let key = "-----BEGIN RSA PUBLIC KEY-----\na2V5\n-----END RSA PUBLIC KEY-----\n";
        assert_eq!(body["certs"]["kubelet"], key);
        assert_eq!(request.body(), request.clone().body());
    }

    #[test]
    fn each_version_of_the_token_has_its_turn_and_the_accepted_one_the_first() {
        use TokenVersion::{V1, V2};
        for (accepted, round, versions) in [
            (None, 0, &[V2, V1][..]),
            (None, 1, &[V1]),
            (None, 2, &[V2]),
            (Some(V2), 0, &[V2]),
            (Some(V2), 1, &[V1]),
            (Some(V1), 0, &[V1]),
            (Some(V1), 1, &[V2]),
            (Some(V1), 2, &[V1]),
        ] {
            let tried = token_versions(accepted, round);
            assert_eq!(tried, versions, "{accepted:?}, round {round}");
        }
    }

    #[test]
    fn the_hash_of_a_body_has_no_padding() {
        let hash = request_hash(b"");
        assert_eq!(hash, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU");
    }

    #[test]
    fn an_answer_is_read_whole() {
        let body = r#"{"Certs":{"kubelet":"PEM"},"nodeConfig":{"nodeupConfig":"A: b\n","nodeSecrets":{"dockerconfig":"e30="}}}"#;
        let read = read_response("kc", body.as_bytes()).expect("it reads");
        assert_eq!(read.certificates["kubelet"], "PEM");
        assert_eq!(read.config.as_deref(), Some("A: b\n"));
        assert_eq!(read.secrets["dockerconfig"].expose(), b"{}");
        let empty = read_response("kc", b"{\"Certs\":null}");
        assert_eq!(empty, Ok(BootstrapResponse::default()));
    }

    #[test]
    fn an_answer_that_is_malformed_is_not_shown() {
        for body in [
            "hidden",
            r#"{"Certs":{"hidden":5}}"#,
            r#"{"nodeConfig":{"nodeSecrets":{"dockerconfig":"%hidden%"}}}"#,
        ] {
            let fault = read_response("kc", body.as_bytes()).expect_err(body);
            assert_eq!(fault.code, Code::ConfigObjectMalformed);
            assert!(!format!("{fault:?}").contains("hidden"));
        }
    }
}
