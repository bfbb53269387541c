//! EC2 as a local server plays it.

use super::*;
use crate::aws::testing::{aws_at, ec2_error};
use crate::aws::{AwsSettings, Calls, Surroundings};
use crate::http::HttpSettings;
use crate::http::testing::{Reply, Seen, Server, closed_port};
use crate::imds::{Imds, MetadataEndpoint};
use quake_model::facts::{AttachmentState, InstanceState, VolumeState};
use quake_model::ports::{Condition, Meter};

const VOLUMES: &str = "<volumeSet><item><volumeId>vol-1</volumeId><size>20</size><snapshotId/><availabilityZone>us-west-2a</availabilityZone><status>in-use</status><createTime>2026-11-21T03:22:17.000Z</createTime><attachmentSet><item><volumeId>vol-1</volumeId><instanceId>i-1</instanceId><device>/dev/xvdba</device><status>attaching</status></item></attachmentSet><tagSet><item><key>k8s.io/role/master</key><value>1</value></item></tagSet><encrypted>true</encrypted><multiAttachEnabled>false</multiAttachEnabled></item></volumeSet>";

fn volumes(more: &str) -> Reply {
    let body = format!(
        "<?xml version=\"1.0\"?><DescribeVolumesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>R</requestId>{VOLUMES}{more}</DescribeVolumesResponse>"
    );
    Reply::text(200, &body)
}

async fn attach_fails(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> PortError {
    let (aws, calls, _server) = aws_at(answer).await;
    let attached = Ec2::new(aws)
        .attach_volume("vol-1", "i-1", "/dev/xvdba")
        .await;
    assert_eq!(calls.calls()["ec2:AttachVolume"], 1, "there is one attempt");
    attached.expect_err("it must fail")
}

#[tokio::test]
async fn a_volume_is_shown_with_its_attachment_and_tags() {
    let (aws, _calls, _server) = aws_at(|_| volumes("")).await;
    let query = VolumeQuery::Tagged {
        key: "KubernetesCluster".to_owned(),
        value: "c.example".to_owned(),
    };
    let found = Ec2::new(aws)
        .describe_volumes(&query)
        .await
        .expect("EC2 is well");
    let volume = found.first().expect("there is one");
    assert_eq!((volume.volume_id.as_str(), volume.size_gib), ("vol-1", 20));
    assert_eq!((volume.state, volume.encrypted), (VolumeState::InUse, true));
    assert_eq!(volume.created.to_string(), "2026-11-21T03:22:17.000Z");
    assert_eq!(volume.snapshot_id, None);
    assert_eq!(volume.tags["k8s.io/role/master"], "1");
    let attachment = volume.attachments.first().expect("there is one");
    assert_eq!(attachment.state, AttachmentState::Attaching);
    assert_eq!(attachment.device_name, "/dev/xvdba");
}

#[tokio::test]
async fn all_pages_are_read_and_each_is_counted() {
    let pages = std::sync::atomic::AtomicUsize::new(0);
    let (aws, calls, _server) =
        aws_at(
            move |_| match pages.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0 | 1 => volumes("<nextToken>more</nextToken>"),
                _ => volumes(""),
            },
        )
        .await;
    let query = VolumeQuery::AttachedTo("i-1".to_owned());
    let found = Ec2::new(aws).describe_volumes(&query).await;
    assert_eq!(found.map(|found| found.len()), Ok(3));
    assert_eq!(calls.calls()["ec2:DescribeVolumes"], 3);
}

#[tokio::test]
async fn instances_are_shown_with_their_state_tags_and_devices() {
    let body = "<?xml version=\"1.0\"?><DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i-1</instanceId><instanceState><code>48</code><name>terminated</name></instanceState><launchTime>2026-11-21T03:22:17.000Z</launchTime><tagSet><item><key>Name</key><value>n</value></item></tagSet><blockDeviceMapping><item><deviceName>/dev/xvda</deviceName></item></blockDeviceMapping></item></instancesSet></item></reservationSet></DescribeInstancesResponse>";
    let (aws, _calls, _server) = aws_at(move |_| Reply::text(200, body)).await;
    let found = Ec2::new(aws)
        .describe_instances(&["i-1".to_owned(), "i-2".to_owned()])
        .await;
    let found = found.expect("EC2 is well");
    let [instance] = found.as_slice() else {
        panic!("the one that EC2 does not show is left out: {found:?}");
    };
    assert_eq!(instance.state, InstanceState::Terminated);
    assert_eq!(instance.device_names, ["/dev/xvda"]);
    assert_eq!(instance.tags["Name"], "n");
}

#[tokio::test]
async fn asking_for_nothing_asks_nobody() {
    let (aws, calls, _server) = aws_at(|_| Reply::text(500, "")).await;
    let ec2 = Ec2::new(aws);
    assert_eq!(ec2.describe_instances(&[]).await, Ok(Vec::new()));
    assert_eq!(
        ec2.describe_volumes(&VolumeQuery::Ids(Vec::new())).await,
        Ok(Vec::new())
    );
    assert!(calls.calls().is_empty());
}

#[tokio::test]
async fn each_refusal_has_its_condition() {
    for (status, code, message, condition) in [
        (
            400,
            "VolumeInUse",
            "vol-1 is already attached to an instance",
            Condition::Conflict,
        ),
        (
            400,
            "InvalidParameterValue",
            "/dev/xvdba is already in use",
            Condition::Conflict,
        ),
        (
            400,
            "IncorrectState",
            "i-1 is not running",
            Condition::Conflict,
        ),
        (
            400,
            "InvalidVolume.NotFound",
            "no vol-1",
            Condition::Missing,
        ),
        (
            503,
            "RequestLimitExceeded",
            "slow down",
            Condition::Throttled,
        ),
        (400, "RequestExpired", "expired", Condition::ClockSkew),
        (500, "InternalError", "oops", Condition::Unreachable),
        (400, "ExpiredToken", "expired", Condition::Unreachable),
    ] {
        let error = attach_fails(move |_| ec2_error(status, code, message)).await;
        assert_eq!(error.condition, condition, "{error}");
        assert!(error.summary.contains("vol-1"), "{error}");
    }
}

#[tokio::test]
async fn a_denied_attachment_names_the_action_and_both_resources() {
    let message = "You are not authorized. Encoded authorization failure message: abc";
    let error = attach_fails(move |_| ec2_error(403, "UnauthorizedOperation", message)).await;
    assert_eq!(error.condition, Condition::Denied);
    let remedy = error.remedy.as_deref().expect("denied has a remedy");
    for part in [
        "ec2:AttachVolume",
        "us-west-2:*:volume/vol-1",
        "instance/i-1",
    ] {
        assert!(remedy.contains(part), "{remedy}");
    }
    assert!(!error.summary.contains("Encoded"), "{error}");
    let value = |name: &str| {
        let piece = error.evidence.iter().find(|piece| piece.name == name);
        piece.map(|piece| piece.value.as_str())
    };
    assert_eq!(value("encoded-authorization-message"), Some("abc"));
    assert_eq!(value("request-id"), Some("R2"));
}

#[tokio::test]
async fn a_refused_signature_from_a_server_of_another_time_is_the_clocks_fault() {
    let error = attach_fails(|_| {
        ec2_error(401, "AuthFailure", "no").with("date", "Mon, 01 Jan 2024 00:00:00 GMT")
    })
    .await;
    assert_eq!(error.condition, Condition::ClockSkew);
    assert!(error.summary.contains("ahead of AWS"), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_no_answer_can_heal() {
    let error = attach_fails(|_| Reply::text(200, "<html>sign in</html>")).await;
    assert_eq!(error.condition, Condition::Unreachable);
}

/// EC2 at `endpoint`, with a metadata service that answers by `answer`.
async fn ec2_at(endpoint: String, answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Ec2 {
    let server = Server::start(answer).await;
    let at = MetadataEndpoint::At(server.url(""));
    let imds = Imds::new(&at, Calls::new()).expect("a client");
    let settings =
        AwsSettings::from_lookup(
            Surroundings::Node,
            HttpSettings::default(),
            |name| match name {
                "AWS_ENDPOINT_URL" => Some(endpoint.clone()),
                "AWS_REGION" => Some("us-west-2".to_owned()),
                _ => None,
            },
        );
    Ec2::new(Aws::new(settings, imds, Calls::new()))
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_is_unreachable() {
    let ec2 = ec2_at(closed_port().await, |seen| match seen.path.as_str() {
        "/latest/meta-data/iam/security-credentials/" => Reply::text(200, "nodes"),
        "/latest/meta-data/iam/security-credentials/nodes" => Reply::text(
            200,
            r#"{"Code":"Success","AccessKeyId":"A","SecretAccessKey":"B","Token":"C"}"#,
        ),
        _ => Reply::text(200, "token"),
    })
    .await;
    let error = ec2.attach_volume("vol-1", "i-1", "/dev/xvdba").await;
    assert_eq!(
        error.map_err(|error| error.condition),
        Err(Condition::Unreachable)
    );
}

#[tokio::test]
async fn a_node_without_a_role_is_denied_and_not_missing() {
    let ec2 = ec2_at(closed_port().await, |seen| match seen.method.as_str() {
        "PUT" => Reply::text(200, "token"),
        _ => Reply::text(404, ""),
    })
    .await;
    let error = ec2.attach_volume("vol-1", "i-1", "/dev/xvdba").await;
    let error = error.expect_err("there is no role");
    assert_eq!(error.condition, Condition::Denied, "{error:?}");
    assert!(
        error
            .remedy
            .is_some_and(|remedy| remedy.contains("instance profile"))
    );
}
