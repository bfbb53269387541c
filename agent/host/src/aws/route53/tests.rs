//! Route 53 as a local server plays it, in the words of its API reference.

use super::*;
use crate::aws::Calls;
use crate::aws::testing::aws_at;
use quake_http::testing::{Reply, Seen, Server};
use quake_model::dns::{ChangeVerb, ZoneKind};
use quake_model::ports::Meter;

const XMLNS: &str = "xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\"";

fn answer(kind: &str, body: &str) -> Reply {
    Reply::text(200, &format!("<{kind} {XMLNS}>{body}</{kind}>"))
}

fn refusal(status: u16, code: &str, message: &str) -> Reply {
    let text = format!(
        "<ErrorResponse {XMLNS}><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error><RequestId>R4</RequestId></ErrorResponse>"
    );
    Reply::text(status, &text)
}

async fn at(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> (Route53, Calls, Server) {
    let (aws, calls, server) = aws_at(answer).await;
    (Route53::new(aws), calls, server)
}

/// What was asked of Route 53 itself.
fn requests(server: &Server) -> Vec<Seen> {
    let seen = server.seen().into_iter();
    seen.filter(|seen| seen.path.starts_with("/2013-04-01/"))
        .collect()
}

fn zone(id: &str, name: &str, is_private: bool) -> String {
    format!(
        "<HostedZone><Id>/hostedzone/{id}</Id><Name>{name}.</Name><CallerReference>c</CallerReference><Config><PrivateZone>{is_private}</PrivateZone></Config><ResourceRecordSetCount>2</ResourceRecordSetCount></HostedZone>"
    )
}

fn record(name: &str, kind: &str, rest: &str) -> String {
    format!("<ResourceRecordSet><Name>{name}.</Name><Type>{kind}</Type>{rest}</ResourceRecordSet>")
}

fn values(addresses: &[&str]) -> String {
    let one = |address: &&str| format!("<ResourceRecord><Value>{address}</Value></ResourceRecord>");
    let all: String = addresses.iter().map(one).collect();
    format!("<TTL>60</TTL><ResourceRecords>{all}</ResourceRecords>")
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn zones_are_listed_page_by_page_and_those_of_the_name_are_kept() {
    let (route53, calls, server) = at(|seen| {
        let (zones, more) = if seen.path.contains("marker=M2") {
            (
                zone("Z3", "example.com", true),
                "<IsTruncated>false</IsTruncated>",
            )
        } else {
            let zones = zone("Z1", "example.com", false) + &zone("Z2", "other.com", false);
            (
                zones,
                "<IsTruncated>true</IsTruncated><NextMarker>M2</NextMarker>",
            )
        };
        let body = format!(
            "<HostedZones>{zones}</HostedZones><Marker>m</Marker>{more}<MaxItems>100</MaxItems>"
        );
        answer("ListHostedZonesResponse", &body)
    })
    .await;
    let found = route53.list_zones("example.com").await.expect("it answers");
    let found: Vec<_> = found.iter().map(|it| (it.id.as_str(), it.kind)).collect();
    assert_eq!(found, [("Z1", ZoneKind::Public), ("Z3", ZoneKind::Private)]);
    assert_eq!(calls.calls()["route53:ListHostedZones"], 2);
    assert_eq!(requests(&server).len(), 2);
}

#[tokio::test]
async fn a_zone_is_read_with_its_vpcs_or_there_is_none() {
    let (route53, _calls, _server) = at(|seen| {
        if seen.path.contains("ZNONE") {
            return refusal(
                404,
                "NoSuchHostedZone",
                "No hosted zone found with ID: ZNONE",
            );
        }
        let vpcs = "<VPCs><VPC><VPCRegion>us-west-2</VPCRegion><VPCId>vpc-1</VPCId></VPC></VPCs>";
        let body = zone("Z1", "Example.com", true) + vpcs;
        answer("GetHostedZoneResponse", &body)
    })
    .await;
    let found = route53.read_zone("Z1").await.expect("it answers");
    let found = found.expect("it is there");
    assert_eq!(found.name, "example.com");
    assert_eq!(found.vpcs, ["vpc-1"]);
    assert_eq!(route53.read_zone("ZNONE").await, Ok(None));
}

#[tokio::test]
async fn records_are_read_in_one_listing_that_ends_behind_the_last_of_them() {
    let (route53, calls, server) = at(|_| {
        let records = [
            record("api.internal.c.example", "A", &values(&["10.0.0.1", "10.0.0.2"])),
            record("api.internal.c.example", "AAAA", &values(&["fd00::1"])),
            record("bastion.internal.c.example", "A", &values(&["10.0.0.3"])),
            record("etcd-a.internal.c.example", "A", "<AliasTarget><HostedZoneId>Z9</HostedZoneId><DNSName>lb.example.</DNSName><EvaluateTargetHealth>false</EvaluateTargetHealth></AliasTarget>"),
        ];
        let body = format!(
            "<ResourceRecordSets>{}</ResourceRecordSets><IsTruncated>true</IsTruncated><NextRecordName>nodes.internal.c.example.</NextRecordName><NextRecordType>A</NextRecordType><MaxItems>300</MaxItems>",
            records.concat()
        );
        answer("ListResourceRecordSetsResponse", &body)
    })
    .await;
    let names = set(&["etcd-a.internal.c.example", "api.internal.c.example"]);
    let found = route53
        .read_records("Z1", &names)
        .await
        .expect("it answers");
    let addresses = ["10.0.0.1".to_owned(), "10.0.0.2".to_owned()];
    let api = AddressRecord::plain("api.internal.c.example", 60, addresses);
    assert_eq!(found[0], api);
    assert_eq!(
        found[1].steered_by.as_deref(),
        Some("an alias of lb.example")
    );
    assert_eq!(found.len(), 2);
    assert_eq!(calls.calls()["route53:ListResourceRecordSets"], 1);
    let path = &requests(&server)[0].path;
    assert!(
        path.starts_with("/2013-04-01/hostedzone/Z1/rrset?name=api.internal.c.example"),
        "{path}"
    );
}

#[tokio::test]
async fn a_batch_is_sent_whole_and_looked_at_by_its_id() {
    let (route53, _calls, server) = at(|seen| {
        let (kind, status) = if seen.path.contains("/change/") {
            ("GetChangeResponse", "INSYNC")
        } else {
            ("ChangeResourceRecordSetsResponse", "PENDING")
        };
        let body = format!(
            "<ChangeInfo><Id>/change/C1</Id><Status>{status}</Status><SubmittedAt>2026-11-22T12:00:00Z</SubmittedAt></ChangeInfo>"
        );
        answer(kind, &body)
    })
    .await;
    let record = AddressRecord::plain("api.internal.c.example", 60, ["10.0.0.1".to_owned()]);
    let changes = [ChangeVerb::Delete, ChangeVerb::Create].map(|verb| RecordChange {
        verb,
        record: record.clone(),
    });
    let id = route53.change_records("Z1", &changes).await;
    assert_eq!(id.as_deref(), Ok("C1"));
    assert_eq!(route53.look_change("C1").await, Ok(ChangeProgress::InSync));
    let body = &requests(&server)[0].body;
    for part in [
        "<Action>DELETE</Action>",
        "<Action>CREATE</Action>",
        "<Name>api.internal.c.example.</Name><Type>A</Type><TTL>60</TTL>",
        "<Value>10.0.0.1</Value>",
    ] {
        assert!(body.contains(part), "{part} in {body}");
    }
    assert!(requests(&server)[1].path.ends_with("/change/C1"));
}

#[tokio::test]
async fn what_a_refusal_means_is_told_apart() {
    for (status, code, expected) in [
        (400, "InvalidChangeBatch", Condition::Conflict),
        (400, "PriorRequestNotComplete", Condition::Throttled),
        (400, "Throttling", Condition::Throttled),
        (404, "NoSuchHostedZone", Condition::Missing),
        (403, "AccessDenied", Condition::Denied),
        (400, "InvalidInput", Condition::Malformed),
        (400, "ValidationError", Condition::Malformed),
        (400, "InvalidDomainName", Condition::Malformed),
        (500, "InternalFailure", Condition::Unreachable),
    ] {
        let (route53, _calls, _server) = at(move |_| refusal(status, code, "no")).await;
        let refused = route53.change_records("Z1", &[]).await;
        let error = refused.expect_err("it is refused");
        assert_eq!(error.condition, expected, "{code}: {error:?}");
        let said = error.evidence.iter().find(|it| it.name == "error code");
        assert_eq!(said.map(|it| it.value.as_str()), Some(code));
        assert!(error.summary.ends_with(&format!("{code}: no")), "{error}");
    }
}

#[tokio::test]
async fn a_denied_batch_names_the_zone_and_its_statement() {
    let (route53, _calls, _server) = at(|_| refusal(403, "AccessDenied", "no")).await;
    let error = route53.change_records("Z1", &[]).await.expect_err("denied");
    let remedy = error.remedy.unwrap_or_default();
    assert!(
        remedy
            .contains("allow route53:ChangeResourceRecordSets on arn:aws:route53:::hostedzone/Z1"),
        "{remedy}"
    );
    assert!(remedy.contains("\"Sid\":\"QuakePublishNames\""), "{remedy}");
    let error = route53.list_zones("example.com").await.expect_err("denied");
    let remedy = error.remedy.unwrap_or_default();
    assert!(
        remedy.contains("allow route53:ListHostedZones on *"),
        "{remedy}"
    );
}
