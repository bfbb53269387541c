//! What a node asks of the cloud while it finds out what it is: prefixes of pods, and what its instance's type has.

use crate::common::{failing_boot, run, strike};
use crate::kops::{WRITES, conformance, warnings, worker_with};
use quake_engine::{Mode, Request};
use quake_model::facts::EniCapacity;
use quake_model::fault::Code;
use quake_model::ports::Condition;
use quake_testkit::{Script, ScriptedFault, When};

/// What writes on a node that is as it should be: nothing.
pub(crate) fn writes(host: &quake_testkit::SimHost) -> Vec<(&'static str, u64)> {
    let made = WRITES.iter().map(|call| (*call, host.port_calls_of(call)));
    made.filter(|(_, count)| *count > 0).collect()
}

/// The configuration of a cluster of IPv6 alone.
fn ipv6(config: &str) -> String {
    let found = config
        .lines()
        .find(|line| line.trim().starts_with("nonMasqueradeCIDR:"))
        .expect("it has one");
    config.replace(found, "  nonMasqueradeCIDR: ::/0")
}

/// The configuration of a cluster whose pods have addresses of the instance.
fn amazon(config: &str) -> String {
    config.replacen("Networking:\n", "Networking:\n  amazonVPC: {}\n", 1)
}

#[tokio::test(start_paused = true)]
async fn a_prefix_is_asked_for_once_and_awaited() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &ipv6);
    host.late_prefix(4);
    let (verdict, record) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(warnings(&record), [""; 0]);
    assert_eq!(host.port_calls_of("assign_prefix"), 1);
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(writes(&host), []);

    // One that is never shown, and one that nobody gives, are told apart.
    let (host, request) = worker_with(&root, &ipv6);
    host.late_prefix(u32::MAX);
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::NetworkPrefixPending);
    assert!(
        host.port_calls_of("assign_prefix") <= 5,
        "not at every look"
    );
    let (host, request) = worker_with(&root, &ipv6);
    host.next_boot(Script::new(vec![strike(
        "assign_prefix",
        1..=999,
        Condition::Limit,
    )]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::NetworkPrefixFailed);
}

#[tokio::test(start_paused = true)]
async fn a_prefix_whose_answer_was_lost_is_not_asked_for_again_at_once() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &ipv6);
    let lost = ScriptedFault {
        when: When::After,
        ..strike("assign_prefix", 1..=1, Condition::Unreachable)
    };
    host.late_prefix(3);
    host.next_boot(Script::new(vec![lost]));
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(host.port_calls_of("assign_prefix"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_prefix_that_is_denied_is_named_with_its_permission() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &ipv6);
    host.next_boot(Script::new(vec![strike(
        "assign_prefix",
        1..=999,
        Condition::Denied,
    )]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::NetworkPrefixDenied);
    assert_eq!(fault.code.page().actions, ["ec2:AssignIpv6Addresses"]);
}

#[tokio::test(start_paused = true)]
async fn a_plan_asks_for_no_prefix() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &ipv6);
    let request = Request {
        acting: Mode::DryRun,
        ..request
    };
    let (verdict, _) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(host.port_calls_of("assign_prefix"), 0);
    let ids = verdict
        .planned
        .iter()
        .map(|planned| planned.step.id.as_str());
    assert!(ids.into_iter().any(|id| id == "network:ipv6-prefix"));
}

fn kubelet_configuration(host: &quake_testkit::SimHost) -> String {
    let tree = host.tree();
    let found = tree.get("/var/lib/kubelet/kubelet.conf");
    String::from_utf8_lossy(found.expect("kubelet is configured")).into_owned()
}

#[tokio::test(start_paused = true)]
async fn what_a_type_has_is_asked_once_and_kept() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &amazon);
    host.put_file("/etc/cni/net.d/10-aws.conflist", "{}");
    host.next_boot(Script::new(vec![strike(
        "describe_type",
        1..=2,
        Condition::Throttled,
    )]));
    host.change(|region| {
        let capacity = EniCapacity {
            interfaces: 2,
            addresses_per_interface: 4,
        };
        let name = region.instance.instance_type.clone();
        region.types.insert(name, capacity);
    });
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(host.port_calls_of("describe_type"), 3);
    assert!(kubelet_configuration(&host).contains("maxPods: 8\n"));
    host.next_boot(Script::default());
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(host.port_calls_of("describe_type"), 0);
    assert_eq!(writes(&host), []);
    let (host, request) = worker_with(&root, &amazon);
    let silent = strike("describe_type", 1..=999, Condition::Unreachable);
    host.next_boot(Script::new(vec![silent]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::ConfigInstanceTypeUnknown);
}

#[tokio::test(start_paused = true)]
async fn a_type_that_may_not_be_described_is_named_with_its_permission() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &amazon);
    host.next_boot(Script::new(vec![strike(
        "describe_type",
        1..=999,
        Condition::Denied,
    )]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::ConfigInstanceTypeDenied);
    assert_eq!(fault.code.page().actions, ["ec2:DescribeInstanceTypes"]);
}

#[tokio::test(start_paused = true)]
async fn other_networks_ask_nobody_what_a_type_has() {
    let Some(root) = conformance() else { return };
    let (host, request) = worker_with(&root, &str::to_owned);
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(host.port_calls_of("describe_type"), 0);
}
