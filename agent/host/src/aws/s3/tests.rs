//! S3 as a local server plays it.

use super::*;
use crate::aws::testing::{aws_at, aws_under, s3_error};
use quake_http::HttpSettings;
use quake_http::testing::{Reply, Seen};
use quake_model::fault::Code;
use quake_model::ports::Meter;

fn location(text: &str) -> Location {
    text.parse().expect("a literal")
}

async fn read_fails(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> PortError {
    let (aws, calls, _server) = aws_at(answer).await;
    let read = S3::new(aws)
        .read_object(&location("s3://store/c.example/config"))
        .await;
    assert_eq!(calls.calls()["s3:GetObject"], 1, "there is one attempt");
    read.expect_err("it must fail")
}

/// The region that a request was signed for.
fn signed_for(seen: &Seen) -> &str {
    let header = seen.header("authorization").unwrap_or_default();
    header.split('/').nth(2).unwrap_or_default()
}

#[tokio::test]
async fn an_object_is_read_with_the_roles_credentials() {
    let (aws, calls, server) = aws_at(|_| Reply::text(200, "spec")).await;
    let object = S3::new(aws)
        .read_object(&location("s3://store/c.example/config"))
        .await;
    assert_eq!(object.map(|object| object.bytes), Ok(b"spec".to_vec()));
    let seen = server.seen();
    let request = seen.last().expect("it was asked");
    assert!(
        request.path.starts_with("/store/c.example/config"),
        "{}",
        request.path
    );
    assert_eq!(request.header("x-amz-security-token"), Some("t0ken"));
    assert_eq!(
        (calls.calls()["imds:Token"], calls.calls()["s3:GetObject"]),
        (1, 1)
    );
}

#[tokio::test]
async fn an_object_is_written_with_its_kind_and_nothing_about_who_may_read_it() {
    let (aws, calls, server) = aws_at(|_| Reply::text(200, "")).await;
    let object = Object {
        location: location("s3://store/c.example/boot-reports/nodes/i-0a.json"),
        bytes: b"{}".to_vec(),
    };
    let written = S3::new(aws).write_object(&object, "application/json").await;
    assert_eq!(written, Ok(()));
    let seen = server.seen();
    let request = seen.last().expect("it was asked");
    let path = "/store/c.example/boot-reports/nodes/i-0a.json";
    assert!(request.path.starts_with(path), "{}", request.path);
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("content-length"), Some("2"));
    for header in ["x-amz-acl", "x-amz-server-side-encryption"] {
        assert_eq!(request.header(header), None);
    }
    assert_eq!(calls.calls()["s3:PutObject"], 1);
}

#[tokio::test]
async fn a_report_that_is_denied_gets_its_statement() {
    let (aws, _calls, _server) = aws_at(|_| s3_error(403, "AccessDenied")).await;
    let object = Object {
        location: location("s3://store/c.example/boot-reports/nodes/i-0a.json"),
        bytes: b"{}".to_vec(),
    };
    let error = S3::new(aws).write_object(&object, "application/json").await;
    let error = error.expect_err("it is denied");
    assert_eq!(error.condition, Condition::Denied);
    let remedy = error.remedy.expect("denied has a remedy");
    let allow =
        "allow s3:PutObject on arn:aws:s3:::store/c.example/boot-reports/nodes/i-0a.json for";
    assert!(remedy.starts_with(allow), "{remedy}");
    assert!(
        remedy.contains("\"Sid\":\"QuakeWriteBootReport\""),
        "{remedy}"
    );
}

#[tokio::test]
async fn each_refusal_has_its_condition() {
    for (status, code, condition) in [
        (404, "NoSuchKey", Condition::Missing),
        (404, "NoSuchBucket", Condition::Unknown),
        (403, "AccessDenied", Condition::Denied),
        (403, "RequestTimeTooSkewed", Condition::ClockSkew),
        (503, "SlowDown", Condition::Throttled),
        (500, "InternalError", Condition::Unreachable),
    ] {
        let error = read_fails(move |_| s3_error(status, code)).await;
        assert_eq!(error.condition, condition, "{error}");
    }
}

#[tokio::test]
async fn a_denied_object_names_the_action_the_object_and_the_request() {
    let error = read_fails(|_| s3_error(403, "AccessDenied")).await;
    let remedy = error.remedy.expect("denied has a remedy");
    let expected = "allow s3:GetObject on arn:aws:s3:::store/c.example/config";
    assert!(remedy.starts_with(expected), "{remedy}");
    let value = |name: &str| {
        let piece = error.evidence.iter().find(|piece| piece.name == name);
        piece.map(|piece| piece.value.as_str())
    };
    assert_eq!(
        (value("request-id"), value("status")),
        (Some("R1"), Some("403"))
    );
    assert_eq!(value("error code"), Some("AccessDenied"));
}

#[tokio::test]
async fn no_error_carries_a_credential() {
    let error = read_fails(|seen| {
        let request = seen.headers.join("\n");
        let message = format!(
            "It does not match. The Canonical String for this request should have been '{request}'"
        );
        Reply::text(
            403,
            &format!(
                "<Error><Code>SignatureDoesNotMatch</Code><Message>{message}</Message></Error>"
            ),
        )
    })
    .await;
    let text = format!("{error:?}");
    assert!(text.contains("It does not match"), "{text}");
    for secret in ["t0ken", "ASIAEXAMPLEEXAMPLE12"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[tokio::test]
async fn a_bucket_elsewhere_is_found_once_and_remembered() {
    let (aws, calls, server) = aws_at(|seen| match signed_for(seen) {
        "eu-west-1" => Reply::text(200, "spec"),
        _ => s3_error(301, "PermanentRedirect").with("x-amz-bucket-region", "eu-west-1"),
    })
    .await;
    let s3 = S3::new(aws);
    for _ in 0..2 {
        let object = s3.read_object(&location("s3://store/config")).await;
        assert!(object.is_ok(), "{object:?}");
    }
    assert_eq!(calls.calls()["s3:GetObject"], 3);
    let seen = server.seen();
    let regions: Vec<_> = seen
        .iter()
        .map(signed_for)
        .filter(|it| !it.is_empty())
        .collect();
    assert_eq!(regions, ["us-west-2", "eu-west-1", "eu-west-1"]);
}

#[tokio::test]
async fn the_region_is_read_from_the_body_where_no_header_names_it() {
    let (aws, _calls, _server) = aws_at(|seen| match signed_for(seen) {
        "eu-central-1" => Reply::text(200, "spec"),
        _ => Reply::text(400, "<Error><Code>AuthorizationHeaderMalformed</Code><Message>x</Message><Region>eu-central-1</Region></Error>"),
    })
    .await;
    let object = S3::new(aws)
        .read_object(&location("s3://store/config"))
        .await;
    assert_eq!(object.map(|object| object.bytes), Ok(b"spec".to_vec()));
}

#[tokio::test]
async fn a_bucket_that_is_always_elsewhere_is_given_up() {
    let (aws, calls, _server) = aws_at(|seen| {
        let next = if signed_for(seen) == "eu-west-1" {
            "eu-west-2"
        } else {
            "eu-west-1"
        };
        s3_error(301, "PermanentRedirect").with("x-amz-bucket-region", next)
    })
    .await;
    let object = S3::new(aws)
        .read_object(&location("s3://store/config"))
        .await;
    assert!(object.is_err());
    assert_eq!(calls.calls()["s3:GetObject"], 3);
}

#[test]
fn a_region_that_would_lead_to_another_host_is_not_followed() {
    for text in ["evil.example/", "eu-west-1.evil.example", "EU", "", "a@b-c"] {
        assert!(!is_region(text), "{text}");
    }
    assert!(is_region("us-gov-west-1"));
}

#[tokio::test]
async fn names_are_listed_sorted_over_all_pages() {
    let (aws, calls, server) = aws_at(|seen| {
        let page = |names: &str, more: &str| {
            let body = format!("<?xml version=\"1.0\"?><ListBucketResult><Name>store</Name><Prefix>c/pki/</Prefix>{names}{more}</ListBucketResult>");
            Reply::text(200, &body)
        };
        if seen.path.contains("continuation-token=next") {
            return page("<CommonPrefixes><Prefix>c/pki/alpha/</Prefix></CommonPrefixes>", "<IsTruncated>false</IsTruncated>");
        }
        page(
            "<Contents><Key>c/pki/zeta</Key></Contents><Contents><Key>c/pki/</Key></Contents>",
            "<IsTruncated>true</IsTruncated><NextContinuationToken>next</NextContinuationToken>",
        )
    })
    .await;
    let names = S3::new(aws)
        .list_objects(&location("s3://store/c/pki"))
        .await;
    assert_eq!(names, Ok(vec!["alpha".to_owned(), "zeta".to_owned()]));
    assert_eq!(calls.calls()["s3:ListObjectsV2"], 2);
    let seen = server.seen();
    let requested = &seen.last().expect("it was asked").path;
    assert!(
        requested.contains("delimiter=%2F") && requested.contains("prefix=c%2Fpki%2F"),
        "{requested}"
    );
}

#[tokio::test]
async fn a_denied_listing_names_the_bucket() {
    let (aws, _calls, _server) = aws_at(|_| s3_error(403, "AccessDenied")).await;
    let error = S3::new(aws)
        .list_objects(&location("s3://store/c/pki"))
        .await;
    let remedy = error
        .expect_err("it is denied")
        .remedy
        .expect("denied has a remedy");
    assert!(
        remedy.starts_with("allow s3:ListBucket on arn:aws:s3:::store for"),
        "{remedy}"
    );
}

#[tokio::test]
async fn an_object_too_large_for_a_configuration_is_not_read() {
    let (aws, _calls, _server) = aws_at(|_| Reply::text(200, "x").declaring(64 << 20)).await;
    let read = S3::new(aws)
        .read_object(&location("s3://store/config"))
        .await;
    assert_eq!(
        read.map_err(|error| error.condition),
        Err(Condition::Malformed)
    );
}

#[tokio::test]
async fn an_object_that_ends_early_can_heal() {
    let error = read_fails(|_| Reply::text(200, "half").declaring(8)).await;
    assert_eq!(error.condition, Condition::Unreachable);
}

#[tokio::test]
async fn expired_credentials_are_read_anew_for_the_next_attempt() {
    let (aws, calls, _server) = aws_at(|_| s3_error(400, "ExpiredToken")).await;
    let s3 = S3::new(aws);
    for _ in 0..2 {
        let error = s3.read_object(&location("s3://store/config")).await;
        assert_eq!(
            error.map_err(|error| error.condition),
            Err(Condition::Unreachable)
        );
    }
    assert_eq!(
        calls.calls()["imds:GetMetadata"],
        4,
        "role and credentials, twice"
    );
}

#[tokio::test]
async fn a_request_is_signed_by_the_local_clock_even_after_aws_told_its_own() {
    let past = "Mon, 01 Jan 2024 00:00:00 GMT";
    let skewed = move |_: &Seen| s3_error(403, "RequestTimeTooSkewed").with("date", past);
    let (aws, _calls, server) = aws_at(skewed).await;
    let s3 = S3::new(aws);
    for _ in 0..3 {
        let error = s3.read_object(&location("s3://store/config")).await;
        let condition = error.map_err(|error| error.condition);
        assert_eq!(condition, Err(Condition::ClockSkew));
    }
    let seen = server.seen();
    let signed = seen.iter().filter_map(|seen| seen.header("x-amz-date"));
    let signed: Vec<&str> = signed.collect();
    assert_eq!(signed.len(), 3, "{signed:?}");
    assert!(
        !signed.iter().any(|it| it.starts_with("2024")),
        "{signed:?}"
    );
}

#[tokio::test]
async fn a_bundle_that_cannot_be_used_is_no_fault_of_the_object() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let bundle = folder.path().join("authority.pem");
    std::fs::write(&bundle, "no certificate").expect("it is ours");
    let http = HttpSettings {
        ca_bundle: Some(bundle),
        ..HttpSettings::default()
    };
    let (aws, calls, _server) = aws_under(http, |_| Reply::text(200, "spec")).await;
    let read = S3::new(aws)
        .read_object(&location("s3://store/c.example/config"))
        .await;
    let fault = read
        .expect_err("nothing can be asked")
        .into_fault(Code::ConfigObjectMalformed);
    let fix = fault.remedy_text();
    assert!(fix.contains("AWS_CA_BUNDLE"), "{fix}");
    assert!(fix.contains("authority.pem"), "{fix}");
    assert!(!calls.calls().contains_key("s3:GetObject"));
}

#[tokio::test]
async fn an_object_that_is_unchanged_costs_one_request_and_no_bytes() {
    let answer = |seen: &Seen| match seen.header("if-none-match") {
        Some("\"one\"") => Reply::text(304, ""),
        _ => Reply::text(200, "spec").with("etag", "\"one\""),
    };
    let (aws, calls, _server) = aws_at(answer).await;
    let s3 = S3::new(aws);
    let place = location("s3://store/c.example/addons/bootstrap-channel.yaml");
    let first = s3.read_object_unless(&place, None).await;
    let first = first.expect("it is there").expect("it is new");
    assert_eq!(first.tag.as_deref(), Some("\"one\""));
    let again = s3.read_object_unless(&place, Some("\"one\"")).await;
    assert_eq!(again, Ok(None));
    let other = s3.read_object_unless(&place, Some("\"two\"")).await;
    assert_eq!(
        other
            .expect("it is there")
            .map(|tagged| tagged.object.bytes),
        Some(b"spec".to_vec())
    );
    assert_eq!(calls.calls()["s3:GetObject"], 3);
}

#[tokio::test]
async fn what_a_role_may_not_ask_of_a_bucket_is_a_fact_and_each_question_is_asked_once() {
    let (aws, calls, _server) = aws_at(|seen| match seen.path.contains("policyStatus") {
        true => s3_error(404, "NoSuchBucketPolicy"),
        false => s3_error(403, "AccessDenied"),
    })
    .await;
    let found = S3::new(aws).look_at_bucket(&location("s3://store/x")).await;
    let found = found.expect("a denial is a fact");
    assert_eq!(found.policy_is_public, Some(false));
    assert_eq!((found.acl_is_public, found.unblocked), (None, None));
    assert_eq!(found.denied, BucketFacts::ACTIONS[1..]);
    for action in BucketFacts::ACTIONS {
        assert_eq!(calls.calls()[action], 1, "{action}");
    }
}
