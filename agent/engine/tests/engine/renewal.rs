//! Certificates that come of age while the node is ready.

use crate::common::live;
use crate::kops::{conformance, node};
use quake_engine::Request;
use quake_model::event::{Event, Scope};
use quake_model::fault::Code;
use quake_model::ports::Clock;
use quake_model::record::Record;
use quake_model::time::Timestamp;
use quake_testkit::{Script, SimHost};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Boots the node and keeps looking while days pass; what was told, and what there is of files before and after.
async fn lived(
    host: &Arc<SimHost>,
    request: &Request,
    spans: &[u32],
) -> (Record, Vec<Event>, [Tree; 2]) {
    let before = Mutex::new(Tree::new());
    let look: &(dyn Fn(&SimHost) + Sync) =
        &|host| *before.lock().expect("no other holder panics") = host.tree();
    let passing: Vec<_> = spans
        .iter()
        .map(|days| move |host: &SimHost| host.pass(DAY * *days))
        .collect();
    let passing = passing
        .iter()
        .map(|pass| pass as &(dyn Fn(&SimHost) + Sync));
    let changes: Vec<_> = std::iter::once(look).chain(passing).collect();
    let (record, events) = live(host, request, &changes).await;
    let reported = events
        .into_iter()
        .filter(|event| event.kind().scope == Scope::Node);
    // What is held is in the record, and has its own test.
    let reported = reported.filter(|event| !matches!(event, Event::CertificatesHeld { .. }));
    let before = before.into_inner().expect("no other holder panics");
    (record, reported.collect(), [before, host.tree()])
}

type Tree = BTreeMap<String, Vec<u8>>;

/// Paths whose contents are others than before.
fn changed(trees: &[Tree; 2]) -> Vec<&str> {
    let [before, after] = trees;
    let changed = after
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(bytes));
    changed.map(|(path, _)| path.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_the_node_signs_itself_is_renewed_in_time_and_put_to_use() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", "master-us-test-1a");
    let (record, reported, trees) = lived(&host, &request, &[290, 20, 1]).await;
    let [Event::CertificatesRenewed { names, until }] = &reported[..] else {
        panic!("once, and nothing drifted: {reported:?}");
    };
    assert_eq!(names.len(), 15, "{names:?}");
    assert!(
        until.0 > host.now().0 + 400 * 24 * 60 * 60 * 1000,
        "{until}"
    );
    assert!(record.is_ready() && record.warnings.is_empty());
    let paths = changed(&trees);
    for path in [
        "/srv/kubernetes/kube-apiserver/server.crt",
        "/srv/kubernetes/kube-apiserver/server.key",
        "/var/lib/kubelet/kubeconfig",
        "/var/lib/kube-scheduler/kubeconfig",
        "/var/lib/quake-agent/certificates/master.pem",
    ] {
        assert!(paths.contains(&path), "{path} is as it was: {paths:?}");
    }
    let others: Vec<&&str> = paths
        .iter()
        .filter(|path| !path.ends_with("owned.json"))
        .filter(|path| !String::from_utf8_lossy(&trees[1][**path]).contains("BEGIN"))
        .filter(|path| !path.ends_with("kubeconfig") && !path.ends_with("/config"))
        .collect();
    assert_eq!(others, Vec::<&&str>::new(), "nothing else is written");
    assert_eq!(host.port_calls_of("restart_unit"), 1, "kubelet's");
    let ended: Vec<String> = host
        .commands()
        .iter()
        .filter_map(|words| words.last().cloned())
        .collect();
    for container in [
        "kube-controller-manager",
        "kube-scheduler",
        "kops-controller",
    ] {
        assert!(
            ended.iter().any(|words| words.ends_with(container)),
            "{container}: {ended:?}"
        );
    }
    assert!(
        !ended.iter().any(|words| words.ends_with("kube-apiserver")),
        "{ended:?}"
    );
    // The next boot finds all as it wants it.
    host.next_boot(Script::default());
    let (verdict, _) = crate::common::run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(host.tree(), trees[1]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_each_certificate_is_known_and_moves_when_it_is_renewed() {
    let Some(root) = conformance() else { return };
    let days = |from: Timestamp, to: Timestamp| to.millis_since(from) / 86_400_000;
    let (host, request) = node(&root, "minimal-1.35", "master-us-test-1a");
    let begun = host.now();
    let (record, events) = live(&host, &request, &[]).await;
    let held = |event: &&Event| matches!(event, Event::CertificatesHeld { .. });
    assert_eq!(events.iter().filter(held).count(), 1, "said once");
    assert_eq!(record.certificates.len(), 15);
    for one in &record.certificates {
        let renewed = one.renewed_from.expect("the node signs it itself");
        assert!((400..500).contains(&days(begun, one.ends)), "{one:?}");
        assert!(
            days(begun, renewed) * 3 / 2 >= days(begun, one.ends) - 3,
            "{one:?}"
        );
    }
    let before = record.certificates;
    host.next_boot(Script::default());
    let (record, _, _) = lived(&host, &request, &[310, 1]).await;
    for (one, before) in record.certificates.iter().zip(&before) {
        assert!(days(before.ends, one.ends) > 250, "{before:?} {one:?}");
    }
    let (host, request) = node(&root, "minimal-1.35", "nodes");
    let (record, _) = live(&host, &request, &[]).await;
    let dates = record.certificates.iter();
    let renewed: Vec<_> = dates
        .map(|one| (one.name.as_str(), one.renewed_from))
        .collect();
    let theirs = ["kube-proxy", "kubelet", "kubelet-server"];
    assert_eq!(renewed, theirs.map(|name| (name, None)));
}

#[tokio::test(start_paused = true)]
async fn what_kops_controller_signed_is_told_of_and_left() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", "nodes");
    let (record, reported, trees) = lived(&host, &request, &[310, 1]).await;
    assert!(record.is_ready(), "it serves until it ends");
    assert!(!reported.is_empty());
    for event in &reported {
        let Event::CertificatesNotRenewed { fault } = event else {
            panic!("{event:?}")
        };
        assert_eq!(fault.code, Code::CredentialsNotRenewed);
        assert!(
            fault.remedy_text().contains("replace the instance"),
            "{fault:?}"
        );
    }
    assert_eq!(record.warnings.len(), 1, "however often it was told");
    assert_eq!(changed(&trees), Vec::<&str>::new());
    assert_eq!(host.port_calls_of("ask_bootstrap"), 1, "the boot's");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_fails_is_told_and_tried_again() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", "master-us-test-1a");
    // The boot signs fifteen; of the renewal the third is lost.
    let strike = crate::common::strike("sign", 18..=18, quake_model::ports::Condition::Io);
    host.next_boot(Script::new(vec![strike]));
    let (record, reported, _) = lived(&host, &request, &[310, 1]).await;
    let [
        Event::CertificatesNotRenewed { .. },
        Event::CertificatesRenewed { names, .. },
    ] = &reported[..]
    else {
        panic!("{reported:?}")
    };
    assert_eq!(names.len(), 15, "those of the first attempt, too");
    assert!(record.is_ready());
}
