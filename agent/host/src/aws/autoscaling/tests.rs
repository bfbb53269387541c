//! Auto Scaling as a local server plays it, in the words of its API reference.

use super::*;
use crate::aws::Calls;
use crate::aws::testing::aws_at;
use quake_http::testing::{Reply, Seen, Server};
use quake_model::ports::Meter;

fn answer(action: &str, body: &str) -> Reply {
    let text = format!(
        "<{action}Response xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\"><{action}Result>{body}</{action}Result><ResponseMetadata><RequestId>R3</RequestId></ResponseMetadata></{action}Response>"
    );
    Reply::text(200, &text)
}

fn refusal(status: u16, code: &str, message: &str) -> Reply {
    let text = format!(
        "<ErrorResponse xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\"><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error><RequestId>R3</RequestId></ErrorResponse>"
    );
    Reply::text(status, &text)
}

async fn at(
    answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> (AutoScaling, Calls, Server) {
    let (aws, calls, server) = aws_at(answer).await;
    (AutoScaling::new(aws), calls, server)
}

/// The bodies of what was asked of Auto Scaling itself.
fn requests(server: &Server) -> Vec<String> {
    let seen = server.seen().into_iter();
    seen.map(|seen| seen.body)
        .filter(|body| body.contains("Action="))
        .collect()
}

fn completion() -> HookCompletion {
    HookCompletion {
        group: "nodes.c.example".to_owned(),
        hook: "launch".parse().expect("a literal"),
        instance_id: "i-1".to_owned(),
        result: HookResult::Abandon,
    }
}

#[tokio::test]
async fn the_group_of_an_instance_is_found_or_there_is_none() {
    let member = "<AutoScalingInstances><member><InstanceId>i-1</InstanceId><AutoScalingGroupName>nodes.c.example</AutoScalingGroupName><AvailabilityZone>us-west-2a</AvailabilityZone><LifecycleState>Pending:Wait</LifecycleState><HealthStatus>HEALTHY</HealthStatus><ProtectedFromScaleIn>false</ProtectedFromScaleIn></member></AutoScalingInstances>";
    let (autoscaling, calls, _server) = at(move |seen| {
        let known = seen.body.contains("InstanceIds.member.1=i-1");
        let found = if known {
            member
        } else {
            "<AutoScalingInstances/>"
        };
        answer("DescribeAutoScalingInstances", found)
    })
    .await;
    let found = autoscaling.find_group("i-1").await;
    assert_eq!(found, Ok(Some("nodes.c.example".to_owned())));
    assert_eq!(autoscaling.find_group("i-2").await, Ok(None));
    assert_eq!(calls.calls()["autoscaling:DescribeAutoScalingInstances"], 2);
}

#[tokio::test]
async fn an_instance_is_unhealthy_whatever_its_grace() {
    let (autoscaling, calls, server) = at(|_| answer("SetInstanceHealth", "")).await;
    assert_eq!(autoscaling.set_unhealthy("i-1").await, Ok(()));
    let requests = requests(&server);
    let [body] = requests.as_slice() else {
        panic!("there is one attempt: {requests:?}");
    };
    for part in [
        "Action=SetInstanceHealth",
        "InstanceId=i-1",
        "HealthStatus=Unhealthy",
        "ShouldRespectGracePeriod=false",
    ] {
        assert!(body.contains(part), "{part} in {body}");
    }
    assert_eq!(calls.calls()["autoscaling:SetInstanceHealth"], 1);
}

#[tokio::test]
async fn a_group_is_described_with_its_instances_and_what_is_suspended() {
    let instance = |id: &str, state: &str, health: &str| {
        format!(
            "<member><InstanceId>{id}</InstanceId><AvailabilityZone>us-west-2a</AvailabilityZone><LifecycleState>{state}</LifecycleState><HealthStatus>{health}</HealthStatus><ProtectedFromScaleIn>false</ProtectedFromScaleIn></member>"
        )
    };
    let instances = [
        instance("i-1", "InService", "Healthy"),
        instance("i-2", "InService", "Unhealthy"),
        instance("i-3", "Terminating:Wait", "Healthy"),
        instance("i-4", "Pending", "Healthy"),
        instance("i-5", "Standby", "Healthy"),
    ]
    .concat();
    let body = format!(
        "<AutoScalingGroups><member><AutoScalingGroupName>nodes.c.example</AutoScalingGroupName><MinSize>1</MinSize><MaxSize>9</MaxSize><DesiredCapacity>6</DesiredCapacity><DefaultCooldown>300</DefaultCooldown><AvailabilityZones><member>us-west-2a</member></AvailabilityZones><HealthCheckType>EC2</HealthCheckType><CreatedTime>2026-01-01T00:00:00Z</CreatedTime><Instances>{instances}</Instances><SuspendedProcesses><member><ProcessName>ReplaceUnhealthy</ProcessName></member></SuspendedProcesses></member></AutoScalingGroups>"
    );
    let (autoscaling, calls, server) =
        at(move |_| answer("DescribeAutoScalingGroups", &body)).await;
    let names = ["nodes.c.example".to_owned()];
    let groups = autoscaling
        .describe_groups(&names)
        .await
        .expect("an answer");
    let [group] = groups.as_slice() else {
        panic!("one group: {groups:?}");
    };
    assert_eq!((group.name.as_str(), group.desired), ("nodes.c.example", 6));
    assert!(group.suspended.contains("ReplaceUnhealthy"));
    let seen: Vec<_> = group
        .members
        .iter()
        .map(|it| (it.state, it.healthy))
        .collect();
    let wanted = [
        (MemberState::InService, true),
        (MemberState::InService, false),
        (MemberState::Leaving, true),
        (MemberState::Pending, true),
        (MemberState::Standby, true),
    ];
    assert_eq!(seen, wanted);
    assert_eq!(autoscaling.describe_groups(&[]).await, Ok(Vec::new()));
    assert_eq!(calls.calls()["autoscaling:DescribeAutoScalingGroups"], 1);
    assert!(requests(&server)[0].contains("AutoScalingGroupNames.member.1=nodes.c.example"));
}

#[tokio::test]
async fn a_launch_is_abandoned_at_its_hook() {
    let (autoscaling, _calls, server) = at(|_| answer("CompleteLifecycleAction", "")).await;
    assert_eq!(autoscaling.complete_hook(&completion()).await, Ok(()));
    let requests = requests(&server);
    for part in [
        "AutoScalingGroupName=nodes.c.example",
        "LifecycleHookName=launch",
        "LifecycleActionResult=ABANDON",
        "InstanceId=i-1",
    ] {
        assert!(requests[0].contains(part), "{part} in {requests:?}");
    }
}

#[tokio::test]
async fn what_a_refusal_means_is_told_apart() {
    for (status, code, expected) in [
        (400, "ValidationError", Condition::Missing),
        (403, "AccessDenied", Condition::Denied),
        (400, "Throttling", Condition::Throttled),
        (500, "ResourceContention", Condition::Throttled),
        (500, "InternalFailure", Condition::Unreachable),
    ] {
        let (autoscaling, _calls, _server) = at(move |_| refusal(status, code, "no")).await;
        let refused = autoscaling.complete_hook(&completion()).await;
        let error = refused.expect_err("it is refused");
        assert_eq!(error.condition, expected, "{code}: {error:?}");
    }
}

#[tokio::test]
async fn a_denied_signal_names_its_statement() {
    let (autoscaling, _calls, _server) = at(|_| {
        refusal(
            403,
            "AccessDenied",
            "User: arn:aws:sts::1:assumed-role/nodes/i-1 is not authorized to perform: autoscaling:SetInstanceHealth on resource: arn:aws:autoscaling:us-west-2:1:autoScalingGroup:u:autoScalingGroupName/nodes because no identity-based policy allows it",
        )
    })
    .await;
    let error = autoscaling.set_unhealthy("i-1").await.expect_err("denied");
    let remedy = error.remedy.unwrap_or_default();
    assert!(
        remedy.contains("allow autoscaling:SetInstanceHealth on arn:aws:autoscaling:us-west-2:1:"),
        "{remedy}"
    );
    assert!(remedy.contains("\"Sid\":\"QuakeSignalGroup\""), "{remedy}");
}

#[tokio::test]
async fn the_hook_of_a_warm_pool_is_found_among_those_of_its_group() {
    let hooks = "<LifecycleHooks><member><LifecycleHookName>other</LifecycleHookName></member><member><LifecycleHookName>kops-warmpool</LifecycleHookName></member></LifecycleHooks>";
    let (autoscaling, calls, server) = at(move |_| answer("DescribeLifecycleHooks", hooks)).await;
    let group = "nodes.c.example";
    assert_eq!(autoscaling.has_hook(group, "kops-warmpool").await, Ok(true));
    assert_eq!(autoscaling.has_hook(group, "launch").await, Ok(false));
    assert!(requests(&server)[0].contains("AutoScalingGroupName=nodes.c.example"));
    assert_eq!(calls.calls()["autoscaling:DescribeLifecycleHooks"], 2);
}

#[tokio::test]
async fn a_group_that_is_not_there_has_no_hook_and_a_refusal_is_told() {
    for (status, code, expected) in [
        (400, "ValidationError", Ok(false)),
        (403, "AccessDenied", Err(Condition::Denied)),
        (400, "Throttling", Err(Condition::Throttled)),
    ] {
        let (autoscaling, _calls, _server) = at(move |_| refusal(status, code, "no")).await;
        let found = autoscaling
            .has_hook("nodes.c.example", "kops-warmpool")
            .await;
        assert_eq!(found.map_err(|error| error.condition), expected, "{code}");
    }
}
