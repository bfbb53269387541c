//! TLS: who is believed, and the way through a proxy. The certificate, its key and their CA, in `testdata`, are
//! of these tests alone.

use super::{keep_answering, proxied, text};
use crate::testing::read_request;
use crate::{
    Client, HttpSettings, PinnedPeer, Speaks, build_loopback_client, build_pinned_client,
    describe_failure, reach,
};
use quake_model::facts::Reached;
use quake_model::time::Timestamp;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

const CERTIFICATE: &[u8] = include_bytes!("../../../testdata/mirror.der");
/// One of the same key that was over in 2021.
const PAST: &[u8] = include_bytes!("../../../testdata/past.der");
const KEY: &[u8] = include_bytes!("../../../testdata/mirror-key.der");

/// A mirror that speaks HTTP/1.1 over TLS, for `mirror.test`, `localhost` and 127.0.0.1; its port.
async fn mirror() -> u16 {
    mirror_with(CERTIFICATE).await
}

/// The same with this certificate.
async fn mirror_with(certificate: &'static [u8]) -> u16 {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_no_client_auth();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(KEY));
    let chain = vec![CertificateDer::from(certificate)];
    let mut config = config.with_single_cert(chain, key).expect("they match");
    // A client that offered HTTP/2 would be given it, and not understand the answer.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(keep_answering(stream, "over tls"));
            }
        }
    });
    port
}

/// A proxy that connects every client to `port`, whatever it asks for; its port, and the heads it saw.
async fn proxy(port: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let own = listener.local_addr().expect("it is bound").port();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let Some(request) = read_request(&mut stream).await else {
                continue;
            };
            let reported = request.header("proxy-authorization").unwrap_or("nothing");
            let line = format!("{} {} {reported}", request.method, request.path);
            log.lock().expect("nobody panics with it").push(line);
            let mut upstream = TcpStream::connect(("127.0.0.1", port)).await;
            let opened = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            if let (Ok(upstream), Ok(())) = (&mut upstream, opened) {
                let _ = copy_bidirectional(&mut stream, upstream).await;
            }
        }
    });
    (own, seen)
}

fn believing(settings: HttpSettings) -> Client {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let settings = HttpSettings {
        ca_bundle: Some(folder.join("authority.pem")),
        ..settings
    };
    settings.build_client().expect("the bundle is good")
}

#[tokio::test]
async fn a_ca_of_the_bundle_is_believed_for_its_names() {
    let port = mirror().await;
    let client = believing(HttpSettings::default());
    for host in ["localhost", "127.0.0.1"] {
        let found = text(&client, &format!("https://{host}:{port}/")).await;
        assert_eq!(found, "over tls");
    }
    let url = format!("https://127.0.0.2:{port}/");
    let failure = client.get(&url).send().await.expect_err("not its name");
    assert!(failure.is_connect(), "{failure}");
}

#[tokio::test]
async fn without_a_ca_https_fails_on_the_certificate_by_name() {
    let port = mirror().await;
    let url = format!("https://localhost:{port}/kubelet");
    let client = HttpSettings::default()
        .build_client()
        .expect("nothing is read");
    // The second has not a single CA, as a system without the package of them.
    for client in [client, crate::build_metadata_client()] {
        let failure = client.get(&url).send().await.expect_err("nobody knows it");
        let reported = describe_failure(&url, &failure);
        assert_eq!(reported.summary, format!("{url} could not be connected to"));
        let names_it = |cause: &String| cause.contains("certificate");
        assert!(reported.causes.iter().any(names_it), "{reported:?}");
    }
}

#[tokio::test]
async fn a_certificate_that_is_over_by_the_clock_is_told_from_one_that_nobody_knows() {
    let client = believing(HttpSettings::default());
    let unknown = HttpSettings::default();
    let unknown = unknown.build_client().expect("nothing is read");
    for (client, certificate, of_dates) in [(client, PAST, true), (unknown, CERTIFICATE, false)] {
        let url = format!("https://localhost:{}/", mirror_with(certificate).await);
        let failure = client.get(&url).send().await.expect_err("not believed");
        assert_eq!(failure.is_of_dates(), of_dates, "{failure:?}");
    }
}

#[tokio::test]
async fn on_loopback_any_certificate_does_and_every_name_is_this_machine() {
    let port = mirror().await;
    let client = build_loopback_client(Duration::from_secs(5));
    let found = text(&client, &format!("https://node.test:{port}/healthz")).await;
    assert_eq!(found, "over tls");
}

#[tokio::test]
async fn https_goes_through_a_tunnel_and_the_proxy_resolves_the_name() {
    let (proxy, seen) = proxy(mirror().await).await;
    let url = format!("http://user:pa55@127.0.0.1:{proxy}");
    let client = believing(proxied(&[("https_proxy", &url)]));
    for path in ["kubelet", "kubectl"] {
        let found = text(&client, &format!("https://mirror.test/{path}")).await;
        assert_eq!(found, "over tls");
        tokio::task::yield_now().await;
    }
    // One tunnel for both; what goes through it is not the proxy's to see.
    let reported = seen.lock().expect("nobody panics with it").clone();
    assert_eq!(reported, ["CONNECT mirror.test:443 Basic dXNlcjpwYTU1"]);
}

#[tokio::test]
async fn a_peer_is_told_of_with_its_certificate_be_it_trusted_or_not() {
    let ours = Speaks::TlsOf(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/authority.pem"));
    let seen = async |port, speaks: &Speaks| match reach(
        "127.0.0.1",
        port,
        speaks,
        Duration::from_secs(10),
    )
    .await
    {
        Reached::Connected { tls: Some(tls) } => tls,
        other => panic!("it listens: {other:?}"),
    };
    let tls = seen(mirror().await, &ours).await;
    assert_eq!(tls.distrusted, None);
    assert!(
        tls.names.contains(&"mirror.test".to_owned()),
        "{:?}",
        tls.names
    );
    let strange = seen(mirror().await, &Speaks::Tls).await;
    assert!(strange.distrusted.is_some() && strange.not_after == tls.not_after);
    let past = seen(mirror_with(PAST).await, &ours).await;
    // 2022-01-01; it was over before.
    assert!(
        past.not_after
            .is_some_and(|ends| ends < Timestamp(1_640_995_200_000))
    );
    assert!(past.distrusted.is_some());
}

/// A client that believes the CA of these tests, and wants a certificate for this name.
fn pinned(name: Option<&str>) -> Client {
    let ca_bundle = include_bytes!("../../../testdata/authority.pem");
    let peer = PinnedPeer {
        ca_bundle,
        name,
        addresses: vec![[127, 0, 0, 1].into()],
    };
    build_pinned_client(&peer, Duration::from_secs(15)).expect("the CA reads")
}

#[tokio::test]
async fn a_pinned_peer_is_asked_at_its_address_for_the_name_that_is_wanted() {
    let port = mirror().await;
    for (name, host) in [
        (None, "mirror.test"),
        (Some("mirror.test"), "127.0.0.1"),
        (Some("mirror.test"), "kops-controller.internal.c.example"),
    ] {
        let url = format!("https://{host}:{port}/bootstrap");
        assert_eq!(text(&pinned(name), &url).await, "over tls", "{host}");
    }
    let url = format!("https://mirror.test:{port}/");
    let sent = pinned(Some("other.test")).get(&url).send().await;
    let why = sent.expect_err("not its name").distrust();
    let why = why.expect("the certificate was refused");
    assert!(
        why.contains("mirror.test") && why.contains("not for other.test"),
        "{why}"
    );
}

#[tokio::test]
async fn a_peer_of_another_ca_is_told_of_with_both() {
    let port = mirror().await;
    let ca_bundle = include_bytes!("../../../testdata/other-authority.pem");
    let peer = PinnedPeer {
        ca_bundle,
        name: None,
        addresses: vec![[127, 0, 0, 1].into()],
    };
    let client = build_pinned_client(&peer, Duration::from_secs(15)).expect("it reads");
    let url = format!("https://mirror.test:{port}/");
    let why = client
        .get(&url)
        .send()
        .await
        .expect_err("a stranger's")
        .distrust();
    let why = why.expect("the certificate was refused");
    assert!(
        why.contains("signed by") && why.contains("trusted are CN=kubernetes-ca"),
        "{why}"
    );
}
