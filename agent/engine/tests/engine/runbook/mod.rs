//! The runbook, tried: each row brings a fault about, does what docs/runbook says, and sees the node go on.

mod choice;
mod config;
mod data;
mod node;

use crate::common::{events_of, host, request, run, strike};
use quake_engine::{Configuration, Request};
use quake_model::event::Event;
use quake_model::facts::VolumeFacts;
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::{Clock, Condition};
use quake_model::record::Record;
use quake_node::node_conditions::{ConditionStatus, conditions, reason};
use quake_testkit::region::Region;
use quake_testkit::{Script, SimHost, Timing, example};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// Something that happens to a node, or that an operator does.
type Act = fn(&SimHost);

/// A code, what brings it about, and what the runbook says to do.
type Trial = (Code, Act, Act);

/// For as long as the boot lasts.
const ALWAYS: RangeInclusive<u64> = 1..=1_000_000;

/// The cause goes by itself, or was a scripted one that the next boot does not have.
const NOTHING: Act = |_| {};

/// `etcd`'s volumes of the example's control plane.
const MAIN: &str = "vol-0aa";
const EVENTS: &str = "vol-0bb";

fn strikes(host: &SimHost, operation: &str, calls: RangeInclusive<u64>, condition: Condition) {
    host.next_boot(Script::new(vec![strike(operation, calls, condition)]));
}

fn volume<'a>(region: &'a mut Region, id: &str) -> &'a mut VolumeFacts {
    let mut volumes = region.volumes.iter_mut();
    let found = volumes.find(|volume| volume.volume_id == id);
    found.expect("it is there")
}

/// Where an object of the example cluster is.
fn location(key: &str) -> String {
    let objects = example::objects();
    let (spec, _) = objects.first().expect("the example has objects");
    spec.replace("cluster.spec", key)
}

/// Puts one of the example's objects into the state store, changed.
fn put_changed(host: &SimHost, key: &str, change: impl Fn(&str) -> String) {
    let objects = example::objects();
    let mut objects = objects.iter();
    let object = objects.find(|(location, _)| location.ends_with(key));
    let (location, text) = object.expect("the example has it");
    host.put_object(location, change(text));
}

/// A host whose node has its `kube_env.yaml` from its user data, so that both can be changed.
fn node(group: &str) -> Arc<SimHost> {
    let host = host(group, Timing::default());
    let text = example::kube_env(group).expect("the example has this group");
    launch_with(&host, text);
    host
}

/// Gives the instance user data with this `kube_env.yaml`.
fn launch_with(host: &SimHost, kube_env: &str) {
    let script = format!("#!/bin/bash\ncat > kube_env.yaml << '__EOF'\n{kube_env}\n__EOF\n");
    host.change(|region| region.user_data = Some(script.into_bytes()));
}

fn boot_of(group: &str) -> Request {
    Request {
        configuration: Configuration::default(),
        ..request(group)
    }
}

/// The fault ends the boot; after the remedy the agent is started again, and the node is ready.
async fn ends_until_mended(group: &str, trials: &[Trial]) {
    for (code, broken, repaired) in trials {
        let host = node(group);
        broken(&host);
        let (verdict, record) = run(&host, &boot_of(group)).await;
        let ended_with = verdict.fault.as_ref().map(|fault| fault.code);
        assert_eq!(ended_with, Some(*code), "{:?}", verdict.fault);
        let status = code.entry().class.exit_status();
        assert_eq!(record.exit_status(), status, "{code}");
        shows_in_conditions(&host, &record);
        repaired(&host);
        host.next_boot(Script::default());
        let (verdict, record) = run(&host, &boot_of(group)).await;
        assert_eq!(verdict.fault, None, "after the remedy of {code}");
        assert!(record.is_ready(), "after the remedy of {code}");
        let lacking = not_true(&host, &record);
        assert!(
            lacking.is_empty(),
            "after the remedy of {code}: {lacking:?}"
        );
    }
}

/// The condition that is about a phase alone, beside that of the boot.
fn condition_of(phase: Phase, code: Code) -> Option<&'static str> {
    match phase {
        Phase::Storage => Some("VolumesSafe"),
        Phase::Network => Some("NetworkReady"),
        Phase::Assets => Some("ImagesPresent"),
        Phase::Credentials => Some("CertificatesValid"),
        Phase::Services if code.to_string().contains("image") => Some("ImagesPresent"),
        _ => None,
    }
}

/// The conditions of the Node object say that the boot failed, and those that are about its phase: with the code and the first line of
/// the remedy.
fn shows_in_conditions(host: &SimHost, record: &Record) {
    let fault = record.fault.as_ref().expect("the boot failed");
    let failed = record.phases.iter();
    let mut failed = failed.filter(|(_, it)| it.fault.as_ref() == Some(fault));
    let (phase, _) = failed.next().expect("a phase failed by it");
    let about = condition_of(*phase, fault.code);
    let wanted: BTreeSet<&str> = about.into_iter().chain(["BootComplete"]).collect();
    let all = conditions(record, host.now());
    let lacking = all
        .iter()
        .filter(|one| one.status == ConditionStatus::False);
    let remedy = fault.remedy_text();
    let first = remedy.lines().next().unwrap_or_default();
    for condition in lacking.clone() {
        assert_eq!(condition.reason, reason(fault.code), "{condition:?}");
        let begins: String = format!("{}: {first}", fault.code);
        let begins: String = begins.chars().take(500).collect();
        assert!(
            condition.message.starts_with(&begins),
            "{condition:?} {fault:?}"
        );
    }
    let lacking: BTreeSet<&str> = lacking.map(|one| one.kind.name()).collect();
    assert_eq!(lacking, wanted, "{fault:?}");
}

/// The names of the conditions that do not hold.
fn not_true(host: &SimHost, record: &Record) -> Vec<&'static str> {
    let all = conditions(record, host.now()).into_iter();
    let others = all.filter(|one| one.status != ConditionStatus::True);
    others.map(|one| one.kind.name()).collect()
}

/// What the boot told before it ended: what it waited for, and what it met and planned around.
fn reported(event: &Event) -> Option<&Fault> {
    match event {
        Event::Waiting { fault, .. } | Event::Warning { fault } => Some(fault),
        _ => None,
    }
}

/// The boot tells of the fault and goes on by itself once the remedy is done: nobody starts the agent again.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock is paused: nothing waits"
)]
async fn waits_until_mended(group: &str, trials: &[Trial]) {
    for (code, broken, repaired) in trials {
        let host = node(group);
        broken(&host);
        let (operator, repaired) = (Arc::clone(&host), *repaired);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(30)).await;
            repaired(&operator);
        });
        let (verdict, events) = events_of(&host, &boot_of(group)).await;
        assert_eq!(verdict.fault, None, "after the remedy of {code}");
        let seen: Vec<Code> = events.iter().filter_map(reported).map(|f| f.code).collect();
        assert!(seen.contains(code), "{code}: {seen:?}");
    }
}

/// The node is ready and warns; after the remedy the next boot does not.
async fn warns_until_mended(group: &str, trials: &[Trial]) {
    for (code, broken, repaired) in trials {
        let host = node(group);
        broken(&host);
        for (warns, act) in [(true, *repaired), (false, NOTHING)] {
            let (verdict, record) = run(&host, &boot_of(group)).await;
            assert_eq!(verdict.fault, None, "{code}");
            let seen: Vec<Code> = record.warnings.iter().map(|fault| fault.code).collect();
            assert_eq!(seen.contains(code), warns, "{code}: {seen:?}");
            let lacks_image = code.to_string().contains("image") && warns;
            let wanted = lacks_image.then_some("ImagesPresent");
            assert_eq!(not_true(&host, &record), Vec::from_iter(wanted), "{code}");
            act(&host);
            host.next_boot(Script::default());
        }
    }
}
