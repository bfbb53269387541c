//! What a node of kops (1.32 and newer) waits for once its units are up, and what is said of it while it does not come.

use crate::common::run;
use crate::kops::{conformance, node};
use crate::ready_node::reports_of;
use quake_engine::Request;
use quake_model::facts::{ActiveState, PodFound, PodSeen, PodsSeen};
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::Condition;
use quake_model::record::Record;
use quake_testkit::{Script, SimHost};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const GROUP: &str = "master-us-test-1a";

const NETWORKS: &str = "/etc/cni/net.d";

/// What the simulated machine has for kubenet, and no other network.
const TEMPLATE: &str = "/etc/cni/net.d/10-containerd-net.conflist";

/// A control plane whose pod network's directory holds these files.
fn with_files(root: &Path, case: &str, names: &[&str]) -> (Arc<SimHost>, Request) {
    let (host, request) = node(root, case, GROUP);
    host.remove_file(TEMPLATE);
    for name in names {
        host.put_file(&format!("{NETWORKS}/{name}"), r#"{"type":"bridge"}"#);
    }
    (host, request)
}

async fn failing_boot(host: &Arc<SimHost>, request: &Request) -> (Fault, Record) {
    let (verdict, record) = run(host, request).await;
    (verdict.fault.expect("it does not become ready"), record)
}

fn pod(name: &str, created: &[&str]) -> PodFound {
    PodFound {
        namespace: "kube-system".to_owned(),
        name: name.to_owned(),
        created: created.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn ended(pod: &str, container: &str) -> PodSeen {
    PodSeen {
        namespace: "kube-system".to_owned(),
        name: pod.to_owned(),
        container: container.to_owned(),
        state: "exited".to_owned(),
        exit_code: Some(1),
        restarts: 7,
        log: vec!["volume has not been attached".to_owned()],
        ..PodSeen::default()
    }
}

/// The step that failed, as `/readyz` and `status` name it.
fn unmet(record: &Record) -> Vec<String> {
    let ready = record.phases.get(&Phase::Ready).expect("it began");
    ready.unmet.keys().cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn the_pod_that_keeps_ending_is_the_cause_and_shows_its_last_lines() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", GROUP);
    let etcd = "etcd-manager-main";
    host.show_pods(
        etcd,
        PodsSeen {
            pods: vec![pod("etcd-manager-main-i-1", &["etcd-manager"])],
            containers: vec![ended("etcd-manager-main-i-1", "etcd-manager")],
        },
    );
    let (fault, record) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::ReadyPodFailing);
    assert!(
        fault
            .summary
            .contains("ended with 1, started again 7 times"),
        "{fault:?}"
    );
    assert_eq!(
        fault.evidence_named("log"),
        Some("volume has not been attached")
    );
    assert!(fault.evidence_named("waited").is_some(), "{fault:?}");
    assert_eq!(unmet(&record), ["ready:pod/etcd-manager-main"]);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_falls_silent_is_named_before_all_that_needs_it() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", "nodes");
    let strike = crate::common::strike("ask_runtime", 1..=9999, Condition::Unreachable);
    host.next_boot(Script::new(vec![strike]));
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::ReadyRuntimeSilent);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_the_cluster_does_not_know_says_why() {
    let Some(root) = conformance() else { return };
    for (condition, said) in [
        (Condition::Unreachable, "cannot be reached from here yet"),
        (Condition::Denied, "refuses kubelet's certificate"),
    ] {
        let (host, request) = node(&root, "minimal-1.35", "nodes");
        let strike = crate::common::strike("look_node", 1..=9999, condition);
        host.next_boot(Script::new(vec![strike]));
        let (fault, record) = failing_boot(&host, &request).await;
        assert_eq!(fault.code, Code::ReadyNodeUnregistered);
        assert!(
            fault.summary.contains("api.internal.") && fault.summary.contains(said),
            "{fault:?}"
        );
        assert_eq!(unmet(&record), ["ready:node"]);
    }
}

/// Ten pauses as for other hosts would be minutes.
#[tokio::test(start_paused = true)]
async fn a_control_planes_own_api_server_is_asked_for_the_node_five_times_a_second() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", GROUP);
    let whole = Instant::now();
    assert_eq!(run(&host, &request).await.0.fault, None);
    let whole = whole.elapsed();
    let (host, request) = node(&root, "minimal-1.35", GROUP);
    let away = crate::common::strike("look_node", 1..=10, Condition::Unreachable);
    host.next_boot(Script::new(vec![away]));
    let late = Instant::now();
    assert_eq!(run(&host, &request).await.0.fault, None);
    let more = late.elapsed().saturating_sub(whole);
    assert!(more <= Duration::from_millis(2_200), "{more:?}");
}

#[tokio::test(start_paused = true)]
async fn the_pod_of_the_network_that_is_late_is_named() {
    let Some(root) = conformance() else { return };
    let (host, request) = with_files(&root, "privatecalico", &[]);
    let late = PodsSeen {
        pods: vec![pod("calico-node-x5k2p", &[])],
        containers: Vec::new(),
    };
    host.show_pods("calico-node", late);
    let (fault, record) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::ReadyCniMissing);
    let reported = fault.evidence_named("pod").expect("the pod is told of");
    assert!(
        reported.contains("calico-node-x5k2p is here; its image is being pulled"),
        "{reported}"
    );
    assert_eq!(unmet(&record), ["ready:cni"]);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_in_the_way_is_named_and_left_where_it_is() {
    let Some(root) = conformance() else { return };
    let files = ["10-calico.conflist", "00-left.conflist"];
    let (host, request) = with_files(&root, "privatecalico", &files);
    let (fault, _) = failing_boot(&host, &request).await;
    assert_eq!(fault.code, Code::ReadyCniForeign);
    assert!(
        fault
            .remedy_text()
            .starts_with("rm /etc/cni/net.d/00-left.conflist"),
        "{fault:?}"
    );
    let tree = host.tree();
    assert!(
        files
            .iter()
            .all(|name| tree.contains_key(&format!("{NETWORKS}/{name}")))
    );
}

#[tokio::test(start_paused = true)]
async fn the_configuration_of_a_daemon_set_is_never_written() {
    let Some(root) = conformance() else { return };
    for (case, own) in [
        ("privatecalico", "10-calico.conflist"),
        ("privatecilium", "05-cilium.conflist"),
        ("privateflannel", "10-flannel.conflist"),
        ("privatekopeio", "10-containerd-net.conflist"),
    ] {
        let (host, request) = with_files(&root, case, &[own, "99-after.conflist"]);
        let (verdict, _) = run(&host, &request).await;
        assert_eq!(verdict.fault, None, "{case}");
        let tree = host.tree();
        let inside = tree
            .keys()
            .filter(|path| path.starts_with("/etc/cni/net.d/"));
        assert_eq!(inside.count(), 2, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_goes_later_is_lost_and_one_that_is_written_anew_is_not() {
    let Some(root) = conformance() else { return };
    let own = "/etc/cni/net.d/05-cilium.conflist";
    let gone = |host: &SimHost| host.remove_file(own);
    let back = |host: &SimHost| host.put_file(own, "{}");
    let (host, request) = with_files(&root, "privatecilium", &["05-cilium.conflist"]);
    let (record, reported) = reports_of(&host, &request, &[&gone, &back]).await;
    assert!(record.is_ready(), "{reported:?}");
    let [(step, Some(fault)), (_, None)] = reported.as_slice() else {
        panic!("lost and regained: {reported:?}");
    };
    assert_eq!(
        (step.as_str(), fault.code),
        ("ready:cni", Code::ReadyCniMissing)
    );
    assert!(
        !fault.remedy_text().contains("restart quake-agent"),
        "{fault:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_foreign_file_that_comes_later_is_told() {
    let Some(root) = conformance() else { return };
    let foreign = |host: &SimHost| host.put_file("/etc/cni/net.d/00-x.conf", "{}");
    let (host, request) = with_files(&root, "privatecilium", &["05-cilium.conflist"]);
    let (record, reported) = reports_of(&host, &request, &[&foreign]).await;
    let [(step, Some(fault))] = reported.as_slice() else {
        panic!("once: {reported:?}");
    };
    assert_eq!(
        (step.as_str(), fault.code),
        ("ready:cni", Code::ReadyCniForeign)
    );
    assert!(!record.is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_kubelet_that_is_down_has_no_pods() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", "nodes");
    let down = |host: &SimHost| {
        host.change(|region| {
            let unit = region.units.get_mut("kubelet.service").expect("it runs");
            unit.active = ActiveState::Failed;
        });
    };
    let (record, reported) = reports_of(&host, &request, &[&down]).await;
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(!record.is_ready());
}
