//! `host.ca-bundle`: the certificates of public CAs that the system trusts.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_model::facts::{EntryKind, Unseen};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "host.ca-bundle",
    title: "the system's bundle of CAs is whole",
    severity: Severity::Warning,
    tags: &["certificates"],
    sources: &[Source::Files],
    because: &["host.disk-space"],
    why: "without it no registry, no mirror and no API of AWS is trusted",
    remedy: "update-ca-certificates --fresh, or update-ca-trust extract",
    judge,
}];

/// Where it is on the distributions we know, and what makes it anew.
const BUNDLES: &[(&str, &str)] = &[
    (
        "/etc/ssl/certs/ca-certificates.crt",
        "apt-get install --reinstall ca-certificates; update-ca-certificates --fresh",
    ),
    (
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "dnf reinstall ca-certificates; update-ca-trust extract",
    ),
    (
        "/etc/pki/tls/certs/ca-bundle.crt",
        "dnf reinstall ca-certificates; update-ca-trust extract",
    ),
];

/// The bundle of Mozilla has some 140 certificates in 200 kB. One with a private CA alone has a few kB.
const LEAST: u64 = 50_000;

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let mut seen = 0_usize;
    for (path, fix) in BUNDLES {
        let Some(entry) = node
            .entry(path)?
            .filter(|entry| entry.kind == EntryKind::File)
        else {
            continue;
        };
        seen += 1;
        if entry.size < LEAST {
            return Finding::new(
                format!("{path} has {} bytes, and lacks the public CAs: somebody replaced it, or its package's script was cut off", entry.size),
                format!("{fix}; a private CA belongs into /usr/local/share/ca-certificates (/etc/pki/ca-trust/source/anchors) beside it; then restart the runtime"),
            )
            .warn();
        }
    }
    match seen {
        0 => Verdict::skip("no bundle was looked at"),
        _ => Verdict::ok("it has the public CAs"),
    }
}
