//! Nodes that stay unhealthy: replaced where the fault is their own, and left alone where it is shared.

use crate::common::{request, strike};
use crate::kops_example::node_of;
use crate::repair_agents::{Agent, MINUTE, NOTES, agents, grouped, id, live, started};
use quake_engine::Request;
use quake_model::facts::{
    ActiveState, ClockFacts, FilesystemHealth, HostHealth, InstanceFacts, SpaceFacts,
};
use quake_model::fault::Code;
use quake_model::ports::{Condition, Meter};
use quake_model::repair::{RepairConfig, RepairDecision, SharedCause, SkipReason, Symptom};
use quake_testkit::example::kops::INSTANCE_GROUPS;
use quake_testkit::region::example_instance;
use quake_testkit::{Script, SimHost};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const KUBELET: &str = "http://127.0.0.1:10248/healthz";

fn allowed(instance_group: &str) -> Request {
    Request {
        repair: Some(RepairConfig::default()),
        ..request(instance_group)
    }
}

fn stop_runtime(host: &SimHost) {
    host.change(|region| {
        for name in ["docker.service", "containerd.service"] {
            if let Some(unit) = region.units.get_mut(name) {
                unit.active = ActiveState::Failed;
                unit.result = "exit-code".to_owned();
            }
        }
    });
}

fn health(read_only: bool, bytes_free: u64, errors: u64, offset_us: i64) -> HostHealth {
    HostHealth {
        filesystems: vec![FilesystemHealth {
            space: SpaceFacts {
                path: "/".to_owned(),
                bytes: 1000,
                bytes_free,
                inodes: 0,
                inodes_free: 0,
                read_only,
            },
            errors: Some(errors),
        }],
        clock: Some(ClockFacts {
            synchronized: true,
            offset_us: Some(offset_us),
            max_error_us: None,
            ahead_of_server_ms: None,
        }),
    }
}

fn total_requests(agents: &[Agent]) -> usize {
    agents.iter().map(Agent::requests).sum()
}

type Break = fn(&SimHost);

type Outage = Box<dyn Fn(&SimHost)>;

#[tokio::test(start_paused = true)]
async fn a_single_bad_node_is_replaced_once_whatever_its_symptom() {
    let table: [(Symptom, Break); 7] = [
        (Symptom::Runtime, stop_runtime),
        (Symptom::Kubelet, |host| host.silence(KUBELET)),
        (Symptom::PodNetwork, |host| {
            host.remove_file("/etc/cni/net.d/10-quake-agent.conflist");
        }),
        (Symptom::DiskReadOnly, |host| {
            host.set_health(health(true, 500, 0, 0));
        }),
        (Symptom::DiskFull, |host| {
            host.set_health(health(false, 5, 0, 0));
        }),
        (Symptom::DiskErrors, |host| {
            host.set_health(health(false, 500, 3, 0));
        }),
        (Symptom::Clock, |host| {
            host.set_health(health(false, 500, 0, 90_000_000));
        }),
    ];
    for (symptom, breaks) in table {
        let agents = agents("workers", 4);
        let broken = |index: usize, host: &SimHost| {
            if index == 2 {
                breaks(host);
            }
        };
        live(&agents, &[allowed("workers")], broken, 60 * MINUTE).await;
        let requests: Vec<usize> = agents.iter().map(Agent::requests).collect();
        assert_eq!(requests, [0, 0, 1, 0], "{symptom}");
        let decisions = agents[2].decisions();
        let wanted = [
            RepairDecision::skip(SkipReason::NotLasting),
            RepairDecision::skip(SkipReason::Announcing),
            RepairDecision::Replace,
            RepairDecision::skip(SkipReason::AlreadyRequested),
        ];
        assert_eq!(decisions, wanted, "{symptom}: each change is one event");
        let record = agents[2].record().repair.expect("it was decided");
        assert_eq!(record.symptoms, BTreeSet::from([symptom]));
        assert_eq!(
            agents[0].record().repair,
            None,
            "{symptom}: nothing was ever wrong"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_replaced_unless_an_operator_allows_it() {
    let agents = agents("workers", 3);
    let broken = |index: usize, host: &SimHost| {
        if index == 0 {
            stop_runtime(host);
        }
    };
    live(&agents, &[request("workers")], broken, 60 * MINUTE).await;
    assert_eq!(total_requests(&agents), 0);
    assert_eq!(agents[0].decisions(), []);
    assert_eq!(agents[0].host.port_calls_of("look_host"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_healthy_node_asks_no_cloud_service_and_writes_no_note() {
    let agents = agents("workers", 1);
    let before = agents[0].host.calls();
    live(&agents, &[allowed("workers")], |_, _| {}, 60 * MINUTE).await;
    let after = agents[0].host.calls();
    let made = |service: &str| {
        after
            .keys()
            .filter(|call| call.starts_with(service))
            .count()
    };
    assert_eq!((made("autoscaling:"), before.len()), (0, 0), "{after:?}");
    assert_eq!(agents[0].host.objects_below(NOTES), BTreeMap::new());
}

#[tokio::test(start_paused = true)]
async fn in_a_shared_outage_none_is_replaced_and_the_cause_is_named() {
    let denied = |operation: &str, condition| {
        let fault = strike(operation, 1..=u64::MAX, condition);
        move |host: &SimHost| host.replace_script(Script::new(vec![fault.clone()]))
    };
    let table: [(SharedCause, Outage); 7] = [
        (
            SharedCause::ApiServer,
            Box::new(denied("look_node", Condition::Unreachable)),
        ),
        (
            SharedCause::StateStore,
            Box::new(denied("list_objects", Condition::Unreachable)),
        ),
        (
            SharedCause::StateStore,
            Box::new(denied("write_object", Condition::Denied)),
        ),
        (
            SharedCause::Throttled,
            Box::new(denied("describe_groups", Condition::Throttled)),
        ),
        (
            SharedCause::Denied,
            Box::new(denied("describe_groups", Condition::Denied)),
        ),
        (
            SharedCause::Cloud,
            Box::new(denied("describe_instances", Condition::Unreachable)),
        ),
        (
            SharedCause::Denied,
            Box::new(denied("set_unhealthy", Condition::Denied)),
        ),
    ];
    for (row, (cause, breaks)) in table.into_iter().enumerate() {
        let agents = agents("workers", 5);
        let broken = |index: usize, host: &SimHost| {
            breaks(host);
            if index == 1 {
                stop_runtime(host);
            }
        };
        live(&agents, &[allowed("workers")], broken, 90 * MINUTE).await;
        let unhealthy = agents[0]
            .host
            .region()
            .groups
            .pop()
            .expect("there is one")
            .unhealthy;
        assert_eq!(
            (total_requests(&agents), unhealthy),
            (0, BTreeSet::new()),
            "row {row}"
        );
        let decisions = agents[1].decisions();
        let last = decisions.last();
        assert_eq!(last, Some(&RepairDecision::shared(cause)), "row {row}");
        assert!(decisions.len() <= 5, "row {row}: {decisions:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn twenty_agents_that_fail_at_once_with_one_symptom_replace_none() {
    let agents = agents("workers", 20);
    live(
        &agents,
        &[allowed("workers")],
        |_, host| stop_runtime(host),
        90 * MINUTE,
    )
    .await;
    assert_eq!(total_requests(&agents), 0);
    for agent in &agents {
        let last = agent.decisions().last().cloned();
        assert_eq!(last, Some(RepairDecision::skip(SkipReason::SharedSymptom)));
    }
    // The group is looked at more and more seldom.
    let looks = agents
        .iter()
        .map(|agent| agent.host.port_calls_of("describe_groups"));
    assert!(
        looks.clone().all(|looks| (3..=16).contains(&looks)),
        "{:?}",
        looks.collect::<Vec<_>>()
    );
}

#[tokio::test(start_paused = true)]
async fn twenty_agents_of_which_four_fail_at_once_keep_the_share() {
    let agents = agents("workers", 20);
    let broken = |index: usize, host: &SimHost| {
        if index.is_multiple_of(5) {
            host.silence(KUBELET);
        }
    };
    live(&agents, &[allowed("workers")], broken, 120 * MINUTE).await;
    // Nobody replaces them here, so the two that asked stay away.
    assert_eq!(total_requests(&agents), 2);
    let waiting = agents.iter().filter(|agent| {
        agent.decisions().last() == Some(&RepairDecision::skip(SkipReason::ShareUsed))
    });
    assert_eq!(waiting.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_starts_again_remembers_that_it_asked() {
    let agents = agents("workers", 4);
    let broken = |index: usize, host: &SimHost| {
        if index == 0 {
            host.silence(KUBELET);
        }
    };
    live(&agents, &[allowed("workers")], broken, 40 * MINUTE).await;
    assert_eq!(agents[0].requests(), 1);
    let names: Vec<String> = agents[0].host.objects_below(NOTES).into_keys().collect();
    let is_request = |name: &&String| name.contains("/workers.repair/requested_");
    assert_eq!(names.iter().filter(is_request).count(), 1, "{names:?}");
    // An operator takes the mark away, as to look at the instance.
    for agent in &agents {
        agent.host.next_boot(Script::default());
        agent.host.answer_again(KUBELET);
        agent.host.change(|region| {
            region.groups[0].unhealthy.clear();
        });
    }
    let again: Vec<Agent> = agents
        .iter()
        .map(|agent| started(Arc::clone(&agent.host)))
        .collect();
    live(&again, &[allowed("workers")], broken, 40 * MINUTE).await;
    assert_eq!(again[0].requests(), 0);
    let last = again[0].decisions().last().cloned();
    assert_eq!(
        last,
        Some(RepairDecision::skip(SkipReason::AlreadyRequested))
    );
}

#[tokio::test(start_paused = true)]
async fn the_only_member_of_etcd_is_never_replaced_and_a_fault_of_its_volumes_is_shared() {
    for (breaks, last) in [
        (
            stop_runtime as Break,
            RepairDecision::skip(SkipReason::Quorum),
        ),
        (
            |host: &SimHost| {
                stop_runtime(host);
                host.change(|region| region.mounts.clear());
            },
            RepairDecision::shared(SharedCause::Volume),
        ),
    ] {
        let agents = agents("control-plane", 1);
        live(
            &agents,
            &[allowed("control-plane")],
            |_, host| breaks(host),
            60 * MINUTE,
        )
        .await;
        assert_eq!(total_requests(&agents), 0);
        assert_eq!(agents[0].decisions().last(), Some(&last));
        let warned = agents[0].record().warnings;
        assert!(
            warned
                .iter()
                .all(|fault| fault.code != Code::BootSignalDenied)
        );
    }
}

/// Workers of kops (1.32 and newer), each with its request.
fn kops_nodes(size: usize) -> Vec<(Arc<SimHost>, Request)> {
    let mut groups = INSTANCE_GROUPS.iter();
    let group = groups
        .find(|group| **group != "control-plane")
        .expect("it has workers");
    let instance = |index| InstanceFacts {
        instance_id: id(index),
        ..example_instance("us-test-1a")
    };
    (0..size)
        .map(|index| node_of(group, &instance(index)))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_expired_ca_of_the_cluster_is_a_shared_cause() {
    let nodes = kops_nodes(1);
    let request = Request {
        repair: allowed("workers").repair,
        ..nodes[0].1.clone()
    };
    let agents = grouped(vec![Arc::clone(&nodes[0].0)]);
    let century = 3600 * 24 * 365 * 100;
    let broken = |_, host: &SimHost| host.pass(std::time::Duration::from_secs(century));
    live(&agents, &[request], broken, 60 * MINUTE).await;
    let last = agents[0].decisions().last().cloned();
    assert_eq!(last, Some(RepairDecision::shared(SharedCause::ClusterCa)));
}

#[tokio::test(start_paused = true)]
async fn a_worker_of_kops_current_is_replaced_where_its_peers_notes_have_a_place_and_else_not() {
    for (store, wanted) in [
        (None, RepairDecision::skip(SkipReason::PeersUnseen)),
        (
            Some("s3://quake-example-state/demo.quake.example"),
            RepairDecision::skip(SkipReason::AlreadyRequested),
        ),
    ] {
        let nodes = kops_nodes(4);
        let repair = RepairConfig {
            store: store.map(|place| place.parse().expect("a literal")),
            ..RepairConfig::default()
        };
        let request = |(_, request): &(Arc<SimHost>, Request)| Request {
            repair: Some(repair.clone()),
            ..request.clone()
        };
        let requests: Vec<Request> = nodes.iter().map(request).collect();
        let agents = grouped(nodes.into_iter().map(|(host, _)| host).collect());
        let broken = |index: usize, host: &SimHost| {
            if index == 3 {
                stop_runtime(host);
            }
        };
        live(&agents, &requests, broken, 40 * MINUTE).await;
        let requests: Vec<usize> = agents.iter().map(Agent::requests).collect();
        assert_eq!(requests, [0, 0, 0, usize::from(store.is_some())]);
        assert_eq!(agents[3].decisions().last(), Some(&wanted));
    }
}
