//! Redirects: how far they are followed, and what goes along.

use super::plain;
use crate::testing::{Reply, Server};
use crate::{build_metadata_client, describe_failure};

fn sent_to(url: &str, status: u16) -> Reply {
    Reply::text(status, "").with("location", url)
}

#[tokio::test]
async fn headers_go_along_and_credentials_do_not_leave_their_host() {
    let other = Server::start(|_| Reply::text(200, "there")).await;
    let away = other.url("/there").replace("//", "//them:secret@");
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/here" => sent_to("next", 302),
        _ => sent_to(&away, 307),
    });
    let server = server.await;
    let url = server.url("/here").replace("//", "//us:pa55@");
    let request = plain().get(&url).header("range", "bytes=0-7");
    let request = request.header("accept-encoding", "identity");
    let response = request.send().await.expect("it answers");
    assert_eq!(response.text(16).await.expect("it has a body"), "there");
    assert_eq!(server.lines(), ["GET /here", "GET /next"]);
    for seen in server.seen() {
        assert_eq!(seen.header("authorization"), Some("Basic dXM6cGE1NQ=="));
    }
    let seen = &other.seen()[0];
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(seen.header("range"), Some("bytes=0-7"));
    assert_eq!(seen.header("accept-encoding"), Some("identity"));
    assert_eq!(seen.header("referer"), None);
}

#[tokio::test]
async fn credentials_that_were_dropped_do_not_come_back_with_the_next_redirect() {
    let other = Server::start(|seen| match seen.path.as_str() {
        "/first" => sent_to("/second", 302),
        _ => Reply::text(200, "there"),
    });
    let other = other.await;
    let away = other.url("/first");
    let server = Server::start(move |_| sent_to(&away, 302)).await;
    let url = server.url("/").replace("//", "//us:pa55@");
    plain().get(&url).send().await.expect("it answers");
    assert!(server.seen()[0].header("authorization").is_some());
    assert_eq!(other.lines(), ["GET /first", "GET /second"]);
    for seen in other.seen() {
        assert_eq!(seen.header("authorization"), None, "{}", seen.path);
    }
}

#[tokio::test]
async fn five_redirects_are_followed_and_a_sixth_is_not() {
    let server = Server::start(|seen| {
        let left: u32 = seen.path[1..].parse().expect("the tests ask for numbers");
        match left {
            0 => Reply::text(200, "arrived"),
            left => sent_to(&format!("/{}", left - 1), 301),
        }
    });
    let server = server.await;
    let arrived = plain().get(&server.url("/5")).send().await;
    assert_eq!(arrived.expect("five are followed").status().as_u16(), 200);
    let url = server.url("/6");
    let failure = plain().get(&url).send().await.expect_err("six are not");
    let reported = describe_failure(&url, &failure);
    assert_eq!(reported.summary, format!("{url} redirects without an end"));
    assert_eq!(server.seen().len(), 6 + 6);
}

#[tokio::test]
async fn a_redirect_that_leads_nowhere_is_an_answer() {
    for place in ["file:///etc/passwd", "http://"] {
        let server = Server::start(move |_| sent_to(place, 302)).await;
        let response = plain().get(&server.url("/")).send().await;
        assert_eq!(response.expect("it answers").status().as_u16(), 302);
    }
}

#[tokio::test]
async fn the_metadata_client_follows_none() {
    let server = Server::start(|_| sent_to("/elsewhere", 302)).await;
    let sent = build_metadata_client()
        .put(&server.url("/token"))
        .send()
        .await;
    assert_eq!(sent.expect("it answers").status().as_u16(), 302);
    assert_eq!(server.lines(), ["PUT /token"]);
}
