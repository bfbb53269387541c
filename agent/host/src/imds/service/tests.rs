//! The service as a small local server plays it: every way in which it answers or does not.

use super::*;
use crate::imds::ImdsCredentials;
use quake_http::testing::{Reply, Seen, Server, closed_port};
use quake_model::ports::Meter;
use std::sync::atomic::{AtomicUsize, Ordering};

const DOCUMENT: &str = r#"{"accountId":"123456789012","architecture":"x86_64","availabilityZone":
    "us-west-2a","imageId":"ami-1","instanceId":"i-1","instanceType":"m5.large","privateIp":"10.0.0.4",
    "region":"us-west-2"}"#;

/// A well-behaved service that also checks the token.
fn service(seen: &Seen) -> Reply {
    if seen.method == "PUT" {
        let requested = seen.header("x-aws-ec2-metadata-token-ttl-seconds");
        let status = if requested == Some("21600") { 200 } else { 400 };
        return Reply::text(status, "AQAEAtoken==");
    }
    if seen.header("x-aws-ec2-metadata-token") != Some("AQAEAtoken==") {
        return Reply::text(401, "");
    }
    match seen.path.as_str() {
        "/latest/dynamic/instance-identity/document" => Reply::text(200, DOCUMENT),
        "/latest/meta-data/local-hostname" => {
            Reply::text(200, "ip-10-0-0-4.us-west-2.compute.internal")
        }
        "/latest/meta-data/mac" => Reply::text(200, "0a:11:22:33:44:55"),
        "/latest/meta-data/iam/security-credentials/" => Reply::text(200, "nodes.example.com"),
        "/latest/meta-data/iam/security-credentials/nodes.example.com" => Reply::text(
            200,
            r#"{"Code":"Success","AccessKeyId":"ASIAEXAMPLEEXAMPLE12","SecretAccessKey":"s3cr3t","Token":"t0ken","Expiration":"2099-01-01T00:00:00Z"}"#,
        ),
        _ => Reply::text(404, "<?xml version=\"1.0\"?>"),
    }
}

fn imds(server: &Server) -> (Imds, Calls) {
    let calls = Calls::new();
    // The trailing slash is how some tools set it.
    let endpoint = MetadataEndpoint::At(server.url("/"));
    (Imds::new(&endpoint, calls.clone()), calls)
}

async fn fails(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> PortError {
    let server = Server::start(answer).await;
    imds(&server)
        .0
        .read_instance()
        .await
        .expect_err("it must fail")
}

#[tokio::test]
async fn an_instance_is_known_after_one_token_and_three_reads() {
    let server = Server::start(service).await;
    let (imds, calls) = imds(&server);
    let facts = imds.read_instance().await.expect("the service is well");
    assert_eq!(
        (facts.instance_id.as_str(), facts.zone.as_str()),
        ("i-1", "us-west-2a")
    );
    assert_eq!(facts.mac, "0a:11:22:33:44:55");
    imds.read_role().await.expect("there is a role");
    assert_eq!(imds.read_region().await, Ok("us-west-2".to_owned()));
    assert_eq!(imds.read_user_data().await, Ok(None));
    let counted = calls.calls();
    assert_eq!((counted["imds:Token"], counted["imds:GetMetadata"]), (1, 5));
    assert_eq!(server.lines().len(), 6, "the region was known already");
}

#[tokio::test]
async fn a_service_that_is_turned_off_is_denied_with_the_command_that_turns_it_on() {
    let error = fails(|_| Reply::text(403, "")).await;
    assert_eq!(error.condition, Condition::Denied);
    let remedy = error.remedy.expect("it names the command");
    assert!(remedy.contains("--http-endpoint enabled"), "{remedy}");
}

#[tokio::test]
async fn what_refuses_in_the_place_of_the_service_is_denied_with_another_remedy() {
    for status in [401, 404] {
        let error = fails(move |_| Reply::text(status, "")).await;
        assert_eq!(error.condition, Condition::Denied, "{error}");
        let remedy = error.remedy.expect("it says what to do");
        assert!(!remedy.contains("--http-endpoint"), "{remedy}");
        assert!(remedy.contains("curl -X PUT"), "{remedy}");
    }
}

#[tokio::test]
async fn an_error_page_instead_of_a_token_is_malformed() {
    for reply in [
        Reply::text(200, "<html>sign in</html>"),
        Reply::text(200, ""),
        Reply::text(400, ""),
        Reply::text(302, "").with("location", "http://portal.example/"),
    ] {
        let error = fails(move |_| reply.clone()).await;
        assert_eq!(error.condition, Condition::Malformed, "{error}");
    }
}

#[tokio::test]
async fn a_missing_field_is_malformed() {
    let error = fails(|seen| {
        if seen.path.ends_with("/document") {
            Reply::text(200, "{\"region\":\"us-west-2\"}")
        } else {
            service(seen)
        }
    })
    .await;
    assert_eq!(error.condition, Condition::Malformed);
}

#[tokio::test]
async fn a_server_failure_can_heal() {
    let error = fails(|_| Reply::text(500, "")).await;
    assert_eq!(error.condition, Condition::Unreachable);
}

#[tokio::test]
async fn a_refused_connection_is_unreachable() {
    let endpoint = MetadataEndpoint::At(closed_port().await);
    let imds = Imds::new(&endpoint, Calls::new());
    let error = imds.read_instance().await.expect_err("nobody listens");
    assert_eq!(error.condition, Condition::Unreachable);
}

#[tokio::test]
async fn silence_after_connecting_is_unreachable_and_names_the_hop_limit() {
    let error = fails(|_| Reply::text(200, "").declaring(9).hanging()).await;
    assert_eq!(error.condition, Condition::Unreachable);
    assert!(
        error
            .remedy
            .is_some_and(|remedy| remedy.contains("hop-limit"))
    );
}

#[tokio::test]
async fn the_second_endpoint_is_used_when_the_first_is_closed() {
    let server = Server::start(service).await;
    let endpoints = vec![closed_port().await, server.url("")];
    let imds = Imds::with_endpoints(endpoints, Calls::new());
    assert!(imds.read_instance().await.is_ok());
}

#[tokio::test]
async fn the_second_endpoint_is_used_while_the_first_is_silent() {
    let silent = Server::start(|_| Reply::text(200, "").declaring(9).hanging()).await;
    let server = Server::start(service).await;
    let endpoints = vec![silent.url(""), server.url("")];
    let imds = Imds::with_endpoints(endpoints, Calls::new());
    assert!(imds.read_instance().await.is_ok());
}

#[tokio::test]
async fn a_prompt_first_endpoint_is_the_only_one_asked() {
    let (first, second) = (Server::start(service).await, Server::start(service).await);
    let endpoints = vec![first.url(""), second.url("")];
    let imds = Imds::with_endpoints(endpoints, Calls::new());
    imds.read_role().await.expect("the first is well");
    assert_eq!(second.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn of_two_failures_a_refusal_is_told_before_silence() {
    let off = Server::start(|_| Reply::text(403, "")).await;
    for endpoints in [
        vec![closed_port().await, off.url("")],
        vec![off.url(""), closed_port().await],
    ] {
        let imds = Imds::with_endpoints(endpoints, Calls::new());
        let error = imds.read_role().await.expect_err("neither is well");
        assert_eq!(error.condition, Condition::Denied);
    }
}

#[tokio::test]
async fn a_token_the_service_forgot_is_replaced_at_the_next_read() {
    let refusals = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        let first_read = seen.method == "GET" && refusals.fetch_add(1, Ordering::SeqCst) == 0;
        if first_read {
            Reply::text(401, "")
        } else {
            service(seen)
        }
    })
    .await;
    let (imds, calls) = imds(&server);
    let error = imds.read_role().await.expect_err("the token was refused");
    assert_eq!(error.condition, Condition::Unreachable);
    assert_eq!(imds.read_role().await, Ok("nodes.example.com".to_owned()));
    assert_eq!(calls.calls()["imds:Token"], 2);
}

#[tokio::test]
async fn a_token_about_to_end_is_not_used_again() {
    let server = Server::start(|seen| match seen.method.as_str() {
        "PUT" => service(seen).with("x-aws-ec2-metadata-token-ttl-seconds", "30"),
        _ => service(seen),
    })
    .await;
    let (imds, calls) = imds(&server);
    imds.read_role().await.expect("the service is well");
    imds.read_role().await.expect("the service is well");
    assert_eq!(calls.calls()["imds:Token"], 2);
}

#[tokio::test]
async fn an_instance_without_a_profile_has_no_role_yet() {
    let server = Server::start(|seen| {
        if seen.path.contains("/iam/") {
            Reply::text(404, "")
        } else {
            service(seen)
        }
    })
    .await;
    let error = imds(&server)
        .0
        .read_role()
        .await
        .expect_err("there is none");
    assert_eq!(error.condition, Condition::Missing);
}

#[tokio::test]
async fn user_data_is_read_as_it_was_written() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/latest/user-data" => Reply::text(200, "#!/bin/bash\n"),
        _ => service(seen),
    })
    .await;
    let read = imds(&server).0.read_user_data().await;
    assert_eq!(read, Ok(Some(b"#!/bin/bash\n".to_vec())));
}

#[tokio::test]
async fn an_answer_without_an_end_is_malformed() {
    let endless = vec![b'x'; MAX_ANSWER_BYTES + 1];
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/latest/user-data" => Reply::bytes(200, &endless),
        _ => service(seen),
    })
    .await;
    let error = imds(&server)
        .0
        .read_user_data()
        .await
        .expect_err("it is too long");
    assert_eq!(error.condition, Condition::Malformed);
}

#[tokio::test]
async fn role_credentials_are_read_once_and_never_printed() {
    let server = Server::start(service).await;
    let (imds, calls) = imds(&server);
    imds.read_role().await.expect("there is a role");
    let provider = ImdsCredentials::new(imds);
    let loaded = provider.load().await.expect("the role has credentials");
    assert_eq!(loaded.secret_access_key(), "s3cr3t");
    provider.load().await.expect("they are held");
    assert_eq!(
        calls.calls()["imds:GetMetadata"],
        2,
        "the role and its credentials"
    );
    let printed = format!("{provider:?}");
    for secret in ["s3cr3t", "t0ken", "AQAEAtoken"] {
        assert!(!printed.contains(secret), "{printed}");
    }
    provider.forget().await;
    provider.load().await.expect("they are read anew");
    assert_eq!(calls.calls()["imds:GetMetadata"], 4);
}

#[tokio::test]
async fn credentials_near_their_end_are_read_anew_each_time() {
    let server = Server::start(|seen| if seen.path.ends_with("/nodes.example.com") { Reply::text(
            200,
            r#"{"Code":"Success","AccessKeyId":"A","SecretAccessKey":"B","Token":"C","Expiration":"2020-01-01T00:00:00Z"}"#,
        ) } else { service(seen) })
    .await;
    let (imds, calls) = imds(&server);
    let provider = ImdsCredentials::new(imds);
    provider
        .load()
        .await
        .expect("expired ones are handed on all the same");
    provider
        .load()
        .await
        .expect("expired ones are handed on all the same");
    assert_eq!(
        calls.calls()["imds:GetMetadata"],
        3,
        "the role once, credentials twice"
    );
}

#[tokio::test]
async fn a_role_that_ec2_may_not_assume_is_denied() {
    let server = Server::start(|seen| {
        if seen.path.ends_with("/nodes.example.com") {
            Reply::text(
                200,
                r#"{"Code":"AssumeRoleUnauthorizedAccess","Message":"no"}"#,
            )
        } else {
            service(seen)
        }
    })
    .await;
    let provider = ImdsCredentials::new(imds(&server).0);
    let error = provider.load().await.expect_err("there are none");
    assert_eq!(error.condition, Condition::Denied);
}
