//! The certificate of a new CA, which its own key signs, as kops makes them (`pkg/pki/issue.go` and `csr.go`, v1.36.2).

use super::issue::{
    BACKDATED, Unsigned, algorithm, extension, general_name, serial, subject, time, unwritable,
};
use quake_model::fault::Fault;
use quake_model::item::{AlternateName, Subject};
use quake_model::ports::SignatureKind;
use quake_model::time::Timestamp;
use sha1::{Digest as _, Sha1};
use std::time::Duration;
use x509_cert::certificate::{TbsCertificate, Version};
use x509_cert::der::Decode;
use x509_cert::der::asn1::OctetString;
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::{
    BasicConstraints, KeyUsage, KeyUsages, SubjectAltName, SubjectKeyIdentifier,
};
use x509_cert::spki::SubjectPublicKeyInfoOwned;
use x509_cert::time::Validity;

/// How long a CA is good for, from now: ten years, as kops's.
const LIFE: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// What the key of `info`, a `SubjectPublicKeyInfo` in DER, of P-256, is to sign for it to be a CA by this name, which is
/// its common name and its one alternate name.
///
/// # Errors
///
/// `credentials.malformed` for a public key that is none, and for a name that no certificate can hold.
pub fn unsigned_ca(name: &str, info: &[u8], now: Timestamp) -> Result<Unsigned, Fault> {
    let public = SubjectPublicKeyInfoOwned::from_der(info).map_err(unwritable)?;
    let named = subject(&Subject::named(name))?;
    let from = Duration::from_secs(now.0 / 1000);
    let said = TbsCertificate {
        version: Version::V3,
        serial_number: serial(name, info, now)?,
        signature: algorithm(SignatureKind::EcdsaSha256),
        issuer: named.clone(),
        validity: Validity {
            not_before: time(from.saturating_sub(BACKDATED))?,
            not_after: time(from + LIFE)?,
        },
        subject: named,
        extensions: Some(extensions(name, &public)?),
        subject_public_key_info: public,
        issuer_unique_id: None,
        subject_unique_id: None,
    };
    Unsigned::new(said, SignatureKind::EcdsaSha256)
}

fn extensions(name: &str, public: &SubjectPublicKeyInfoOwned) -> Result<Vec<Extension>, Fault> {
    let signs = BasicConstraints {
        ca: true,
        path_len_constraint: None,
    };
    // RFC 5280, 4.2.1.2, method 1: those who verify only compare it.
    let id = Sha1::digest(public.subject_public_key.raw_bytes());
    let id = OctetString::new(id.to_vec()).map_err(unwritable)?;
    Ok(vec![
        extension(&KeyUsage(KeyUsages::KeyCertSign | KeyUsages::CRLSign), true)?,
        extension(&signs, true)?,
        extension(&SubjectKeyIdentifier(id), false)?,
        extension(
            &SubjectAltName(vec![general_name(&AlternateName::from_text(name))?]),
            false,
        )?,
    ])
}
