//! EC2 as a local server plays it.

use super::*;
use crate::aws::testing::{aws_at, ec2_error};
use crate::aws::{AwsSettings, Calls, Environment};
use crate::imds::{Imds, MetadataEndpoint};
use quake_http::HttpSettings;
use quake_http::testing::{Reply, Seen, Server, closed_port};
use quake_model::facts::{AttachmentState, InstanceState, VolumeState};
use quake_model::ports::{Condition, Meter};
use std::sync::atomic::{AtomicUsize, Ordering};

const VOLUMES: &str = "<volumeSet><item><volumeId>vol-1</volumeId><size>20</size><snapshotId/><availabilityZone>us-west-2a</availabilityZone><status>in-use</status><createTime>2026-11-21T03:22:17.000Z</createTime><attachmentSet><item><volumeId>vol-1</volumeId><instanceId>i-1</instanceId><device>/dev/xvdba</device><status>attaching</status><attachTime>2026-11-21T04:00:00.000Z</attachTime><deleteOnTermination>true</deleteOnTermination></item></attachmentSet><tagSet><item><key>k8s.io/role/master</key><value>1</value></item></tagSet><encrypted>true</encrypted><multiAttachEnabled>false</multiAttachEnabled></item></volumeSet>";

fn volumes(more: &str) -> Reply {
    let body = format!(
        "<?xml version=\"1.0\"?><DescribeVolumesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>R</requestId>{VOLUMES}{more}</DescribeVolumesResponse>"
    );
    Reply::text(200, &body)
}

fn instances(more: &str) -> Reply {
    Reply::text(
        200,
        &INSTANCES.replace("</DescribeI", &format!("{more}</DescribeI")),
    )
}

/// EC2's answer to what it has done.
fn done(action: &str) -> Reply {
    let body = format!("<{action}Response><return>true</return></{action}Response>");
    Reply::text(200, &body)
}

/// The value of a parameter of a request, as it was sent.
fn requested<'a>(seen: &'a Seen, name: &str) -> Option<&'a str> {
    let pairs = seen.body.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value)
        .next()
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
    let since = attachment.since.map(|since| since.to_string());
    assert_eq!(since.as_deref(), Some("2026-11-21T04:00:00.000Z"));
    assert!(attachment.delete_on_termination);
}

#[tokio::test]
async fn an_attachment_without_a_time_has_none_and_keeps_its_volume() {
    let (aws, _calls, _server) = aws_at(|_| {
        let body = "<DescribeVolumesResponse><volumeSet><item><volumeId>vol-1</volumeId><attachmentSet><item><instanceId>i-1</instanceId><device>/dev/xvdba</device><status>attached</status></item></attachmentSet></item></volumeSet></DescribeVolumesResponse>";
        Reply::text(200, body)
    })
    .await;
    let query = VolumeQuery::Ids(vec!["vol-1".to_owned()]);
    let found = Ec2::new(aws).describe_volumes(&query).await;
    let found = found.expect("EC2 is well");
    let attachment = &found[0].attachments[0];
    assert_eq!(
        (attachment.since, attachment.delete_on_termination),
        (None, false)
    );
}

#[tokio::test]
async fn a_volume_that_two_pages_show_differently_is_returned_as_both_show_it() {
    let pages = AtomicUsize::new(0);
    let (aws, _calls, _server) = aws_at(move |_| match pages.fetch_add(1, Ordering::SeqCst) {
        0 => volumes("<nextToken>more</nextToken>"),
        _ => Reply::text(200, "<DescribeVolumesResponse><volumeSet><item><volumeId>vol-1</volumeId><status>available</status></item></volumeSet></DescribeVolumesResponse>"),
    })
    .await;
    let query = VolumeQuery::AttachedTo("i-1".to_owned());
    let found = Ec2::new(aws).describe_volumes(&query).await;
    let states: Vec<_> = found
        .expect("EC2 is well")
        .iter()
        .map(|volume| (volume.volume_id.clone(), volume.state))
        .collect();
    let of = |state| ("vol-1".to_owned(), state);
    assert_eq!(states, [of(VolumeState::InUse), of(VolumeState::Available)]);
}

#[tokio::test]
async fn all_pages_are_read_and_each_is_counted() {
    let pages = AtomicUsize::new(0);
    let (aws, calls, _server) = aws_at(move |_| match pages.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => volumes("<nextToken>more</nextToken>"),
        _ => volumes(""),
    })
    .await;
    let query = VolumeQuery::AttachedTo("i-1".to_owned());
    let found = Ec2::new(aws).describe_volumes(&query).await;
    assert_eq!(found.map(|found| found.len()), Ok(3));
    assert_eq!(calls.calls()["ec2:DescribeVolumes"], 3);
}

const INSTANCES: &str = "<?xml version=\"1.0\"?><DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i-1</instanceId><instanceState><code>48</code><name>terminated</name></instanceState><launchTime>2026-11-21T03:22:17.000Z</launchTime><placement><availabilityZone>us-west-2a</availabilityZone></placement><tagSet><item><key>Name</key><value>n</value></item></tagSet><blockDeviceMapping><item><deviceName>/dev/xvda</deviceName></item></blockDeviceMapping></item></instancesSet></item></reservationSet></DescribeInstancesResponse>";

#[tokio::test]
async fn instances_are_shown_with_their_state_tags_and_devices() {
    let (aws, _calls, _server) = aws_at(|_| instances("")).await;
    let query = InstanceQuery::Ids(vec!["i-1".to_owned(), "i-2".to_owned()]);
    let found = Ec2::new(aws).describe_instances(&query).await;
    let found = found.expect("EC2 is well");
    let [instance] = found.as_slice() else {
        panic!("the one that EC2 does not show is left out: {found:?}");
    };
    assert_eq!(instance.state, InstanceState::Terminated);
    assert_eq!(instance.device_names, ["/dev/xvda"]);
    assert_eq!(instance.tags["Name"], "n");
    assert_eq!(instance.zone, "us-west-2a");
}

#[tokio::test]
async fn instances_are_found_by_a_tag_over_all_pages_and_each_page_is_counted() {
    let (aws, calls, server) = aws_at(|seen| match requested(seen, "NextToken") {
        None => instances("<nextToken>more</nextToken>"),
        Some(_) => instances(""),
    })
    .await;
    let query = InstanceQuery::Tagged {
        key: "kubernetes.io/cluster/c.example".to_owned(),
        value: "owned".to_owned(),
    };
    let found = Ec2::new(aws).describe_instances(&query).await;
    assert_eq!(found.map(|found| found.len()), Ok(2));
    assert_eq!(calls.calls()["ec2:DescribeInstances"], 2);
    let seen = server.seen();
    let last = seen.last().expect("it was asked");
    let name = requested(last, "Filter.1.Name").expect("there is a filter");
    assert_eq!(name, "tag%3Akubernetes.io%2Fcluster%2Fc.example");
    assert_eq!(requested(last, "Filter.1.Value.1"), Some("owned"));
    assert_eq!(requested(last, "NextToken"), Some("more"));
}

#[tokio::test]
async fn more_ids_than_a_filter_takes_are_asked_for_in_turns() {
    let (aws, calls, _server) = aws_at(|_| instances("")).await;
    let ids = (0..201).map(|number| format!("i-{number}")).collect();
    let found = Ec2::new(aws)
        .describe_instances(&InstanceQuery::Ids(ids))
        .await;
    assert_eq!(found.map(|found| found.len()), Ok(2));
    assert_eq!(calls.calls()["ec2:DescribeInstances"], 2);
}

#[tokio::test]
async fn a_volume_is_kept_by_one_call_that_names_its_device() {
    let (aws, calls, server) = aws_at(|_| done("ModifyInstanceAttribute")).await;
    let kept = Ec2::new(aws).keep_on_termination("i-1", "/dev/xvdba").await;
    assert_eq!(kept, Ok(()));
    assert_eq!(calls.calls()["ec2:ModifyInstanceAttribute"], 1);
    let seen = server.seen();
    let request = seen.last().expect("it was asked");
    assert_eq!(requested(request, "InstanceId"), Some("i-1"));
    let device = requested(request, "BlockDeviceMapping.1.DeviceName");
    assert_eq!(device, Some("%2Fdev%2Fxvdba"));
    let deleted = requested(request, "BlockDeviceMapping.1.Ebs.DeleteOnTermination");
    assert_eq!(deleted, Some("false"));
    assert_eq!(requested(request, "UserData.Value"), None);
}

#[tokio::test]
async fn tags_are_written_with_their_values_and_removed_by_their_keys() {
    let (aws, calls, server) = aws_at(|seen| done(requested(seen, "Action").unwrap_or(""))).await;
    let ec2 = Ec2::new(aws);
    let tags = BTreeMap::from([("quake.io/etcd-pin".to_owned(), "main/a".to_owned())]);
    assert_eq!(ec2.tag_volume("vol-1", &tags).await, Ok(()));
    let keys = ["quake.io/etcd-pin".to_owned()];
    assert_eq!(ec2.untag_volume("vol-1", &keys).await, Ok(()));
    let counted = calls.calls();
    assert_eq!(
        (counted["ec2:CreateTags"], counted["ec2:DeleteTags"]),
        (1, 1)
    );
    let seen = server.seen();
    let [.., written, removed] = seen.as_slice() else {
        panic!("two calls: {seen:?}");
    };
    for request in [written, removed] {
        assert_eq!(requested(request, "ResourceId.1"), Some("vol-1"));
        assert_eq!(requested(request, "Tag.1.Key"), Some("quake.io%2Fetcd-pin"));
    }
    assert_eq!(requested(written, "Tag.1.Value"), Some("main%2Fa"));
    assert_eq!(requested(removed, "Tag.1.Value"), None, "by key alone");
}

#[tokio::test]
async fn removing_no_tags_is_not_removing_all_of_them() {
    let (aws, calls, _server) = aws_at(|_| done("DeleteTags")).await;
    assert_eq!(Ec2::new(aws).untag_volume("vol-1", &[]).await, Ok(()));
    assert!(calls.calls().is_empty(), "nobody is asked");
}

#[tokio::test]
async fn a_volume_that_ec2_does_not_know_has_no_tags_to_write_or_remove() {
    let (aws, _calls, _server) =
        aws_at(|_| ec2_error(400, "InvalidVolume.NotFound", "no vol-1")).await;
    let ec2 = Ec2::new(aws);
    let tagged = ec2.tag_volume("vol-1", &BTreeMap::new()).await;
    let untagged = ec2.untag_volume("vol-1", &["k".to_owned()]).await;
    for answer in [tagged, untagged] {
        assert_eq!(
            answer.map_err(|error| error.condition),
            Err(Condition::Missing)
        );
    }
}

#[tokio::test]
async fn asking_for_nothing_asks_nobody() {
    let (aws, calls, _server) = aws_at(|_| Reply::text(500, "")).await;
    let ec2 = Ec2::new(aws);
    assert_eq!(
        ec2.describe_instances(&InstanceQuery::Ids(Vec::new()))
            .await,
        Ok(Vec::new())
    );
    assert_eq!(
        ec2.describe_volumes(&VolumeQuery::Ids(Vec::new())).await,
        Ok(Vec::new())
    );
    assert!(calls.calls().is_empty());
}

#[tokio::test]
async fn each_refusal_has_its_condition() {
    use Condition::{
        ClockSkew, Conflict, Denied, Impossible, Limit, Missing, NotReady, Occupied, Throttled,
        Unreachable,
    };
    for (status, code, message, condition) in [
        (400, "VolumeInUse", "vol-1 is already attached", Conflict),
        (
            400,
            "InvalidParameterValue",
            "Attachment point /dev/xvdba is already in use",
            Occupied,
        ),
        (400, "InvalidDevice.InUse", "/dev/xvdba", Occupied),
        (400, "IncorrectState", "vol-1 is creating", NotReady),
        (400, "IncorrectInstanceState", "i-1 is stopping", NotReady),
        (400, "InvalidInstanceID.NotFound", "no i-1", NotReady),
        (400, "InvalidVolume.NotFound", "no vol-1", Missing),
        (400, "AttachmentLimitExceeded", "full", Limit),
        (400, "InvalidVolume.ZoneMismatch", "elsewhere", Impossible),
        (400, "InvalidKmsKey.NotFound", "no key", Denied),
        (400, "CustomerKeyHasBeenRevoked", "revoked", Denied),
        (403, "UnauthorizedOperation", "no", Denied),
        (503, "RequestLimitExceeded", "slow down", Throttled),
        (400, "RequestExpired", "expired", ClockSkew),
        (500, "InternalError", "oops", Unreachable),
        (400, "ExpiredToken", "expired", Unreachable),
    ] {
        let error = attach_fails(move |_| ec2_error(status, code, message)).await;
        assert_eq!(error.condition, condition, "{error}");
        assert!(error.summary.contains("vol-1"), "{error}");
        let reported = error.evidence.iter().find(|it| it.name == "error code");
        assert_eq!(reported.map(|it| it.value.as_str()), Some(code));
        let of_key = error.evidence.iter().any(|it| it.name == "kms");
        assert_eq!(of_key, code.contains("Key"), "{code}");
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
        r#"{"Sid":"QuakeAttachVolume","Effect":"Allow","Action":["ec2:AttachVolume"],"#,
        r#""aws:ResourceTag/KubernetesCluster":["<cluster>"]"#,
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
    let imds = Imds::new(&at, Calls::new());
    let settings =
        AwsSettings::from_lookup(
            Environment::Node,
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
