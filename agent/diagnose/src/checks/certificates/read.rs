//! The certificates that are in a node's files: as PEM, and inside kubeconfigs.

use super::super::node::Node;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_formats::pem::certificates;
use quake_formats::yaml::{self, Yaml};
use quake_model::facts::Seen;
use quake_model::time::Timestamp;
use x509_cert::Certificate;
use x509_cert::der::Encode;
use x509_cert::ext::pkix::{AuthorityKeyIdentifier, SubjectKeyIdentifier};

/// Directories whose files are looked at.
const FOLDERS: &[&str] = &["/srv/kubernetes/", "/etc/kubernetes/", "/var/lib/"];

/// The certificates of one file, or of one field of it.
pub(super) struct Held<'a> {
    pub(super) path: &'a str,
    /// What of it; empty where it is the whole file.
    pub(super) part: &'static str,
    /// In their order; at least one.
    pub(super) certificates: Vec<Certificate>,
}

impl Held<'_> {
    /// The certificate that counts: the first, which is the leaf of a chain; of a bundle of CAs the one that
    /// is good for longest.
    pub(super) fn chief(&self) -> Option<&Certificate> {
        let first = self.certificates.first()?;
        let is_root = first.tbs_certificate.subject == first.tbs_certificate.issuer;
        match is_root {
            true => self.certificates.iter().max_by_key(|it| ends(it)),
            false => Some(first),
        }
    }

    /// Where it is, in words.
    pub(super) fn place(&self) -> String {
        match self.part {
            "" => self.path.to_owned(),
            part => format!("{part} of {}", self.path),
        }
    }
}

/// All certificates of the node's own files.
pub(super) fn held<'a>(node: &Node<'a>) -> Vec<Held<'a>> {
    let texts = node.survey().texts.iter();
    let ours = texts.filter(|(path, _)| FOLDERS.iter().any(|folder| path.starts_with(folder)));
    ours.filter_map(|(path, seen)| match seen {
        Seen::Yes(text) => Some((path.as_str(), text.as_str())),
        _ => None,
    })
    .flat_map(|(path, text)| match path.ends_with("/kubeconfig") {
        true => in_kubeconfig(path, text),
        false => of(path, "", text).into_iter().collect(),
    })
    .collect()
}

fn of<'a>(path: &'a str, part: &'static str, text: &str) -> Option<Held<'a>> {
    let certificates = certificates(text);
    (!certificates.is_empty()).then_some(Held {
        path,
        part,
        certificates,
    })
}

/// The field of a kubeconfig that holds the CA of the API server.
pub(super) const AUTHORITY: &str = "certificate-authority-data";

/// The field that holds the client's certificate.
pub(super) const CLIENT: &str = "client-certificate-data";

/// What a kubeconfig holds itself. What was masked, or is no kubeconfig, holds nothing.
fn in_kubeconfig<'a>(path: &'a str, text: &str) -> Vec<Held<'a>> {
    let Ok(document) = yaml::parse(path, text) else {
        return Vec::new();
    };
    let fields = [
        ("clusters", "cluster", AUTHORITY),
        ("users", "user", CLIENT),
    ];
    fields
        .into_iter()
        .flat_map(|(list, inner, field)| {
            let found = document.items_of(list).iter();
            found.filter_map(move |item| Some((field, decoded(item, inner, field)?)))
        })
        .filter_map(|(field, text)| of(path, field, &text))
        .collect()
}

fn decoded(item: &Yaml, inner: &str, field: &str) -> Option<String> {
    let text = item.get(inner)?.text_of(field)?;
    let bytes = STANDARD.decode(text.trim()).ok()?;
    String::from_utf8(bytes).ok()
}

/// When a certificate begins to be valid.
pub(super) fn begins(certificate: &Certificate) -> Timestamp {
    let from = certificate.tbs_certificate.validity.not_before;
    Timestamp(from.to_unix_duration().as_secs() * 1000)
}

/// When it ends.
pub(super) fn ends(certificate: &Certificate) -> Timestamp {
    let until = certificate.tbs_certificate.validity.not_after;
    Timestamp(until.to_unix_duration().as_secs() * 1000)
}

/// Whether `ca` may have issued `certificate`: by its name, and by the id of its key where both name one. The
/// signature is not looked at.
pub(super) fn may_have_issued(ca: &Certificate, certificate: &Certificate) -> bool {
    let (ca, certificate) = (&ca.tbs_certificate, &certificate.tbs_certificate);
    if ca.subject != certificate.issuer {
        return false;
    }
    let own = ca.get::<SubjectKeyIdentifier>().ok().flatten();
    let named = certificate.get::<AuthorityKeyIdentifier>().ok().flatten();
    let named = named.and_then(|(_, id)| id.key_identifier);
    match (own, named) {
        (Some((_, own)), Some(named)) => own.0.as_bytes() == named.as_bytes(),
        _ => true,
    }
}

/// Whether two lists of certificates share a public key.
pub(super) fn share_a_key(some: &[Certificate], others: &[Certificate]) -> bool {
    let key = |it: &Certificate| it.tbs_certificate.subject_public_key_info.to_der().ok();
    some.iter().any(|one| {
        others
            .iter()
            .any(|other| key(one).is_some() && key(one) == key(other))
    })
}
