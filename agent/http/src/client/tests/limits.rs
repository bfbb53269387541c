//! Limits of time and memory, and how a failure is told.

use super::{plain, text};
use crate::client::READ_BUFFER;
use crate::testing::{Reply, Server, closed_port};
use crate::{Client, Limits, describe_failure, is_after_connecting};
use std::time::Duration;
use tokio::net::TcpListener;

/// Long enough for loopback, short enough for a test.
const SHORT: Duration = Duration::from_millis(100);

fn limited(silence: Option<Duration>, whole: Option<Duration>) -> Client {
    plain().limited(Limits {
        connect: SHORT,
        silence,
        whole,
    })
}

/// A server whose kernel accepts connections, and which never reads from one.
async fn mute() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    (listener, format!("127.0.0.1:{}", address.port()))
}

#[tokio::test]
async fn no_chunk_is_larger_than_the_read_buffer() {
    let server = Server::start(|_| Reply::bytes(200, &vec![7; 8 << 20])).await;
    let sent = plain().get(&server.url("/large")).send().await;
    let mut response = sent.expect("it answers");
    let mut total = 0;
    while let Some(chunk) = response.chunk().await.expect("it is whole") {
        assert!(chunk.len() <= READ_BUFFER, "{}", chunk.len());
        total += chunk.len();
    }
    assert_eq!(total, 8 << 20);
}

#[tokio::test]
async fn a_text_has_a_limit_and_so_has_its_start() {
    let server = Server::start(|_| Reply::text(200, "0123456789")).await;
    let response = plain()
        .get(&server.url("/"))
        .send()
        .await
        .expect("it answers");
    assert_eq!(response.start(4).await.expect("it is there"), b"0123");
    let response = plain()
        .get(&server.url("/"))
        .send()
        .await
        .expect("it answers");
    let error = response.text(9).await.expect_err("it is longer");
    assert_eq!(error.to_string(), "the answer is too long");
    let response = plain()
        .get(&server.url("/"))
        .send()
        .await
        .expect("it answers");
    assert_eq!(response.text(10).await.expect("it fits"), "0123456789");
}

#[tokio::test]
async fn silence_before_and_within_an_answer_ends_it() {
    let (_kept, address) = mute().await;
    let server = Server::start(|_| Reply::text(200, "half").declaring(8).hanging()).await;
    for client in [limited(Some(SHORT), None), limited(None, Some(SHORT))] {
        let url = format!("http://{address}/x?token=1");
        let failure = client.get(&url).send().await.expect_err("it is mute");
        assert!(is_after_connecting(&failure));
        let reported = describe_failure(&url, &failure);
        assert_eq!(
            reported.summary,
            format!("http://{address}/x stopped answering")
        );
        let response = client.get(&server.url("/")).send().await;
        let mut response = response.expect("its head comes");
        let half = response
            .chunk()
            .await
            .expect("it comes")
            .expect("half of it");
        assert_eq!(half, "half");
        let failure = response.chunk().await.expect_err("the rest does not");
        assert!(is_after_connecting(&failure));
    }
}

#[tokio::test]
async fn a_connection_has_a_limit_that_holds_for_its_tls_too() {
    let (_kept, address) = mute().await;
    let client = limited(None, None);
    let url = format!("https://{address}/");
    let failure = client.get(&url).send().await.expect_err("it is mute");
    assert!(!is_after_connecting(&failure) && failure.is_timeout());
    let reported = describe_failure(&url, &failure);
    let expected = format!("https://{address}/ did not open a connection in time");
    assert_eq!(reported.summary, expected);
}

#[tokio::test]
async fn each_failure_is_told_as_what_it_is() {
    let cut = Server::start(|_| Reply::text(200, "01234567").cut_in_half()).await;
    let closed = closed_port().await;
    let failure = plain()
        .get(&closed)
        .send()
        .await
        .expect_err("nobody listens");
    let reported = describe_failure(&closed, &failure);
    assert_eq!(
        reported.summary,
        format!("{closed}/ could not be connected to")
    );
    assert!(
        reported
            .causes
            .iter()
            .any(|cause| cause.contains("refused")),
        "{reported:?}"
    );
    let mut response = plain()
        .get(&cut.url("/"))
        .send()
        .await
        .expect("its head comes");
    let failure = loop {
        match response.chunk().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("half is not all"),
            Err(failure) => break failure,
        }
    };
    let reported = describe_failure(&cut.url("/"), &failure);
    assert_eq!(
        reported.summary,
        format!("{} ended its answer early", cut.url("/"))
    );
    let (listener, address) = mute().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(stream);
        }
    });
    let url = format!("http://{address}/");
    let failure = plain().get(&url).send().await.expect_err("it hangs up");
    assert_eq!(
        describe_failure(&url, &failure).summary,
        format!("{url} did not answer")
    );
}

#[tokio::test]
async fn a_name_is_resolved_without_the_c_library() {
    let server = Server::start(|_| Reply::text(200, "by name")).await;
    let url = server.url("/").replace("127.0.0.1", "localhost");
    assert_eq!(text(&plain(), &url).await, "by name");
    let nowhere = "http://nowhere.invalid/";
    let failure = plain().get(nowhere).send().await.expect_err("no such name");
    assert!(failure.is_connect(), "{failure}");
}
