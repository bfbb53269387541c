//! Believes the CAs of one cluster alone, and says of a certificate that is not believed whose it is and who was
//! trusted: every cluster's CA has the same name, so they are told apart by the ids of their keys.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use std::fmt;
use std::sync::Arc;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{AuthorityKeyIdentifier, SubjectAltName, SubjectKeyIdentifier};

/// How many names or CAs are told of.
const TOLD: usize = 4;

/// Judges as the library does, and says more where it refuses.
#[derive(Debug)]
pub(crate) struct CaErrorVerifier {
    judge: Arc<WebPkiServerVerifier>,
    trusted: Vec<String>,
}

impl CaErrorVerifier {
    /// A judge who trusts these CAs alone.
    ///
    /// # Errors
    ///
    /// Returns the library's error when none of them can be used.
    pub(crate) fn new(
        ca_bundle: &[CertificateDer<'static>],
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(ca_bundle.iter().cloned());
        let judge = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let judge = judge.map_err(|error| rustls::Error::General(error.to_string()))?;
        let trusted = ca_bundle.iter().filter_map(ca).collect();
        Ok(Self { judge, trusted })
    }

    /// The refusal in more words. Dates are left to the library, whose error others know by its kind.
    fn explain(
        &self,
        error: rustls::Error,
        shown: &CertificateDer<'_>,
        name: &ServerName<'_>,
    ) -> rustls::Error {
        let rustls::Error::InvalidCertificate(why) = &error else {
            return error;
        };
        let Ok(shown) = Certificate::from_der(shown) else {
            return error;
        };
        let said = match why {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => return error,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                let (wanted, names) = (name.to_str(), listed(&names(&shown)));
                format!("the certificate is for {names}, and not for {wanted}")
            }
            _ => format!(
                "the certificate is signed by {}, and trusted are {}: {why}",
                issuer(&shown),
                listed(&self.trusted)
            ),
        };
        let said: Arc<dyn std::error::Error + Send + Sync> = Arc::new(Distrust(said));
        CertificateError::Other(OtherError(said)).into()
    }
}

impl ServerCertVerifier for CaErrorVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let judged = self
            .judge
            .verify_server_cert(certificate, others, name, stapled, now);
        judged.map_err(|error| self.explain(error, certificate, name))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.judge
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.judge
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.judge.supported_verify_schemes()
    }
}

/// Why a certificate was not believed, in words.
#[derive(Debug)]
struct Distrust(String);

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Distrust {}

/// A CA by its name and the id of its key.
fn ca(der: &CertificateDer<'static>) -> Option<String> {
    let said = Certificate::from_der(der).ok()?.tbs_certificate;
    let key = said.get::<SubjectKeyIdentifier>().ok().flatten();
    let id = key.map(|(_, key)| hex(key.0.as_bytes()));
    Some(named(&said.subject.to_string(), id))
}

/// Who signed a certificate, by what it says itself.
fn issuer(shown: &Certificate) -> String {
    let said = &shown.tbs_certificate;
    let key = said.get::<AuthorityKeyIdentifier>().ok().flatten();
    let id = key.and_then(|(_, key)| key.key_identifier);
    named(&said.issuer.to_string(), id.map(|id| hex(id.as_bytes())))
}

fn named(name: &str, id: Option<String>) -> String {
    let id = id.unwrap_or_else(|| "unknown".to_owned());
    format!("{name} (key {id})")
}

/// The names and addresses that a certificate is for.
fn names(shown: &Certificate) -> Vec<String> {
    let found = shown.tbs_certificate.get::<SubjectAltName>().ok().flatten();
    let names = found.map_or_else(Vec::new, |(_, names)| names.0);
    let reported = names.iter().filter_map(|name| match name {
        GeneralName::DnsName(name) => Some(name.to_string()),
        GeneralName::IpAddress(bytes) => {
            let bytes = bytes.as_bytes();
            let v4 = <[u8; 4]>::try_from(bytes).map(std::net::IpAddr::from);
            let v6 = || <[u8; 16]>::try_from(bytes).map(std::net::IpAddr::from);
            let address = v4.or_else(|_| v6()).ok()?;
            Some(address.to_string())
        }
        _ => None,
    });
    reported.collect()
}

fn listed(texts: &[String]) -> String {
    if texts.is_empty() {
        return "none".to_owned();
    }
    let mut reported: Vec<&str> = texts.iter().take(TOLD).map(String::as_str).collect();
    if texts.len() > TOLD {
        reported.push("others");
    }
    reported.join(", ")
}

/// The first bytes of an id, which tell keys apart for a person.
fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().take(8).map(|byte| format!("{byte:02x}"));
    digits.collect()
}
