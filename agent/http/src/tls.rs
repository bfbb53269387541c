//! Whose certificates are trusted. The system's CAs are read when the first https connection is opened, and
//! once: that takes milliseconds, which a client that never speaks https does not pay.

use super::ca_error_verifier::CaErrorVerifier;
use quake_model::ports::{Condition, PortError};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Whom a client believes.
#[derive(Debug, Clone)]
pub(crate) enum Trust {
    /// The system's CAs, and these beside them.
    SystemAnd(Vec<CertificateDer<'static>>),
    Only(Vec<CertificateDer<'static>>),
    /// These alone, and who else signed is told.
    Cluster(Vec<CertificateDer<'static>>),
    /// Anyone, which is for peers on loopback only.
    Anyone,
}

/// The TLS side of a client; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Tls(Arc<Settings>);

/// What a client proves who it is with.
#[derive(Debug)]
pub(crate) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

#[derive(Debug)]
struct Settings {
    trust: Trust,
    identity: Option<Identity>,
    config: OnceLock<Result<Arc<ClientConfig>, rustls::Error>>,
}

impl Tls {
    /// Nothing is read yet.
    pub(crate) fn new(trust: Trust) -> Self {
        Self::with_trust(trust, None)
    }

    /// The same for a client that proves who it is.
    pub(crate) fn with_identity(trust: Trust, identity: Identity) -> Self {
        Self::with_trust(trust, Some(identity))
    }

    fn with_trust(trust: Trust, identity: Option<Identity>) -> Self {
        let config = OnceLock::new();
        Self(Arc::new(Settings {
            trust,
            identity,
            config,
        }))
    }

    /// The configuration of every connection; the first call makes it.
    ///
    /// # Errors
    ///
    /// Returns the library's error when the provider lacks what TLS needs, which would be a defect of the build.
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, rustls::Error> {
        let made = self.0.config.get_or_init(|| make_config(&self.0));
        made.clone()
    }
}

fn make_config(settings: &Settings) -> Result<Arc<ClientConfig>, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?;
    let builder = match &settings.trust {
        // Without any CA, plain http still works, and https fails on the certificate, with its name.
        Trust::SystemAnd(extra) if extra.is_empty() => {
            builder.with_root_certificates(Arc::clone(system_roots()))
        }
        Trust::SystemAnd(extra) => {
            let system = RootCertStore::clone(system_roots());
            builder.with_root_certificates(roots_with(system, extra))
        }
        Trust::Only(ca_bundle) => {
            builder.with_root_certificates(roots_with(RootCertStore::empty(), ca_bundle))
        }
        Trust::Cluster(ca_bundle) => {
            let judge = CaErrorVerifier::new(ca_bundle, Arc::new(default_provider()))?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(judge))
        }
        Trust::Anyone => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(BelieveAnyone)),
    };
    let mut config = match &settings.identity {
        None => builder.with_no_client_auth(),
        Some(Identity { chain, key }) => {
            builder.with_client_auth_cert(chain.clone(), key.clone_key())?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn roots_with(mut roots: RootCertStore, extra: &[CertificateDer<'static>]) -> RootCertStore {
    roots.add_parsable_certificates(extra.iter().cloned());
    roots
}

/// The system's CAs, read once in a process. What cannot be read is left out: a distribution's bundle may hold
/// an odd one.
pub(crate) fn system_roots() -> &'static Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    ROOTS.get_or_init(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(roots)
    })
}

/// Reads a bundle of CAs, each proven to be one that can be used.
///
/// # Errors
///
/// `Io` when it cannot be read, `Malformed` when it holds none, or one that cannot be used.
pub(crate) fn read_bundle(path: &Path) -> Result<Vec<CertificateDer<'static>>, PortError> {
    let pem = std::fs::read(path).map_err(|error| {
        let summary = format!("the certificate bundle {} cannot be read", path.display());
        let error = PortError::new(Condition::Io, summary).because(&error);
        error.remedied_by(bundle_remedy(path))
    })?;
    let malformed = || {
        let summary = format!("{} holds no usable certificate", path.display());
        PortError::new(Condition::Malformed, summary).remedied_by(bundle_remedy(path))
    };
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let certificates = read.map_err(|error| malformed().because(&error))?;
    if certificates.is_empty() {
        return Err(malformed());
    }
    let mut trial = RootCertStore::empty();
    for certificate in &certificates {
        let added = trial.add(certificate.clone());
        added.map_err(|error| malformed().because(&error))?;
    }
    Ok(certificates)
}

/// Reads certificates of PEM text; `what` names them in the error.
///
/// # Errors
///
/// `Malformed` when there is none, or one that cannot be read.
pub(crate) fn read_certificates(
    what: &str,
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, PortError> {
    let malformed = || PortError::new(Condition::Malformed, format!("{what} cannot be read"));
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = read.map_err(|error| malformed().because(&error))?;
    match certificates.is_empty() {
        true => Err(malformed()),
        false => Ok(certificates),
    }
}

/// Reads what a client proves who it is with. No error quotes the key.
///
/// # Errors
///
/// `Malformed` when there is no certificate or no key.
pub(crate) fn read_identity(certificate: &[u8], key: &[u8]) -> Result<Identity, PortError> {
    let chain = read_certificates("the client certificate", certificate)?;
    let unread = |_| {
        PortError::new(
            Condition::Malformed,
            "the client certificate's key cannot be read",
        )
    };
    let key = PrivateKeyDer::from_pem_slice(key).map_err(unread)?;
    Ok(Identity { chain, key })
}

/// What to do about a bundle. Whatever was to be fetched, it is this that must be fixed, so no fault's own remedy fits.
fn bundle_remedy(path: &Path) -> String {
    format!(
        "let AWS_CA_BUNDLE in the agent's environment name a file of PEM certificates that the agent can read,          and only usable ones, or unset it to trust the system's CAs alone; it names {}",
        path.display()
    )
}

/// Takes every certificate for good: whoever can answer on loopback is on this machine already.
#[derive(Debug)]
struct BelieveAnyone;

impl ServerCertVerifier for BelieveAnyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider = default_provider();
        provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
