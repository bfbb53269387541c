//! etcd's volumes on a control plane of kops 1.32 and newer: chosen by the agent, found mounted by etcd-manager, and held
//! back from it while they may not be used.

use crate::common::{events_of, failing_boot, run, run_with, strike};
use crate::kops::{EPOCH_OF_THE_DATA, conformance, node};
use quake_engine::{Request, stop_signal};
use quake_model::event::Event;
use quake_model::facts::{
    ActiveState, Attachment, AttachmentState, DeviceContents, InstanceState, InstanceView,
    VolumeState,
};
use quake_model::fault::Code;
use quake_model::ports::Condition;
use quake_model::record::Record;
use quake_model::time::Timestamp;
use quake_testkit::mounter::{arrange, orders};
use quake_testkit::region::{EtcdSlot, Region};
use quake_testkit::{Script, SimHost};
use quake_volumes::IGNORE;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const CLUSTER: &str = "minimal.example.com";
pub(crate) const GROUP: &str = "master-us-test-1a";
const PEER: &str = "i-0fedcba9876543210";
const OTHER: &str = "vol-other-main";

/// A control plane that ends with its boot.
pub(crate) fn control_plane(root: &Path) -> (Arc<SimHost>, Request) {
    let (host, request) = node(root, "minimal-1.35", GROUP);
    let request = Request {
        exit_when_ready: true,
        ..request
    };
    (host, request)
}

pub(crate) fn add_volume(region: &mut Region, volume_id: &str, etcd: &str, member: &str) {
    let slot = EtcdSlot {
        volume_id,
        etcd,
        member,
        members: &["a", "b", "c"],
        created: EPOCH_OF_THE_DATA,
        encrypted: true,
    };
    region.add_etcd_volume(CLUSTER, &slot);
}

/// The manifests of etcd-manager that kubelet would find.
pub(crate) fn manifests(host: &SimHost) -> Vec<String> {
    let tree = host.tree();
    let names = tree.keys().filter_map(|path| {
        path.strip_prefix("/etc/kubernetes/manifests/")
            .filter(|name| name.starts_with("etcd-"))
    });
    names.map(str::to_owned).collect()
}

pub(crate) fn both() -> Vec<String> {
    ["events", "main"]
        .map(|etcd| format!("etcd-{etcd}-{GROUP}.manifest"))
        .to_vec()
}

pub(crate) fn mounts(host: &SimHost) -> BTreeSet<String> {
    let region = host.region();
    region.mounts.iter().map(|it| it.target.clone()).collect()
}

fn kubelet_runs(host: &SimHost) -> bool {
    let region = host.region();
    let kubelet = region.units.get("kubelet.service");
    kubelet.is_some_and(|unit| unit.active == ActiveState::Active)
}

/// The machine is started again: nothing is mounted and nothing runs, and what is on the disk stays.
fn reboot(host: &SimHost) {
    host.next_boot(Script::default());
    host.change(|region| {
        region.mounts.clear();
        for unit in region.units.values_mut() {
            unit.active = ActiveState::Inactive;
        }
    });
}

/// Changes the region once the boot has waited for so long.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock is paused: nothing waits"
)]
fn later(host: &Arc<SimHost>, after: Duration, change: impl FnOnce(&mut Region) + Send + 'static) {
    let host = Arc::clone(host);
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        host.change(change);
    });
}

/// Asserts that a refusal for two volumes of one member stands where an operator looks, and that etcd cannot start.
fn is_held_back(host: &SimHost, record: &Record) {
    let text = serde_json::to_string(record).expect("a record is JSON");
    for id in ["vol-main-a", OTHER] {
        assert!(text.contains(id), "{id} is not named");
    }
    assert_eq!(manifests(host), [""; 0]);
    assert!(kubelet_runs(host), "the rest of the node goes on");
    let volumes = host.region().volumes;
    assert!(volumes.iter().all(|volume| volume.attachments.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn duplicates_are_refused_in_every_order_and_etcd_cannot_start() {
    let Some(root) = conformance() else { return };
    let all = ["vol-events-a", "vol-main-a", OTHER];
    for order in orders(3) {
        let (host, request) = control_plane(&root);
        host.change(|region| {
            add_volume(region, OTHER, "main", "a");
            arrange(&mut region.volumes, &all, &order);
        });
        let (fault, record) = failing_boot(&host, &request).await;
        let found = (fault.code, record.exit_status());
        assert_eq!(found, (Code::StorageVolumeConflict, 80), "{order:?}");
        is_held_back(&host, &record);
    }
}

#[tokio::test(start_paused = true)]
async fn the_boot_completes_by_itself_once_one_of_two_volumes_is_ignored() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    let request = Request {
        exit_when_ready: false,
        ..request
    };
    host.change(|region| add_volume(region, OTHER, "main", "a"));
    let hours = Duration::from_secs(5 * 60 * 60);
    later(&host, hours, |region| {
        let mut volumes = region.volumes.iter_mut();
        let other = volumes.find(|volume| volume.volume_id == OTHER);
        let tags = &mut other.expect("it is there").tags;
        tags.insert(IGNORE.to_owned(), "a copy".to_owned());
    });
    let (_handle, stop) = stop_signal();
    let (verdict, record) = run_with(&host, &request, stop).await;
    assert_eq!(verdict.fault, None);
    assert!(record.is_ready());
    assert_eq!(manifests(&host), both());
    // An hour of a conflict costs some hundred and fifty calls; nothing else is asked.
    let calls = host.port_calls_of("describe_volumes") + host.port_calls_of("describe_instances");
    assert!(calls < 1_200, "{calls} calls in five hours");
}

#[tokio::test(start_paused = true)]
async fn while_etcd_is_held_back_the_phase_says_why() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    let request = Request {
        exit_when_ready: false,
        ..request
    };
    host.change(|region| add_volume(region, OTHER, "main", "a"));
    let (handle, stop) = stop_signal();
    let seen = {
        let host = Arc::clone(&host);
        move || is_waiting(&host)
    };
    let stopping = async {
        hour().await;
        assert!(seen(), "kubelet runs and etcd does not");
        handle.stop("the test is over");
    };
    let ((verdict, record), ()) = tokio::join!(run_with(&host, &request, stop), stopping);
    assert_eq!(
        verdict.fault.map(|fault| fault.code),
        Some(Code::BootInterrupted)
    );
    is_held_back(&host, &record);
}

fn is_waiting(host: &SimHost) -> bool {
    kubelet_runs(host) && manifests(host).is_empty()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the clock is paused: nothing waits"
)]
async fn hour() {
    tokio::time::sleep(Duration::from_secs(60 * 60)).await;
}

#[tokio::test(start_paused = true)]
async fn after_a_reboot_the_manifests_appear_last() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    assert_eq!(run(&host, &request).await.0.fault, None);
    reboot(&host);
    let (verdict, events) = events_of(&host, &request).await;
    assert_eq!(verdict.fault, None);
    let at = |what: &str| {
        let found = events
            .iter()
            .position(|event| matches!(event, Event::StepDone { step, .. } if step.contains(what)));
        found.unwrap_or_else(|| panic!("no step {what}"))
    };
    let withheld = at("config:withheld//etc/kubernetes/manifests/etcd-main");
    let mounted = at("storage:mount");
    let written = at("storage:/etc/kubernetes/manifests/etcd-main");
    let kubelet = at("services:kubelet.service");
    assert!(withheld < mounted && mounted < written && withheld < kubelet);
    assert_eq!(manifests(&host), both());
    assert_eq!(host.port_calls_of("attach_volume"), 0, "they are attached");
    assert_eq!(host.port_calls_of("make_filesystem"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_reboot_without_ec2_starts_kubelet_and_no_etcd() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    assert_eq!(run(&host, &request).await.0.fault, None);
    reboot(&host);
    let denied = strike("describe_volumes", 1..=9_999, Condition::Denied);
    host.next_boot(Script::new(vec![denied]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.class().exit_status(), 77, "{fault}");
    assert!(is_waiting(&host));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_restarted_leaves_a_running_etcd_alone() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    assert_eq!(run(&host, &request).await.0.fault, None);
    let denied = strike("describe_volumes", 1..=9_999, Condition::Denied);
    host.next_boot(Script::new(vec![denied]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.class().exit_status(), 77, "{fault}");
    assert_eq!(manifests(&host), both());
}

#[tokio::test(start_paused = true)]
async fn cut_off_before_any_act_on_a_volume_the_next_boot_converges() {
    let Some(root) = conformance() else { return };
    for operation in [
        "attach_volume",
        "make_filesystem",
        "mount_device",
        "write_marker",
    ] {
        for call in [1, 2] {
            let (host, request) = control_plane(&root);
            let cut = strike(operation, call..=9_999, Condition::Denied);
            host.next_boot(Script::new(vec![cut]));
            let (verdict, _) = run(&host, &request).await;
            assert!(verdict.fault.is_some(), "{operation} {call}");
            assert_eq!(manifests(&host), [""; 0], "{operation} {call}");
            reboot(&host);
            let (verdict, _) = run(&host, &request).await;
            assert_eq!(verdict.fault, None, "{operation} {call}");
            assert_eq!(manifests(&host), both(), "{operation} {call}");
        }
    }
}

/// Gives a volume to another instance of the group.
fn hold(region: &mut Region, state: InstanceState) {
    for volume in &mut region.volumes {
        volume.state = VolumeState::InUse;
        volume.attachments = vec![Attachment {
            instance_id: PEER.to_owned(),
            device_name: "/dev/xvdu".to_owned(),
            state: AttachmentState::Attached,
            since: Some(EPOCH_OF_THE_DATA),
            delete_on_termination: false,
        }];
    }
    let group = ("kops.k8s.io/instancegroup".to_owned(), GROUP.to_owned());
    region.instances.retain(|view| view.instance_id != PEER);
    region.instances.push(InstanceView {
        private_ip: String::new(),
        instance_id: PEER.to_owned(),
        state,
        launched: Timestamp(0),
        zone: region.instance.zone.clone(),
        tags: BTreeMap::from([group]),
        device_names: Vec::new(),
    });
}

#[tokio::test(start_paused = true)]
async fn the_volumes_of_a_terminated_instance_are_taken_once_they_are_free() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    host.change(|region| hold(region, InstanceState::ShuttingDown));
    later(&host, Duration::from_secs(10 * 60), |region| {
        for volume in &mut region.volumes {
            volume.attachments.clear();
            volume.state = VolumeState::Available;
        }
    });
    assert_eq!(run(&host, &request).await.0.fault, None);
    assert_eq!(manifests(&host), both());
}

#[tokio::test(start_paused = true)]
async fn an_instance_of_a_warm_pool_touches_no_volume() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    host.change(|region| {
        let state = ("autoscaling/target-lifecycle-state", "Warmed:Stopped");
        region
            .metadata
            .insert(state.0.to_owned(), state.1.to_owned());
    });
    let _ = run(&host, &request).await;
    for operation in [
        "describe_volumes",
        "attach_volume",
        "probe_device",
        "mount_device",
    ] {
        assert_eq!(host.port_calls_of(operation), 0, "{operation}");
    }
    assert_eq!(manifests(&host), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn blank_volumes_beside_backups_are_refused_with_the_way_to_restore() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    let store = format!("s3://tests/{CLUSTER}/backups/etcd/main");
    let backup = format!("{store}/2026-05-06T07:08:09Z-000001");
    host.put_object(&format!("{backup}/_etcd_backup.meta"), "{}");
    let (fault, record) = failing_boot(&host, &request).await;
    assert_eq!(record.exit_status(), 80, "{fault}");
    let shown = serde_json::to_string(&fault).expect("a fault is JSON");
    let steps = "etcd-manager-ctl --backup-store=s3://tests/minimal.example.com/backups/etcd/main restore-backup 2026-05-06T07:08:09Z-000001";
    assert!(shown.contains(steps), "{shown}");
    assert_eq!(manifests(&host), [""; 0]);
    let contents = host.region().contents;
    assert_eq!(
        contents["vol-main-a"],
        DeviceContents::Blank,
        "it is as it was"
    );
}
