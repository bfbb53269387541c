//! The bytes of files that are built around issued certificates.

use crate::pki::IssuedCertificate;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_model::fault::{Code, Fault};
use quake_model::item::{IssuedPart, Kubeconfig, Source};
use quake_model::step::Contents;
use serde_json::json;
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
    // Keys in the order of nodeup's writer: going over to the agent and back changes no byte of the form.
    let document = json!({
        "apiVersion": "v1",
        "clusters": [{
            "cluster": {
                "certificate-authority-data": STANDARD.encode(&wanted.ca_bundle),
                "server": wanted.server,
            },
            "name": "local",
        }],
        "contexts": [{
            "context": {"cluster": "local", "user": wanted.order},
            "name": "service-account-context",
        }],
        "current-context": "service-account-context",
        "kind": "Config",
        "users": [{
            "name": wanted.order,
            "user": {
                "client-certificate-data": STANDARD.encode(&held.certificate),
                "client-key-data": STANDARD.encode(held.key.expose()),
            },
        }],
    });
    quake_formats::yaml_text::document(&document)
}
