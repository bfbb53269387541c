//! Versions as a local server plays them.

use super::*;
use crate::aws::testing::{aws_at, s3_error};
use quake_http::testing::{Reply, Seen};
use quake_model::ports::Meter;
use quake_model::time::Timestamp;

fn location(text: &str) -> Location {
    text.parse().expect("a literal")
}

#[tokio::test]
async fn a_list_of_versions_is_paged_by_its_markers_counted_and_ends() {
    let page = |more: &str, key: &str, id: &str| {
        format!(
            "<ListVersionsResult><IsTruncated>{more}</IsTruncated><NextKeyMarker>{key}</NextKeyMarker>\
             <NextVersionIdMarker>{id}</NextVersionIdMarker><Version><Key>c/pki/a</Key><VersionId>{id}</VersionId>\
             <IsLatest>true</IsLatest><LastModified>2026-11-20T03:00:00.000Z</LastModified></Version></ListVersionsResult>"
        )
    };
    let answer = move |seen: &Seen| {
        assert!(seen.path.contains("prefix=c%2Fpki%2F"), "{}", seen.path);
        match seen.path.contains("version-id-marker=1") {
            true => Reply::text(200, &page("false", "", "2")),
            false => Reply::text(200, &page("true", "c/pki/a", "1")),
        }
    };
    let (aws, calls, _server) = aws_at(answer).await;
    let listed = S3::new(aws)
        .list_versions(&location("s3://store/c"), "pki/")
        .await;
    let listed = listed.expect("both pages");
    let ids: Vec<&str> = listed.iter().map(|version| version.id.as_str()).collect();
    assert_eq!(ids, ["1", "2"]);
    assert_eq!(listed[0].written, Timestamp(1_795_143_600_000));
    assert_eq!(calls.calls()["s3:ListObjectVersions"], 2);
}

#[tokio::test]
async fn a_list_of_versions_without_an_end_is_given_up_after_fifty_pages() {
    let more = "<ListVersionsResult><IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker></ListVersionsResult>";
    let (aws, calls, _server) = aws_at(move |_| Reply::text(200, more)).await;
    let listed = S3::new(aws)
        .list_versions(&location("s3://store/c"), "")
        .await;
    let error = listed.expect_err("it has no end");
    assert_eq!(error.condition, Condition::Limit);
    assert_eq!(calls.calls()["s3:ListObjectVersions"], 50);
}

#[tokio::test]
async fn versions_that_may_not_be_listed_or_read_name_their_own_permissions() {
    let (aws, _calls, _server) = aws_at(|_| s3_error(403, "AccessDenied")).await;
    let s3 = S3::new(aws);
    let listed = s3
        .list_versions(&location("s3://store/c"), "igconfig/")
        .await;
    let place = location("s3://store/c/igconfig/node/nodes/nodeupconfig.yaml");
    let read = s3.read_version(&place, "1").await.map(drop);
    for (refused, action, sid) in [
        (
            listed.map(drop),
            "s3:ListBucketVersions",
            "QuakePreviewVersionNames",
        ),
        (read, "s3:GetObjectVersion", "QuakePreviewVersions"),
    ] {
        let error = refused.expect_err("it is denied");
        assert_eq!(error.condition, Condition::Denied);
        let remedy = error.remedy.unwrap_or_default();
        assert!(remedy.contains(action) && remedy.contains(sid), "{remedy}");
    }
}
