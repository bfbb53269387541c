//! The names of a control plane, published in the simulated Route 53 or in the machine's own `/etc/hosts`.

use crate::common::{events_of, failing_boot, host, request, run, run_unanswered, strike};
use quake_engine::{Mode, Request};
use quake_model::dns::{AddressRecord, ZoneFacts, ZoneKind};
use quake_model::event::Event;
use quake_model::facts::{ActiveState, InstanceState, InstanceView};
use quake_model::fault::Code;
use quake_model::outcome::Outcome;
use quake_model::ports::Condition;
use quake_model::record::Record;
use quake_model::time::Timestamp;
use quake_testkit::{Script, ScriptedFault, SimHost, Timing, When, example};
use std::sync::Arc;

pub(crate) const ZONE: &str = "Z1D633PJN98FT9";
pub(crate) const API: &str = "api.internal.demo.quake.example";
pub(crate) const MAIN: &str = "etcd-a.internal.demo.quake.example";
pub(crate) const EVENTS: &str = "etcd-events-a.internal.demo.quake.example";
pub(crate) const OURS: &str = "10.0.0.10";
const PLACEHOLDER: &str = "203.0.113.123";

/// The example's control plane, whose cluster says this of its names.
fn node(names: &str) -> Arc<SimHost> {
    let host = host("control-plane", Timing::default());
    let location = format!("{}/cluster.spec", example::CONFIG_BASE);
    let spec = host.object(&location).expect("the example has it");
    let spec = String::from_utf8(spec).expect("it is a text");
    let spec = spec.replacen("\nspec:\n", &format!("\nspec:\n{names}"), 1);
    host.put_object(&location, spec);
    host
}

fn zone(id: &str, kind: ZoneKind, vpcs: &[&str]) -> ZoneFacts {
    ZoneFacts {
        id: id.to_owned(),
        name: "quake.example".to_owned(),
        kind,
        vpcs: vpcs.iter().map(ToString::to_string).collect(),
    }
}

/// The same in a zone that is there, with the records that kops makes in advance.
pub(crate) fn zoned() -> Arc<SimHost> {
    let host = node(&format!("  dnsZone: {ZONE}\n"));
    host.change(|region| {
        region.names.add_zone(zone(ZONE, ZoneKind::Public, &[]));
        for name in [API, MAIN, EVENTS] {
            let record = AddressRecord::plain(name, 10, [PLACEHOLDER.to_owned()]);
            region.names.put(ZONE, record);
        }
    });
    host
}

pub(crate) fn addresses(host: &SimHost, name: &str) -> Vec<String> {
    host.region().names.addresses(ZONE, name)
}

fn requests(record: &Record) -> Vec<(&str, u64)> {
    let calls = record.calls.iter();
    calls
        .filter_map(|(call, count)| Some((call.strip_prefix("route53:")?, *count)))
        .collect()
}

fn again(host: &Arc<SimHost>) {
    host.next_boot(Script::default());
}

#[tokio::test(start_paused = true)]
async fn names_are_published_in_one_batch_and_a_second_boot_only_looks() {
    let host = zoned();
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    for name in [API, MAIN, EVENTS] {
        assert_eq!(addresses(&host, name), [OURS], "{name}");
    }
    assert_eq!(host.region().names.batches.len(), 1);
    let first = [
        ("ChangeResourceRecordSets", 1),
        ("GetChange", 1),
        ("GetHostedZone", 1),
        ("ListResourceRecordSets", 2),
    ];
    assert_eq!(requests(&record), first);
    let before = host.region();
    again(&host);
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!((verdict.fault, record.writes()), (None, 0));
    assert_eq!(requests(&record), [("ListResourceRecordSets", 1)]);
    assert!(host.region() == before);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_changed_is_published() {
    let host = zoned();
    run(&host, &request("control-plane")).await;
    host.change(|region| {
        region.instance.private_ip = "10.0.0.77".to_owned();
        region.instances[0].private_ip = "10.0.0.77".to_owned();
    });
    again(&host);
    let (verdict, _) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    for name in [API, MAIN, EVENTS] {
        assert_eq!(addresses(&host, name), ["10.0.0.77"], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_address_of_another_control_plane_stays_while_it_lives() {
    let host = zoned();
    let peers = [
        ("10.0.0.11", InstanceState::Running, "k8s.io/role/master"),
        ("10.0.0.12", InstanceState::Terminated, "k8s.io/role/master"),
        ("10.0.0.13", InstanceState::Running, "k8s.io/role/node"),
    ];
    host.change(|region| {
        for (address, state, role) in peers {
            let mut tags = region.instances[0].tags.clone();
            tags.insert(role.to_owned(), "1".to_owned());
            region.instances.push(InstanceView {
                instance_id: format!("i-{address}"),
                state,
                launched: Timestamp(0),
                zone: "us-test-1b".to_owned(),
                private_ip: address.to_owned(),
                tags,
                device_names: Vec::new(),
            });
        }
        let all = peers.map(|(address, _, _)| address.to_owned());
        region.names.put(ZONE, AddressRecord::plain(API, 60, all));
    });
    let (verdict, _) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(addresses(&host, API), [OURS, "10.0.0.11"]);
    again(&host);
    let (_, record) = run(&host, &request("control-plane")).await;
    assert_eq!(requests(&record), [("ListResourceRecordSets", 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_another_one_overtook_is_decided_anew() {
    let host = zoned();
    host.next_boot(Script::new(vec![strike(
        "change_records",
        1..=2,
        Condition::Conflict,
    )]));
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(addresses(&host, API), [OURS]);
    assert!(
        requests(&record).contains(&("ListResourceRecordSets", 4)),
        "{:?}",
        requests(&record)
    );
    let host = zoned();
    host.next_boot(Script::new(vec![strike(
        "change_records",
        1..=99,
        Condition::Conflict,
    )]));
    let (fault, record) = failing_boot(&host, &request("control-plane")).await;
    assert_eq!((fault.code, record.exit_status()), (Code::DnsConflict, 75));
}

#[tokio::test(start_paused = true)]
async fn a_batch_whose_answer_was_lost_is_not_sent_twice() {
    let host = zoned();
    let lost = ScriptedFault {
        when: When::After,
        ..strike("change_records", 1..=1, Condition::Unreachable)
    };
    host.next_boot(Script::new(vec![lost]));
    let (verdict, _) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(host.region().names.batches.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn throttles_are_waited_out() {
    let host = zoned();
    host.next_boot(Script::new(vec![
        strike("read_records", 1..=3, Condition::Throttled),
        strike("read_zone", 1..=1, Condition::Throttled),
        strike("change_records", 1..=2, Condition::Throttled),
        strike("look_change", 1..=2, Condition::Throttled),
    ]));
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(addresses(&host, MAIN), [OURS]);
    let retries: u32 = record.phases.values().map(|phase| phase.retries).sum();
    assert_eq!(retries, 8);
}

#[tokio::test(start_paused = true)]
async fn what_keeps_a_node_from_publishing_ends_the_boot_by_its_name_while_kubelet_runs() {
    for (condition, code, status) in [
        (Condition::Denied, Code::DnsDenied, 77),
        (Condition::Throttled, Code::DnsThrottled, 75),
        (Condition::Unreachable, Code::DnsNoAnswer, 75),
        (Condition::Missing, Code::DnsZoneMissing, 78),
        (Condition::Malformed, Code::DnsRefused, 78),
    ] {
        let host = zoned();
        host.next_boot(Script::new(vec![strike(
            "read_records",
            1..=999,
            condition,
        )]));
        let (fault, record) = failing_boot(&host, &request("control-plane")).await;
        assert_eq!((fault.code, record.exit_status()), (code, status));
        assert_eq!(fault.evidence_named("zone"), Some(ZONE));
        let kubelet = host.region().units["kubelet.service"].active;
        assert_eq!(kubelet, ActiveState::Active, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_role_without_route_53_ends_the_boot_naming_what_to_allow_while_kubelet_runs() {
    for operation in ["list_zones", "read_zone", "read_records", "change_records"] {
        let host = match operation {
            "list_zones" => node("  dnsZone: quake.example\n"),
            _ => zoned(),
        };
        host.next_boot(Script::new(vec![strike(
            operation,
            1..=999,
            Condition::Denied,
        )]));
        let (fault, record) = failing_boot(&host, &request("control-plane")).await;
        assert_eq!((fault.code, record.exit_status()), (Code::DnsDenied, 77));
        for action in ["ListResourceRecordSets", "ChangeResourceRecordSets"] {
            let action = format!("route53:{action}");
            assert!(
                fault.remedy_text().contains(&action),
                "{operation}: {fault:?}"
            );
        }
        let kubelet = host.region().units["kubelet.service"].active;
        assert_eq!(kubelet, ActiveState::Active, "{operation}");
        assert_eq!(host.region().names.batches.len(), 0, "{operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_zone_is_found_by_its_name_and_its_network() {
    let host = node("  dnsZone: quake.example\n  topology: {dns: {type: Private}}\n");
    host.change(|region| {
        let mac = region.instance.mac.clone();
        let key = format!("network/interfaces/macs/{mac}/vpc-id");
        region.metadata.insert(key, "vpc-1".to_owned());
        region.names.add_zone(zone("Z9", ZoneKind::Public, &[]));
        region
            .names
            .add_zone(zone("Z8", ZoneKind::Private, &["vpc-2"]));
        region
            .names
            .add_zone(zone(ZONE, ZoneKind::Private, &["vpc-1"]));
    });
    let (verdict, _) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(addresses(&host, API), [OURS]);
    host.change(|region| region.metadata.clear());
    again(&host);
    let (fault, record) = failing_boot(&host, &request("control-plane")).await;
    assert_eq!(
        (fault.code, record.exit_status()),
        (Code::DnsZoneAmbiguous, 78)
    );
    host.change(|region| region.names.zones.clear());
    again(&host);
    let (fault, _) = failing_boot(&host, &request("control-plane")).await;
    assert_eq!(fault.code, Code::DnsZoneMissing);
}

#[tokio::test(start_paused = true)]
async fn a_zone_of_other_names_is_not_written() {
    let host = node(&format!("  dnsZone: {ZONE}\n"));
    host.change(|region| {
        let mut other = zone(ZONE, ZoneKind::Public, &[]);
        other.name = "other.example".to_owned();
        region.names.add_zone(other);
    });
    let (fault, _) = failing_boot(&host, &request("control-plane")).await;
    assert_eq!(fault.code, Code::DnsZoneMissing);
    assert!(
        fault.summary.contains("is not below other.example"),
        "{fault}"
    );
    assert_eq!(host.region().names.batches.len(), 0);
}

fn warned(events: &[Event], code: Code) -> bool {
    let is_warning =
        |event: &Event| matches!(event, Event::Warning { fault } if fault.code == code);
    events.iter().any(is_warning)
}

#[tokio::test(start_paused = true)]
async fn name_servers_that_are_late_are_a_warning_and_the_node_is_ready() {
    let host = zoned();
    host.change(|region| region.names.in_sync_after = 999);
    let (verdict, events) = events_of(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    assert!(warned(&events, Code::DnsPending));
}

#[tokio::test(start_paused = true)]
async fn an_alias_is_left_and_remarked_on() {
    let host = zoned();
    host.change(|region| {
        let mut alias = AddressRecord::plain(API, 0, []);
        alias.steered_by = Some("an alias of lb.example".to_owned());
        region.names.put(ZONE, alias);
    });
    let (verdict, events) = events_of(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    assert!(warned(&events, Code::DnsRecordForeign));
    assert_eq!(addresses(&host, MAIN), [OURS]);
}

#[tokio::test(start_paused = true)]
async fn a_plan_says_what_it_would_publish_and_changes_nothing() {
    let host = zoned();
    let plan = Request {
        acting: Mode::DryRun,
        ..request("control-plane")
    };
    let before = host.region();
    let (verdict, _) = run(&host, &plan).await;
    let step = format!("ready:dns/{ZONE}");
    let planned = verdict.planned.iter().find(|it| it.step.id == step);
    let outcome = planned.map(|planned| planned.outcome);
    assert_eq!(outcome, Some(Outcome::WouldChange));
    assert!(host.region() == before);
}

#[tokio::test(start_paused = true)]
async fn a_boot_killed_at_any_call_about_names_converges() {
    let whole = zoned();
    run(&whole, &request("control-plane")).await;
    let (calls, names) = (whole.port_calls(), whole.region().names.records);
    // Names are published in the last phase, which makes few calls.
    for when in [When::Before, When::After] {
        for call in calls - 40..=calls {
            let host = zoned();
            let request = request("control-plane");
            let _ = run_unanswered(&host, &request, call, when).await;
            again(&host);
            let (verdict, _) = run(&host, &request).await;
            assert_eq!(verdict.fault, None, "after a halt {when:?} call {call}");
            let region = host.region();
            assert_eq!(region.names.records, names, "{when:?} {call}");
            assert_eq!(region.names.batches.len(), 1, "{when:?} {call}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_name_service_the_node_finds_its_own_names() {
    let host = node("  topology: {dns: {type: None}}\n");
    host.put_file("/etc/hosts", "127.0.0.1 localhost\n");
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!((verdict.fault, requests(&record)), (None, Vec::new()));
    let hosts = String::from_utf8(host.tree()["/etc/hosts"].clone()).expect("a text");
    let block = format!("{OURS}\t{API}\n{OURS}\t{MAIN}\n{OURS}\t{EVENTS}\n");
    assert!(hosts.starts_with("127.0.0.1 localhost\n# Begin"), "{hosts}");
    assert!(hosts.contains(&block), "{hosts}");
    again(&host);
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!((verdict.fault, record.writes()), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hosts_file_that_is_no_text_is_left_as_it_is() {
    let host = node("  topology: {dns: {type: None}}\n");
    host.put_file("/etc/hosts", [0xff, 0xfe]);
    let (fault, _) = failing_boot(&host, &request("control-plane")).await;
    assert_eq!(fault.code, Code::FilesOccupied);
    assert_eq!(host.tree()["/etc/hosts"], [0xff, 0xfe]);
}

#[tokio::test(start_paused = true)]
async fn workers_and_clusters_without_a_zone_publish_nothing() {
    let worker = host("workers", Timing::default());
    let (_, record) = run(&worker, &request("workers")).await;
    assert_eq!(requests(&record), []);
    let unnamed = host("control-plane", Timing::default());
    let (verdict, record) = run(&unnamed, &request("control-plane")).await;
    assert_eq!((verdict.fault, requests(&record)), (None, Vec::new()));
    assert!(!unnamed.tree().contains_key("/etc/hosts"));
}
