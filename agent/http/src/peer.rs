//! Whom a connection reaches: it is opened, its TLS begun, the certificate read be it trusted or not, and closed again.
//! Nothing is sent over it.

use super::resolver::Resolver;
use super::tls::{read_bundle, system_roots};
use quake_model::facts::{Reached, TlsSeen};
use quake_model::time::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// What is spoken at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speaks {
    /// No TLS, or none that is to be looked at.
    Plain,
    /// TLS, of one whom the system's CAs vouch for.
    Tls,
    /// TLS, of one whom the CAs of this PEM file vouch for, such as the cluster's own.
    TlsOf(PathBuf),
}

/// Connects to a host and looks at its certificate, all within the limit.
pub async fn reach(host: &str, port: u16, speaks: &Speaks, limit: Duration) -> Reached {
    let deadline = Instant::now() + limit;
    let addresses = match host.parse::<IpAddr>() {
        Ok(address) => vec![address],
        Err(_) => match timeout_at(deadline, Resolver.lookup(host)).await {
            Ok(Ok(addresses)) if !addresses.is_empty() => addresses,
            Ok(_) => return Reached::NoAddress,
            Err(_) => return Reached::TimedOut,
        },
    };
    let stream = match connect(&addresses, port, deadline).await {
        Ok(stream) => stream,
        Err(result) => return result,
    };
    let roots = match speaks {
        Speaks::Plain => return Reached::Connected { tls: None },
        Speaks::Tls => Arc::clone(system_roots()),
        Speaks::TlsOf(bundle) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(read_bundle(bundle).unwrap_or_default());
            Arc::new(roots)
        }
    };
    match timeout_at(deadline, look(host, stream, roots)).await {
        Ok(tls) => Reached::Connected { tls: Some(tls) },
        Err(_) => Reached::TimedOut,
    }
}

/// A connection to the first address that takes one; each gets its share of the time.
async fn connect(addresses: &[IpAddr], port: u16, deadline: Instant) -> Result<TcpStream, Reached> {
    let mut result = Reached::NoAddress;
    for (index, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(addresses.len() - index).unwrap_or(1);
        let opening = TcpStream::connect(SocketAddr::new(*address, port));
        match timeout(share, opening).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => result = refusal(&error),
            Err(_) => result = Reached::TimedOut,
        }
    }
    Err(result)
}

fn refusal(error: &Error) -> Reached {
    match error.kind() {
        ErrorKind::ConnectionRefused => Reached::Refused,
        ErrorKind::TimedOut => Reached::TimedOut,
        _ => Reached::Unreachable {
            why: error.to_string(),
        },
    }
}

/// Begins TLS and tells of the certificate.
async fn look(host: &str, stream: TcpStream, roots: Arc<RootCertStore>) -> TlsSeen {
    let said = Arc::new(Mutex::new(None));
    let begun = begin(host, stream, roots, Arc::clone(&said)).await;
    let said = said.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (said, begun) {
        (Some(seen), _) => seen,
        (None, Ok(())) => distrusted("it showed no certificate".to_owned()),
        (None, Err(why)) => distrusted(why),
    }
}

async fn begin(
    host: &str,
    stream: TcpStream,
    roots: Arc<RootCertStore>,
    said: Said,
) -> Result<(), String> {
    let provider = Arc::new(default_provider());
    // Without any CA nobody is vouched for, and the certificate is told of all the same.
    let judge = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
        .build()
        .ok();
    let verifier = Record { judge, said };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
    let opened = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await;
    opened.map(|_| ()).map_err(|error| error.to_string())
}

fn distrusted(why: String) -> TlsSeen {
    TlsSeen {
        distrusted: Some(why),
        not_after: None,
        names: Vec::new(),
    }
}

type Said = Arc<Mutex<Option<TlsSeen>>>;

/// Writes down what is to be said of a certificate, and lets the handshake go on: nothing is sent afterwards.
#[derive(Debug)]
struct Record {
    judge: Option<Arc<WebPkiServerVerifier>>,
    said: Said,
}

impl ServerCertVerifier for Record {
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
            .as_ref()
            .map(|judge| judge.verify_server_cert(certificate, others, name, stapled, now));
        let why = match judged {
            Some(Ok(_)) => None,
            Some(Err(error)) => Some(error.to_string()),
            None => Some("no CA is known here".to_owned()),
        };
        let seen = read(certificate, why);
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
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
        default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// What a certificate says of itself.
fn read(certificate: &CertificateDer<'_>, distrusted: Option<String>) -> TlsSeen {
    let Ok(parsed) = Certificate::from_der(certificate) else {
        return TlsSeen {
            distrusted,
            not_after: None,
            names: Vec::new(),
        };
    };
    let body = parsed.tbs_certificate;
    let ends = body.validity.not_after.to_unix_duration().as_millis();
    let alternatives = body.get::<SubjectAltName>().ok().flatten();
    let names = alternatives
        .iter()
        .flat_map(|(_, names)| &names.0)
        .filter_map(|name| match name {
            GeneralName::DnsName(name) => Some(name.to_string()),
            _ => None,
        });
    TlsSeen {
        distrusted,
        not_after: u64::try_from(ends).ok().map(Timestamp),
        names: names.collect(),
    }
}
