//! How a key and its certificate are held on the disk: both in one file, so that they are never of two generations.

use quake_formats::pem::certificates;
use quake_model::redact::Secret;
use quake_model::step::WriteFile;
use x509_cert::der::Encode;

/// Where they are held, one file for each order.
const FOLDER: &str = "/var/lib/quake-agent/certificates";

/// Where what an order of this name brought is held.
pub fn path(order: &str) -> String {
    format!("{FOLDER}/{order}.pem")
}

/// A key, and the certificate that was issued for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedCertificate {
    pub certificate: String,
    /// The CA that signed it, PEM; empty where it is not known.
    pub ca: String,
    pub key: Secret<String>,
}

impl IssuedCertificate {
    /// Reads a file of [`path`]; `None` where it holds no key, or no certificate that can be read.
    pub fn read(text: &str) -> Option<Self> {
        let (certificate, rest) = block(text, "CERTIFICATE")?;
        let (key, rest) = block(rest, "PRIVATE KEY")?;
        let ca = block(rest, "CERTIFICATE").map_or("", |(ca, _)| ca);
        certificates(certificate).first()?;
        Some(Self {
            certificate: certificate.to_owned(),
            ca: ca.to_owned(),
            key: Secret::new(key.to_owned()),
        })
    }

    /// The file of [`path`].
    pub fn file(&self, order: &str) -> WriteFile {
        let text = format!("{}{}{}", self.certificate, self.key.expose(), self.ca);
        WriteFile::secret(&path(order), 0o600, text)
    }

    /// The public key of the certificate: a `SubjectPublicKeyInfo`, DER.
    pub fn public_key(&self) -> Option<Vec<u8>> {
        let certificate = certificates(&self.certificate).into_iter().next()?;
        let info = certificate.tbs_certificate.subject_public_key_info;
        info.to_der().ok()
    }
}

/// The first block of this label with its lines of dashes, and what follows it.
fn block<'a>(text: &'a str, label: &str) -> Option<(&'a str, &'a str)> {
    let end = format!("-----END {label}-----\n");
    let start = text.find(&format!("-----BEGIN {label}-----"))?;
    let stop = text[start..].find(&end)? + start + end.len();
    Some((&text[start..stop], &text[stop..]))
}
