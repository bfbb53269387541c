//! kops-controller, simulated: it gives the configuration of the group, and signs what it may with a test CA.
//!
//! It checks that the proof is for the body and nothing else of it: there is no service that could say whose it is.

use super::SimHost;
use quake_keys::sign;
use quake_model::facts::InstanceFacts;
use quake_model::fault::Fault;
use quake_model::item::{AlternateName, CertificateOrder, Issuer, Subject, Usage};
use quake_model::ports::{Bootstrap, BootstrapServer, Condition, PortError, TokenVersion};
use quake_model::redact::Secret;
use quake_model::time::Timestamp;
use quake_node::builders::bootstrap::{
    BootstrapResponse, read_public_key, read_request, request_hash,
};
use quake_node::builders::{node_name, processor};
use quake_node::config::current::{Provider, read_nodeup_config};
use quake_node::pki::{Ca, Unsigned, unsigned};
use std::collections::BTreeMap;

/// The one certificate that another CA signs.
const CILIUM: &str = "etcd-client-cilium";

/// What the simulated kops-controller knows.
#[derive(Debug, Clone)]
pub struct Controller {
    /// The nodeup configuration of the group.
    pub config: String,
    /// Secrets it sends with it.
    pub secrets: BTreeMap<String, Secret<Vec<u8>>>,
    /// Names of the certificates that it signs.
    pub signs: Vec<String>,
    /// The node's name in its cluster, which a real one learns from EC2.
    pub node_name: String,
    pub certificate: String,
    pub key: Secret<String>,
    /// Whether it signs the bare name of each certificate: no subject of a node, no usage, no other names.
    pub signs_bare_names: bool,
    /// The certificate and the key of the CA of Cilium's own etcd, PEM, where there is one.
    pub cilium: Option<(String, Secret<String>)>,
    pub takes: Vec<TokenVersion>,
    /// The public key that it puts into every certificate in the place of the one it is sent; `None` for an honest one.
    pub swapped_key: Option<Vec<u8>>,
}

impl Bootstrap for SimHost {
    async fn prove_instance(
        &self,
        body: &[u8],
        version: TokenVersion,
    ) -> Result<Secret<String>, PortError> {
        let proof = Secret::new(proof_of(body, version));
        self.call("prove_instance", |_| Ok(proof)).await
    }

    async fn ask_bootstrap(
        &self,
        server: &BootstrapServer,
        proof: &Secret<String>,
        body: &[u8],
    ) -> Result<Vec<u8>, PortError> {
        let now = quake_model::ports::Clock::now(self);
        self.call("ask_bootstrap", |world| {
            world.count("kops-controller:Bootstrap");
            world.requested.push(server.url.clone());
            if world.silent.contains(&server.url) {
                let summary = format!("{} does not answer", server.url);
                return Err(PortError::new(Condition::Unreachable, summary));
            }
            let unreachable =
                || PortError::new(Condition::Unreachable, "there is no kops-controller");
            let controller = world.controller.as_ref().ok_or_else(unreachable)?;
            let mut takes = controller.takes.iter();
            if !takes.any(|version| *proof.expose() == proof_of(body, *version)) {
                return Err(PortError::new(Condition::Denied, "failed to verify token"));
            }
            let address = world.region.instance.private_ip.clone();
            controller.answer(body, &address, now)
        })
        .await
    }
}

/// The simulated proof: of this body, in this version.
fn proof_of(body: &[u8], version: TokenVersion) -> String {
    format!("{} {}", version.number(), request_hash(body))
}

impl Controller {
    /// One that gives the nodeup configuration `text`, read from `source`, to this instance, and signs what a real one signs
    /// in such a cluster, with the CA whose certificate and key these are.
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration.
    pub fn new(
        source: &str,
        text: &str,
        instance: &InstanceFacts,
        certificate: &str,
        key: Secret<String>,
    ) -> Result<Self, Fault> {
        let (config, _) = read_nodeup_config(source, text, processor(&instance.architecture))?;
        let mut signs = vec!["kubelet".to_owned(), "kubelet-server".to_owned()];
        if config.kube_proxy.is_some() {
            signs.push("kube-proxy".to_owned());
        }
        if config.network.provider == Provider::KubeRouter {
            signs.push("kube-router".to_owned());
        }
        if config.network.has_cilium_etcd {
            signs.push(CILIUM.to_owned());
        }
        Ok(Self {
            config: text.to_owned(),
            secrets: BTreeMap::new(),
            signs,
            node_name: node_name(&config, instance)?,
            certificate: certificate.to_owned(),
            key,
            signs_bare_names: false,
            cilium: None,
            takes: vec![TokenVersion::V1, TokenVersion::V2],
            swapped_key: None,
        })
    }

    /// The same, signing bare names. The server that kops' own trees were recorded with did so; what a real one puts into a
    /// certificate comes from EC2, and a certificate that shows none of it is not taken for a real one.
    #[must_use]
    pub fn with_bare_names(self) -> Self {
        Self {
            signs_bare_names: true,
            ..self
        }
    }

    fn answer(&self, body: &[u8], address: &str, now: Timestamp) -> Result<Vec<u8>, PortError> {
        let bad = |what: String| PortError::new(Condition::Malformed, what);
        let request = read_request(body)
            .ok_or_else(|| PortError::new(Condition::Impossible, "the request cannot be read"))?;
        let mut response = BootstrapResponse::default();
        for (name, key) in &request.keys {
            let order = self
                .order(name, address)
                .ok_or_else(|| bad(format!("key name not enabled: {name}")))?;
            let info = read_public_key(key)
                .ok_or_else(|| bad(format!("the public key of {name} cannot be read")))?;
            let info = self.swapped_key.as_ref().unwrap_or(&info);
            let certificate = self.certificate(&order, info, now)?;
            response.certificates.insert(name.clone(), certificate);
        }
        if request.wants_config {
            response.config = Some(self.config.clone());
            response.secrets.clone_from(&self.secrets);
        }
        Ok(response.body())
    }

    fn certificate(
        &self,
        order: &CertificateOrder,
        info: &[u8],
        now: Timestamp,
    ) -> Result<String, PortError> {
        let broken = |fault: Fault| PortError::new(Condition::Malformed, fault.to_string());
        let (certificate, key) = match (&self.cilium, order.name.as_str()) {
            (Some((certificate, key)), CILIUM) => (certificate, key),
            (None, CILIUM) => {
                let what = format!("failed to issue {CILIUM}: its CA is not given");
                return Err(PortError::new(Condition::Impossible, what));
            }
            _ => (&self.certificate, &self.key),
        };
        let ca = Ca::read("the simulated kops-controller", certificate).map_err(broken)?;
        let waiting = match self.signs_bare_names {
            true => unsigned(&bare(order), &ca, info, now).and_then(Unsigned::bare),
            false => unsigned(order, &ca, info, now),
        };
        let waiting = waiting.map_err(broken)?;
        let signature = sign(key, waiting.kind, &waiting.message)?;
        waiting.signed(&signature).map_err(broken)
    }

    /// What a real one puts into the certificate of this name (`cmd/kops-controller/pkg/server`, v1.36.2).
    fn order(&self, name: &str, address: &str) -> Option<CertificateOrder> {
        if !self.signs.iter().any(|signed| signed == name) {
            return None;
        }
        let node = &self.node_name;
        let (subject, usage) = match name {
            "kubelet" => {
                let subject = Subject::named(&format!("system:node:{node}"));
                (subject.with_organization("system:nodes"), Usage::Client)
            }
            "kubelet-server" => (Subject::named(node), Usage::Server),
            "kube-proxy" | "kube-router" => {
                (Subject::named(&format!("system:{name}")), Usage::Client)
            }
            CILIUM => (Subject::named("cilium"), Usage::Client),
            _ => return None,
        };
        let names = match usage {
            Usage::Client => Vec::new(),
            Usage::Server => vec![
                AlternateName::from_text(node),
                AlternateName::from_text(address),
            ],
        };
        Some(CertificateOrder {
            name: name.to_owned(),
            issuer: Issuer::Controller {
                keyset: String::new(),
                keypair_id: String::new(),
            },
            subject,
            usage,
            names,
        })
    }
}

fn bare(order: &CertificateOrder) -> CertificateOrder {
    CertificateOrder {
        subject: Subject::named(&order.name),
        ..order.clone()
    }
}
