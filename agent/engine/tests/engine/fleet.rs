//! The reports of a cluster, read from its state store.

use crate::common::strike;
use quake_engine::read_reports;
use quake_model::fault::Code;
use quake_model::location::Location;
use quake_model::ports::Condition;
use quake_model::time::Timestamp;
use quake_testkit::region::{Region, example_instance};
use quake_testkit::{Script, SimHost, Timing};

fn store(faults: Vec<quake_testkit::ScriptedFault>) -> SimHost {
    let region = Region::with_instance(example_instance("us-test-1a"), "c.example");
    let host = SimHost::new(region, Timing::default(), Timestamp(0));
    for place in [
        "boot-reports/nodes/i-1.json",
        "boot-reports/nodes/i-2.json",
        "boot-reports/nodes/README",
        "boot-reports/masters/i-3.json",
        "cluster.spec",
    ] {
        host.put_object(&format!("s3://store/c.example/{place}"), place);
    }
    host.with_script(Script::new(faults))
}

fn base() -> Location {
    "s3://store/c.example".parse().expect("a literal")
}

/// The names of what was found, and of what could not be read.
async fn read(host: &SimHost, group: Option<&str>) -> Result<(Vec<String>, usize), Code> {
    let found = read_reports(host, &base(), group).await;
    let found = found.map_err(|fault| fault.code)?;
    let unread = found.iter().filter(|report| report.bytes.is_err()).count();
    let name = |location: &String| location.rsplit('/').next().map(str::to_owned);
    let mut names: Vec<String> = found
        .iter()
        .filter_map(|report| name(&report.location))
        .collect();
    names.sort();
    Ok((names, unread))
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn reports_of_all_groups_or_of_one_are_found_and_nothing_else() {
    let host = store(Vec::new());
    let all = names(&["i-1.json", "i-2.json", "i-3.json"]);
    assert_eq!(read(&host, None).await, Ok((all, 0)));
    let masters = names(&["i-3.json"]);
    assert_eq!(read(&host, Some("masters")).await, Ok((masters, 0)));
    assert_eq!(read(&host, Some("none")).await, Ok((Vec::new(), 0)));
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_tried_again_and_a_report_that_is_gone_is_named() {
    let all = names(&["i-1.json", "i-2.json", "i-3.json"]);
    let host = store(vec![
        strike("list_objects", 1..=2, Condition::Throttled),
        strike("read_object", 1..=3, Condition::Unreachable),
    ]);
    assert_eq!(read(&host, None).await, Ok((all.clone(), 0)));
    let host = store(vec![strike("read_object", 2..=2, Condition::Missing)]);
    assert_eq!(read(&host, None).await, Ok((all.clone(), 1)));
    let host = store(vec![strike("read_object", 2..=2, Condition::Denied)]);
    assert_eq!(read(&host, None).await, Ok((all, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_everything_is_the_answer() {
    for operation in ["list_objects", "read_object"] {
        let host = store(vec![strike(operation, 1..=99, Condition::Denied)]);
        assert_eq!(read(&host, None).await, Err(Code::ConfigStoreDenied));
        assert!(host.port_calls_of(operation) <= 3, "it is not tried again");
    }
    let host = store(vec![strike("list_objects", 1..=99, Condition::Unreachable)]);
    assert_eq!(read(&host, None).await, Err(Code::ConfigStoreUnreachable));
}
