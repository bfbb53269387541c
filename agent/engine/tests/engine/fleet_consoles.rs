//! Consoles of a cluster's instances, read by its tag.

use crate::common::{host, strike};
use quake_diagnose::fleet::{ConsoleFleet, Quiet, Rows, Wanted};
use quake_engine::read_consoles;
use quake_model::facts::InstanceView;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Condition, Meter};
use quake_model::time::Timestamp;
use quake_testkit::{Script, SimHost, Timing};
use std::sync::Arc;

const CLUSTER: &str = "demo.quake.example";

/// `READY instance=i-1 elapsed_ms=1` and `READY instance=i-2 elapsed_ms=1`, as the agent writes them, in base64.
const READY: [&str; 2] = [
    "cXVha2UtYWdlbnQ6IFJFQURZIGluc3RhbmNlPWktMSBlbGFwc2VkX21zPTENCg==",
    "cXVha2UtYWdlbnQ6IFJFQURZIGluc3RhbmNlPWktMiBlbGFwc2VkX21zPTENCg==",
];

/// A cluster of these two instances: ready, both.
fn cluster() -> Arc<SimHost> {
    let host = host("workers", Timing::default());
    host.change(|region| {
        let node = |(at, id): (u64, &str)| InstanceView {
            instance_id: id.to_owned(),
            launched: Timestamp(at),
            ..region.instances[0].clone()
        };
        region.instances = [(1, "i-1"), (2, "i-2")].map(node).to_vec();
        let consoles = ["i-1", "i-2"].map(str::to_owned).into_iter();
        region.consoles = consoles.zip(READY.map(str::to_owned)).collect();
    });
    host
}

async fn read(host: &SimHost, limit: usize) -> Result<ConsoleFleet, Fault> {
    let wanted = Wanted {
        limit,
        ..Wanted::default()
    };
    read_consoles(host, CLUSTER, &wanted, Rows::All).await
}

fn called(host: &SimHost, action: &str) -> u64 {
    host.calls().get(action).copied().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn each_instance_of_the_cluster_is_asked_once_and_no_more_than_the_limit() {
    let host = cluster();
    let all = read(&host, 500).await.expect("it is read");
    assert!(all.is_ready(), "{all:?}");
    assert_eq!(called(&host, "ec2:DescribeInstances"), 1);
    assert_eq!(called(&host, "ec2:GetConsoleOutput"), 2);
    let host = cluster();
    let one = read(&host, 1).await.expect("it is read");
    assert_eq!(called(&host, "ec2:GetConsoleOutput"), 1);
    assert_eq!((one.instances, one.omitted), (1, 1));
    assert_eq!(one.fleet.rows[0].instance.id, "i-2", "the newest");
}

#[tokio::test(start_paused = true)]
async fn instances_that_carry_the_newer_tag_alone_are_found() {
    let host = cluster();
    host.change(|region| {
        for view in &mut region.instances {
            view.tags.remove("KubernetesCluster");
        }
    });
    let all = read(&host, 500).await.expect("it is read");
    assert_eq!(
        (all.instances, called(&host, "ec2:DescribeInstances")),
        (2, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn an_instance_without_latest_output_is_asked_for_what_ec2_kept() {
    let host = cluster();
    host.change(|region| {
        region.without_nitro.insert("i-1".to_owned());
        region.consoles.remove("i-2");
    });
    let all = read(&host, 500).await.expect("it is read");
    assert_eq!(all.fleet.ready, 1);
    let empty: Vec<&str> = all
        .no_output
        .iter()
        .map(|it: &Quiet| it.instance.as_str())
        .collect();
    assert_eq!(empty, ["i-2"]);
    assert_eq!(called(&host, "ec2:GetConsoleOutput"), 3);
}

#[tokio::test(start_paused = true)]
async fn consoles_that_are_all_refused_are_the_answer_and_one_is_a_line_of_it() {
    let host = cluster();
    host.next_boot(Script::new(vec![strike(
        "read_console",
        1..=1,
        Condition::Denied,
    )]));
    let some = read(&host, 500).await.expect("one is read");
    assert_eq!((some.fleet.ready, some.fleet.unreadable.len()), (1, 1));
    let why = &some.fleet.unreadable[0].why;
    assert!(why.starts_with("boot.console-denied"), "{why}");
    host.next_boot(Script::new(vec![strike(
        "read_console",
        1..=9,
        Condition::Denied,
    )]));
    let fault = read(&host, 500).await.expect_err("all are refused");
    assert_eq!(fault.code, Code::BootConsoleDenied);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_gone_is_left_out_and_one_that_is_throttled_stops_nothing() {
    let host = cluster();
    host.next_boot(Script::new(vec![strike(
        "read_console",
        1..=2,
        Condition::Throttled,
    )]));
    let healed = read(&host, 500).await.expect("it is read");
    assert!(healed.is_ready(), "{healed:?}");
    host.next_boot(Script::new(vec![strike(
        "read_console",
        1..=1,
        Condition::Missing,
    )]));
    let other = read(&host, 500).await.expect("it is read");
    assert_eq!((other.instances, other.fleet.ready), (1, 1));
    let host = cluster();
    host.next_boot(Script::new(vec![strike(
        "read_console",
        1..=99,
        Condition::Throttled,
    )]));
    let throttled = read(&host, 500).await.expect("nothing is denied");
    assert_eq!(throttled.fleet.unreadable.len(), 2);
    assert!(
        throttled.fleet.unreadable[0]
            .why
            .starts_with("boot.console-unread")
    );
}
