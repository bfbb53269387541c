//! A node that became ready: what is lost later is told once, and told again when it is back.

use crate::common::{Change, host, live, request};
use quake_engine::Request;
use quake_model::event::Event;
use quake_model::facts::ActiveState;
use quake_model::fault::{Code, Fault};
use quake_model::ports::Condition;
use quake_model::record::Record;
use quake_testkit::{Script, ScriptedFault, SimHost, Timing, When};
use std::sync::Arc;

const CNI: &str = "/etc/cni/net.d/10-quake-agent.conflist";

/// What was told of a ready node: the step, and the fault if it was lost.
pub(crate) type Reports = Vec<(String, Option<Fault>)>;

/// What is told while the world of a ready node of this group is changed.
async fn reported(group: &str, changes: &[Change<'_>]) -> (Record, Reports) {
    reports_of(&host(group, Timing::default()), &request(group), changes).await
}

/// The same of a node that is given.
pub(crate) async fn reports_of(
    host: &Arc<SimHost>,
    request: &Request,
    changes: &[Change<'_>],
) -> (Record, Reports) {
    let (record, events) = live(host, request, changes).await;
    let reported = events.into_iter().filter_map(|event| match event {
        Event::ConditionLost { step, fault, .. } => Some((step, Some(fault))),
        Event::ConditionRegained { step, .. } => Some((step, None)),
        _ => None,
    });
    (record, reported.collect())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stays_as_it_is_has_nothing_to_tell() {
    for group in ["workers", "control-plane"] {
        let (record, reported) = reported(group, &[]).await;
        assert_eq!((record.is_ready(), reported), (true, Vec::new()), "{group}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_without_descriptors_is_a_warning_and_nothing_of_the_node_is_lost() {
    for group in ["workers", "control-plane"] {
        let exhausted = |host: &SimHost| {
            let looks = ["look_unit", "list_mounts", "list_directory", "read_journal"];
            let fails = |operation: &str| ScriptedFault {
                operation: operation.to_owned(),
                calls: 1..=u64::MAX,
                condition: Condition::Exhausted,
                when: When::Before,
            };
            host.replace_script(Script::new(looks.map(fails).into()));
        };
        let (record, reported) = reported(group, &[&exhausted]).await;
        assert_eq!((record.is_ready(), reported), (true, Vec::new()), "{group}");
        let warned = record.warnings.iter().map(|fault| fault.code);
        let warned = warned.filter(|code| *code == Code::BootResourcesExhausted);
        assert_eq!(warned.count(), 1, "{group}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cni_configuration_that_is_gone_is_told_with_the_command_and_not_written_again() {
    let gone = |host: &SimHost| host.remove_file(CNI);
    let (record, lost) = reported("workers", &[&gone]).await;
    assert!(!record.is_ready());
    let [(step, Some(fault))] = lost.as_slice() else {
        panic!("once: {lost:?}");
    };
    assert_eq!(
        (step.as_str(), fault.code),
        ("ready:cni", Code::ReadyCniMissing)
    );
    assert!(
        fault
            .remedy_text()
            .starts_with("systemctl restart quake-agent"),
        "{fault:?}"
    );
    let back = |host: &SimHost| host.put_file(CNI, "{}");
    let (record, reported) = reported("workers", &[&gone, &back]).await;
    assert!(record.is_ready());
    assert_eq!((reported.len(), &reported[1].1), (2, &None), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_is_down_is_told_and_one_that_was_restarted_is_not() {
    let down = |host: &SimHost| {
        host.change(|region| {
            let unit = region.units.get_mut("kubelet.service").expect("it runs");
            unit.active = ActiveState::Failed;
            unit.result = "exit-code".to_owned();
        });
    };
    let (record, lost) = reported("workers", &[&down]).await;
    let [(step, Some(fault))] = lost.as_slice() else {
        panic!("once: {lost:?}");
    };
    assert_eq!(
        (step.as_str(), fault.code),
        ("services:kubelet.service", Code::ServicesUnitFailed)
    );
    assert!(fault.evidence_named("journal").is_some(), "{fault:?}");
    assert!(!record.is_ready());
    let restarts = |host: &SimHost| {
        host.change(|region| {
            let unit = region.units.get_mut("kubelet.service").expect("it runs");
            unit.active = ActiveState::Activating;
            unit.sub_state = "auto-restart".to_owned();
        });
    };
    let (record, reported) = reported("workers", &[&restarts]).await;
    assert_eq!((record.is_ready(), reported), (true, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_is_unmounted_is_told_and_so_is_what_covers_it() {
    let unmounted = |host: &SimHost| {
        host.change(|region| {
            region
                .mounts
                .retain(|mount| !mount.target.ends_with("vol-0aa"));
        });
    };
    let covered = |host: &SimHost| {
        host.change(|region| {
            let on = region
                .mounts
                .iter()
                .find(|mount| mount.target.ends_with("vol-0bb"));
            let mut over = on.expect("it is mounted").clone();
            over.source = "tmpfs".to_owned();
            over.number = "0:77".to_owned();
            region.mounts.push(over);
        });
    };
    let (_, lost) = reported("control-plane", &[&unmounted, &covered]).await;
    let seen: Vec<_> = lost
        .iter()
        .filter_map(|(step, fault)| Some((step.as_str(), fault.as_ref()?.summary.as_str())))
        .collect();
    assert_eq!(seen.len(), 2, "{lost:?}");
    let codes = lost.iter().filter_map(|(_, fault)| fault.as_ref());
    assert!(
        codes
            .clone()
            .all(|fault| fault.code == Code::StorageMountGone)
    );
    assert_eq!(seen[0].0, "storage:mount/main/a");
    assert!(
        seen[0].1.starts_with("vol-0aa is not mounted at "),
        "{seen:?}"
    );
    assert_eq!(seen[1].0, "storage:mount/events/a");
    assert!(
        seen[1].1.starts_with("tmpfs covers vol-0bb at "),
        "{seen:?}"
    );
}
