//! The bundled example of today's kops on the simulated machine: it needs nothing that is not in this repository.

use crate::common::{EPOCH, request, run};
use crate::kops::{WRITES, warnings};
use quake_engine::{Configuration, Mode, Request};
use quake_model::facts::InstanceFacts;
use quake_node::config::legacy::Document;
use quake_testkit::example::CaBundle;
use quake_testkit::example::kops::{CLUSTER, Cluster, INSTANCE_GROUPS, mirrors};
use quake_testkit::region::{EtcdSlot, Region, example_instance};
use quake_testkit::{Script, SimHost, Timing};
use std::sync::Arc;

/// A node of a group of the example, before its first boot.
fn node(group: &str) -> (Arc<SimHost>, Request) {
    node_of(group, &example_instance("us-test-1a"))
}

/// The same on this instance.
pub(crate) fn node_of(group: &str, instance: &InstanceFacts) -> (Arc<SimHost>, Request) {
    let cluster = Cluster::new(CaBundle::make(EPOCH).expect("keys can be made"));
    let mut region = Region::with_instance(instance.clone(), CLUSTER);
    if group == "control-plane" {
        for (etcd, volume_id) in [("main", "vol-0aa"), ("events", "vol-0bb")] {
            let slot = EtcdSlot {
                volume_id,
                etcd,
                member: "a",
                members: &["a"],
                created: EPOCH,
                encrypted: true,
            };
            region.add_etcd_volume(CLUSTER, &slot);
        }
    }
    let host = SimHost::new(region, Timing::default(), EPOCH);
    for (location, text) in cluster.objects() {
        host.put_object(&location, text);
    }
    for (url, bytes) in mirrors() {
        host.serve(&url, bytes);
    }
    host.answer_bootstrap(cluster.controller(instance).expect("it reads"));
    // What the runtime makes of its template once kubelet told it of its range.
    host.put_file("/etc/cni/net.d/10-containerd-net.conflist", "{}");
    let kube_env = Some(Document {
        source: "kube_env.yaml".to_owned(),
        text: cluster.kube_env(group).expect("the example has this group"),
    });
    let request = Request {
        configuration: Configuration {
            kube_env,
            ..Configuration::default()
        },
        ..request("workers")
    };
    (Arc::new(host), request)
}

#[tokio::test(start_paused = true)]
async fn the_example_of_todays_kops_becomes_ready_and_a_second_boot_writes_nothing() {
    for group in INSTANCE_GROUPS {
        let (host, request) = node(group);
        let (verdict, record) = run(&host, &request).await;
        assert_eq!(verdict.fault, None, "{group}");
        assert_eq!(warnings(&record), Vec::<String>::new(), "{group}");
        let (tree, region) = (host.tree(), host.region());
        host.next_boot(Script::default());
        let (verdict, _) = run(&host, &request).await;
        assert_eq!(verdict.fault, None, "{group} again");
        let made = WRITES.iter().map(|call| (*call, host.port_calls_of(call)));
        let made: Vec<(&str, u64)> = made.filter(|(_, count)| *count > 0).collect();
        assert_eq!(made, [], "{group}: a converged node is left as it is");
        assert!(host.tree() == tree && host.region() == region, "{group}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_examples_control_plane_mounts_both_volumes_where_etcd_manager_looks() {
    let (host, request) = node("control-plane");
    let (verdict, _) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    let region = host.region();
    let mounts: Vec<&str> = region
        .mounts
        .iter()
        .map(|mount| mount.target.as_str())
        .collect();
    for volume_id in ["vol-0aa", "vol-0bb"] {
        let wanted = format!("/mnt/master-{volume_id}");
        assert!(mounts.contains(&wanted.as_str()), "{wanted}: {mounts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_examples_worker_has_all_it_needs_from_kops_controller() {
    let (host, request) = node("workers");
    let (verdict, _) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(host.port_calls_of("ask_bootstrap"), 1);
    assert_eq!(host.port_calls_of("read_object"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_plan_of_the_example_before_its_first_boot_says_what_would_change_and_changes_nothing() {
    for group in INSTANCE_GROUPS {
        let (host, request) = node(group);
        let tree = host.tree();
        let request = Request {
            acting: Mode::DryRun,
            ..request
        };
        let (verdict, record) = run(&host, &request).await;
        assert_eq!(verdict.fault, None, "{group}");
        assert_eq!(record.writes(), 0, "{group}");
        assert!(host.tree() == tree, "{group}");
    }
}
