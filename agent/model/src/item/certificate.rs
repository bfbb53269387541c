//! Certificates the node orders, of itself or of the control plane, and what is built around them.

use serde::Serialize;
use std::net::IpAddr;

/// A key and a certificate for it, by the name under which others refer to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CertificateOrder {
    /// Its name, such as `kubelet-server`.
    pub name: String,
    pub issuer: Issuer,
    pub subject: Subject,
    /// What it may be used for.
    pub usage: Usage,
    /// The names and addresses it is good for, beside its subject.
    pub names: Vec<AlternateName>,
}

/// Who signs a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Issuer {
    /// This node, with the key of a CA that it has.
    Ca {
        /// The CA's name in the state store, such as `kubernetes-ca`.
        keyset: String,
        keypair_id: String,
    },
    /// kops-controller, which decides subject, usage and names itself; those of the order are what is expected.
    Controller {
        /// The CA it is expected to sign with.
        keyset: String,
        /// Which generation of the CA the node was launched for.
        keypair_id: String,
    },
}

/// Whom a certificate names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// The common name: to Kubernetes, the user.
    pub common_name: String,
    /// The organizations: to Kubernetes, the groups.
    pub organizations: Vec<String>,
}

impl Subject {
    /// A subject in no organization.
    pub fn named(common_name: &str) -> Self {
        Self {
            common_name: common_name.to_owned(),
            organizations: Vec::new(),
        }
    }

    /// The same in one more organization.
    #[must_use]
    pub fn with_organization(mut self, organization: &str) -> Self {
        self.organizations.push(organization.to_owned());
        self
    }
}

/// What a certificate may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Usage {
    /// To show who a client is.
    Client,
    /// To show who a server is.
    Server,
}

/// A name or address a certificate is good for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlternateName {
    Dns(String),
    Ip(IpAddr),
}

impl AlternateName {
    /// A text as an address where it is one, else as a DNS name.
    pub fn from_text(text: &str) -> Self {
        text.parse()
            .map_or_else(|_| Self::Dns(text.to_owned()), Self::Ip)
    }
}

/// A kubeconfig with one cluster, one user and one context, all else being fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kubeconfig {
    /// The certificate order whose certificate and key the user shows; the user's name, too.
    pub order: String,
    /// The CAs to trust, PEM.
    pub ca_bundle: String,
    pub server: String,
}
