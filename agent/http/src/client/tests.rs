//! What the client promises, against servers on loopback.

mod identity;
mod limits;
mod redirects;
mod secure;

use crate::testing::{Reply, Server, read_request};
use crate::{Client, HttpSettings, ProxySettings, build_endpoint_client};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};

fn plain() -> Client {
    let settings = HttpSettings::default();
    settings.build_client().expect("nothing is read")
}

fn proxied(pairs: &[(&str, &str)]) -> HttpSettings {
    HttpSettings {
        proxy: ProxySettings::from_lookup(|name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, url)| (*url).to_owned())
        }),
        ca_bundle: None,
    }
}

async fn text(client: &Client, url: &str) -> String {
    let response = client.get(url).send().await.expect("it answers");
    response.text(1024).await.expect("it has a body")
}

/// Answers every request on one connection, as long as the client keeps it.
async fn keep_answering<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, body: &str) {
    while read_request(&mut stream).await.is_some() {
        let length = body.len();
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_request_names_the_agent_and_asks_for_what_it_is_told_to() {
    let server = Server::start(|_| Reply::text(200, "yes")).await;
    let request = plain().get(&server.url("/a?b=c#d"));
    let sent = request.header("range", "bytes=0-7").send().await;
    let response = sent.expect("it answers");
    assert_eq!(response.content_length(), Some(3));
    assert_eq!(server.lines(), ["GET /a?b=c"]);
    let seen = &server.seen()[0];
    assert_eq!(seen.header("range"), Some("bytes=0-7"));
    assert_eq!(seen.header("accept"), Some("*/*"));
    assert_eq!(seen.header("referer"), None);
    assert!(
        seen.header("user-agent")
            .is_some_and(|it| it.starts_with("quake-agent/"))
    );
    assert!(
        seen.header("host")
            .is_some_and(|it| it.starts_with("127.0.0.1:"))
    );
}

#[tokio::test]
async fn what_cannot_be_asked_for_fails_and_asks_nobody() {
    let server = Server::start(|_| Reply::text(200, "")).await;
    for (url, header) in [("no url", "x"), (&server.url("/"), "a\nb")] {
        let sent = plain().get(url).header("x", header).send().await;
        assert!(sent.expect_err("it is none").is_request(), "{url}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_user_in_the_url_is_sent_as_credentials_and_not_in_the_path() {
    let server = Server::start(|_| Reply::text(200, "")).await;
    let url = server.url("/x").replace("//", "//us%40er:pa%3Ass@");
    text(&plain(), &url).await;
    let seen = &server.seen()[0];
    // us@er:pa:ss
    assert_eq!(seen.header("authorization"), Some("Basic dXNAZXI6cGE6c3M="));
    assert_eq!(seen.path, "/x");
}

#[tokio::test]
async fn clones_share_a_connection_that_is_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(keep_answering(stream, "kept"));
        }
    });
    let client = plain();
    for client in [client.clone(), client.limited(client.limits()), client] {
        assert_eq!(text(&client, &url).await, "kept");
        // The connection goes back to the pool in a task of its own.
        tokio::task::yield_now().await;
    }
    assert_eq!(opened.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_agents_socket_is_asked_whatever_the_urls_host() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let path = folder.path().join("agent.sock");
    let listener = UnixListener::bind(&path).expect("it is ours");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(keep_answering(stream, "from the socket"));
        }
    });
    let client = build_endpoint_client(Some(&path), Duration::from_secs(5));
    assert_eq!(
        text(&client, "http://localhost/v1").await,
        "from the socket"
    );
    let absent = folder.path().join("absent.sock");
    let client = build_endpoint_client(Some(&absent), Duration::from_secs(5));
    let failed = client.get("http://localhost/v1").send().await;
    assert!(failed.expect_err("nobody listens").is_connect());
}

#[tokio::test]
async fn plain_http_goes_to_its_proxy_with_the_whole_url_and_the_proxys_password() {
    let proxy = Server::start(|_| Reply::text(200, "from the proxy")).await;
    let url = proxy.url("").replace("//", "//user:pa55@");
    let bare = proxy.url("").replace("http://", "");
    for (set, reported) in [(url, Some("Basic dXNlcjpwYTU1")), (bare, None)] {
        let client = proxied(&[("http_proxy", &set)]).build_client();
        let client = client.expect("the proxy is one");
        let found = text(&client, "http://mirror.test/kubelet").await;
        assert_eq!(found, "from the proxy");
        let seen = proxy.seen().pop().expect("it was asked");
        assert_eq!(seen.path, "http://mirror.test/kubelet");
        assert_eq!(seen.header("proxy-authorization"), reported);
        assert_eq!(seen.header("authorization"), None);
    }
}
