//! A client that proves who it is, as kubelet does to its API server.

use super::{keep_answering, text};
use crate::{ApiServerTrust, build_api_server_client};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use quake_model::ports::Condition;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const CERTIFICATE: &[u8] = include_bytes!("../../../testdata/mirror.der");
const KEY: &[u8] = include_bytes!("../../../testdata/mirror-key.der");
const AUTHORITY: &[u8] = include_bytes!("../../../testdata/authority.pem");

/// Insists on a certificate, takes any, and remembers it.
#[derive(Debug, Default)]
struct Remembers(Mutex<Vec<u8>>);

impl ClientCertVerifier for Remembers {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        *self.0.lock().expect("nobody panics with it") = certificate.to_vec();
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let algorithms = provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

/// An API server that wants to know who asks; its port.
async fn api_server(verifier: Arc<Remembers>) -> u16 {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_client_cert_verifier(verifier);
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(KEY));
    let chain = vec![CertificateDer::from(CERTIFICATE)];
    let config = config.with_single_cert(chain, key).expect("they match");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(keep_answering(stream, "a node"));
            }
        }
    });
    port
}

fn pem(word: &str, der: &[u8]) -> Vec<u8> {
    let body = BASE64_STANDARD.encode(der);
    format!("-----BEGIN {word}-----\n{body}\n-----END {word}-----\n").into_bytes()
}

#[tokio::test]
async fn the_api_server_is_shown_the_certificate() {
    let verifier = Arc::new(Remembers::default());
    let port = api_server(Arc::clone(&verifier)).await;
    let (certificate, key) = (pem("CERTIFICATE", CERTIFICATE), pem("PRIVATE KEY", KEY));
    let trust = ApiServerTrust {
        ca_bundle: AUTHORITY,
        certificate: &certificate,
        key: &key,
    };
    let client = build_api_server_client(trust, Duration::from_secs(5)).expect("all can be read");
    let found = text(&client, &format!("https://127.0.0.1:{port}/")).await;
    assert_eq!(found, "a node");
    let shown = verifier.0.lock().expect("nobody panics with it").clone();
    assert_eq!(shown, CERTIFICATE);
}

#[test]
fn what_cannot_be_read_is_told_without_the_key() {
    let (certificate, key) = (pem("CERTIFICATE", CERTIFICATE), pem("PRIVATE KEY", KEY));
    let whole = ApiServerTrust {
        ca_bundle: AUTHORITY,
        certificate: &certificate,
        key: &key,
    };
    for (trust, word) in [
        (
            ApiServerTrust {
                ca_bundle: b"x",
                ..whole
            },
            "CA",
        ),
        (
            ApiServerTrust {
                certificate: b"",
                ..whole
            },
            "client certificate",
        ),
        (
            ApiServerTrust {
                key: b"hunter2",
                ..whole
            },
            "key",
        ),
    ] {
        let error = build_api_server_client(trust, Duration::from_secs(1)).expect_err(word);
        assert_eq!(error.condition, Condition::Malformed);
        let reported = format!("{error:?}");
        assert!(
            reported.contains(word) && !reported.contains("hunter2"),
            "{reported}"
        );
    }
}
