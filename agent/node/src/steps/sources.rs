//! The bytes of files that are built around issued certificates.

use crate::pki::IssuedCertificate;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_model::fault::{Code, Fault};
use quake_model::item::{IssuedPart, Kubeconfig, Source};
use quake_model::step::Contents;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What was issued, by the names of the orders.
pub type Issued = BTreeMap<String, IssuedCertificate>;

/// The bytes of a source; of an order that waits, as in a plan before anything was issued, `None`.
pub(super) fn contents(source: &Source, issued: &Issued) -> Option<Contents> {
    Some(match source {
        Source::Bytes(contents) => contents.clone(),
        Source::Issued { order, part } => {
            let held = issued.get(order)?;
            Contents::from(match part {
                IssuedPart::Certificate => held.certificate.clone(),
                IssuedPart::Chain => format!("{}\n{}", held.certificate, held.ca),
                IssuedPart::Key => held.key.expose().clone(),
            })
        }
        Source::Kubeconfig(wanted) => {
            Contents::from(kubeconfig(wanted, issued.get(&wanted.order)?))
        }
    })
}

/// The fault of a source whose order brought nothing: a bug, for the phase before issued all.
pub(super) fn not_issued(path: &str, source: &Source) -> Fault {
    let order = match source {
        Source::Bytes(_) => "",
        Source::Issued { order, .. } => order,
        Source::Kubeconfig(kubeconfig) => &kubeconfig.order,
    };
    let summary = format!("{path} waits for the certificate {order}, which nobody issued");
    Fault::new(Code::BootInternal, summary)
}

/// A kubeconfig around a certificate.
pub fn kubeconfig(wanted: &Kubeconfig, held: &IssuedCertificate) -> String {
    let client = [&held.certificate, held.key.expose()];
    let mut document = kubeconfig_of(&wanted.order, &wanted.server, &wanted.ca_bundle, client);
    // Keys in the order of nodeup's writer: going over to the agent and back changes no byte of the form.
    document.sort_all_objects();
    quake_formats::yaml_text::document(&document)
}

/// A kubeconfig of `user`, who trusts `ca_bundle` and shows this certificate with its key, all of them PEM.
pub(crate) fn kubeconfig_of(
    user: &str,
    server: &str,
    ca_bundle: &str,
    [certificate, key]: [&String; 2],
) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "local",
            "cluster": {
                "certificate-authority-data": STANDARD.encode(ca_bundle),
                "server": server,
            },
        }],
        "users": [{
            "name": user,
            "user": {
                "client-certificate-data": STANDARD.encode(certificate),
                "client-key-data": STANDARD.encode(key),
            },
        }],
        "contexts": [{
            "name": "service-account-context",
            "context": {"cluster": "local", "user": user},
        }],
        "current-context": "service-account-context",
    })
}
