//! Whether what kops-controller signed may be used: it is of a CA that is trusted, for the key that was made for it, and
//! names whom it was ordered for.

use super::issue::Ca;
use super::issued::IssuedCertificate;
use super::keep::{Misfit, has_begun, validity};
use quake_formats::pem::certificates;
use quake_model::fault::{Code, Fault};
use quake_model::ports::SignatureKind;
use quake_model::time::Timestamp;
use x509_cert::der::Encode;

/// What a trusted CA is said to have signed. Whether it did is for the host to verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub ca: String,
    /// Its public key: a `SubjectPublicKeyInfo`, DER.
    pub public: Vec<u8>,
    pub kind: SignatureKind,
    /// The bytes that are signed.
    pub message: Vec<u8>,
    pub signature: Vec<u8>,
}

/// Every way in which a certificate may be one of the CAs of `trusted`, PEM: generations of a CA share their
/// name, so there may be several. Empty where it is none of them, or cannot be read.
pub fn claims(certificate: &str, trusted: &str) -> Vec<Claim> {
    let Some(said) = certificates(certificate).into_iter().next() else {
        return Vec::new();
    };
    let (Ok(message), Some(signature)) = (said.tbs_certificate.to_der(), said.signature.as_bytes())
    else {
        return Vec::new();
    };
    let ca_bundle = blocks(trusted).filter_map(|pem| Ca::read("a bundle", pem).ok());
    let claims = ca_bundle.filter_map(|ca| {
        let own = &ca.certificate.tbs_certificate;
        if own.subject != said.tbs_certificate.issuer {
            return None;
        }
        Some(Claim {
            public: own.subject_public_key_info.to_der().ok()?,
            ca: format!("{}\n", ca.pem),
            kind: ca.kind,
            message: message.clone(),
            signature: signature.to_vec(),
        })
    });
    claims.collect()
}

/// Whether `ca`, PEM, is one of those in `trusted`.
pub fn is_trusted(ca: &str, trusted: &str) -> bool {
    let known = certificates(trusted);
    let own = certificates(ca).into_iter().next();
    own.is_some_and(|own| known.contains(&own))
}

/// Whether what is held can be used for a while yet, although it is to be renewed.
pub fn is_still_good(held: &IssuedCertificate, now: Timestamp) -> bool {
    let certificate = certificates(&held.certificate).into_iter().next();
    certificate.is_some_and(|certificate| {
        let (begins, ends) = validity(&certificate.tbs_certificate);
        has_begun(begins, now) && now < Timestamp(ends * 1000)
    })
}

/// The fault that a certificate of kops-controller is which may not be used; no part of it is shown.
pub fn unfit(name: &str, misfit: Misfit) -> Fault {
    let why = match misfit {
        Misfit::Unreadable => "cannot be read",
        Misfit::AnotherKey => "is for another key than the one that was made for it",
        Misfit::AnotherCa => "is of another CA than the user data trusts",
        Misfit::AnotherSubject => "names somebody else than this node",
        Misfit::AnotherUsage => "is for another use than it was ordered for",
        Misfit::OtherNames => "is for other names than it was ordered for",
        Misfit::Old => "is not valid now, or nearly over, by the local clock",
    };
    let summary = format!("the certificate {name} of kops-controller {why}");
    Fault::new(Code::CredentialsCertificateUnfit, summary).seen("order", name)
}

/// The certificates of a PEM text, each with its lines of dashes.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let endings = text.split_inclusive("-----END CERTIFICATE-----");
    endings.filter_map(|text| Some(&text[text.find("-----BEGIN CERTIFICATE-----")?..]))
}
