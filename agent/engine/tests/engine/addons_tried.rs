//! When an add-on that failed is tried again, and what is done while the lease is held.

use crate::addons::{Agent, CHANNEL, MINUTE, host, writes};
use crate::addons_boot::{booting, passes};
use crate::addons_pruned::{MANIFEST, channel, pruning};
use crate::common::request;
use quake_apisim::{Act, InjectedFault};
use quake_engine::addons::AddonInspector;
use quake_engine::{Emitter, boot, keep_looking, stop_signal};
use quake_model::addon::{AddonState, AddonStatus, ReconcilerRef};
use quake_model::fault::Code;
use quake_model::ports::Clock;
use quake_node::addon_mode::KUBECONFIG;
use quake_testkit::SimHost;
use std::sync::Arc;
use std::time::Duration;

/// Lets a webhook refuse what the add-on has.
fn refuse(host: &SimHost) {
    let deny = Act::Deny {
        webhook: "policy.example.com".to_owned(),
        code: 403,
        why: "no".to_owned(),
    };
    host.cluster(|server| server.inject(InjectedFault::new(deny).writes().kind("ConfigMap")));
}

#[tokio::test(start_paused = true)]
async fn what_failed_during_the_boot_is_not_tried_again_before_its_time_because_the_node_is_ready()
{
    let host = booting(12);
    refuse(&host);
    let clock = Arc::clone(&host);
    let emitter = Emitter::new(Box::new(move || clock.now()), Vec::new());
    let (handle, stop) = stop_signal();
    let request = request("control-plane");
    let verdict = boot(host.as_ref(), &emitter, &request, stop.clone()).await;
    assert_eq!(verdict.fault, None);
    let status = || -> AddonStatus {
        let known = emitter.record().addons.addons;
        known.values().next().cloned().unwrap_or_default()
    };
    let before = status();
    assert_eq!(before.state, AddonState::Failed, "{before:?}");
    assert!(before.failures > 0 && before.next_at > Some(host.now()));
    let looking = keep_looking(host.as_ref(), &emitter, &request, &verdict, stop);
    let waiting = async {
        passes(Duration::from_millis(500)).await;
        let early = status();
        passes(Duration::from_secs(400)).await;
        handle.stop("the test is over");
        (early, status())
    };
    let ((), (early, late)) = tokio::join!(looking, waiting);
    assert_eq!(early, before);
    assert!(
        late.failures > before.failures,
        "it goes on counting: {late:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_newer_does_not_wait_for_the_time_of_what_failed() {
    let host = pruning();
    refuse(&host);
    let agent = Agent::new(&host, "i-1");
    // Long enough for the longest pause between two tries.
    let reported = agent.looks_on(&host, MINUTE * 60).await;
    let failed = &reported.addons["one.addons.k8s.io"];
    assert!(failed.failures > 5, "{failed:?}");
    let repaired =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: settings, namespace: kube-system}\n";
    host.put_object(&CHANNEL.replace("bootstrap-channel", "two"), repaired);
    let newer = channel("")
        .replace("id: one", "id: two")
        .replace("one.yaml", "two.yaml");
    host.put_object(CHANNEL, newer);
    // The agent begins anew, reads the channel at once, and minds what it told of the one before.
    let reported = agent.looks_on(&host, Duration::from_secs(1)).await;
    let repaired = &reported.addons["one.addons.k8s.io"];
    assert_eq!(repaired.state, AddonState::Applied, "{repaired:?}");
}

/// Puts the manifest of a version, whose object says which it is of.
fn put_manifest(host: &SimHost, version: &str) {
    let location = CHANNEL.replace("bootstrap-channel", version);
    host.put_object(
        &location,
        format!("{MANIFEST}data: {{version: {version}}}\n"),
    );
}

/// Publishes the version `two` after `one`.
fn publish_two(host: &SimHost) {
    put_manifest(host, "two");
    let newer = channel("")
        .replace("id: one", "id: two")
        .replace("one.yaml", "two.yaml");
    host.put_object(CHANNEL, newer);
}

/// Nine manifests of 12 seconds each: whoever reads them acts with a lease that it holds.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_slow_costs_nobody_the_lease() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    host.slow_store(Duration::from_secs(12));
    let (acts, stands_by) = (Agent::new(&host, "i-1"), Agent::new(&host, "i-2"));
    let reported = tokio::join!(acts.looks_on(&host, MINUTE * 5), async {
        passes(Duration::from_secs(1)).await;
        stands_by.looks_on(&host, MINUTE * 4).await
    });
    assert!(reported.0.is_applied(), "{:?}", reported.0);
    let holder = "i-1".to_owned();
    assert_eq!(reported.1.reconciler, Some(ReconcilerRef::Other { holder }));
    let renewed = host.cluster(|server| {
        let entries = server.journal().entries().iter();
        let renewed = entries.filter(|entry| entry.kind == "Lease" && entry.wrote);
        renewed.map(|entry| entry.at).collect::<Vec<_>>()
    });
    let renewed = renewed.expect("there is a cluster");
    let apart = renewed.windows(2).map(|two| two[1].millis_since(two[0]));
    let longest = apart.max().expect("it is renewed");
    assert!(longest <= 40_000, "{longest} ms: {renewed:?}");
}

/// An agent that is told to stop while it reads gives the lease back, and begins nothing.
#[tokio::test(start_paused = true)]
async fn who_is_stopped_while_it_reads_gives_the_lease_back() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    host.slow_store(Duration::from_secs(5));
    let stopped = Agent::new(&host, "i-1");
    let began = host.now();
    stopped.looks_on(&host, Duration::from_secs(17)).await;
    let took = host.now().millis_since(began);
    assert!(took < 23_000, "{took} ms: one more is read at the most");
    assert_eq!(writes(&host), Vec::<String>::new(), "nothing was begun");
    let next = Agent::new(&host, "i-2");
    let reported = next.looks_on(&host, Duration::from_secs(2)).await;
    assert_eq!(reported.reconciler, Some(ReconcilerRef::Me), "at once");
}

/// An operator applies a newer version while the agent applies an older one: of the two notes the operator's comes last, and of
/// an object the agent's.
#[tokio::test(start_paused = true)]
async fn what_another_noted_as_applied_meanwhile_is_applied_once_more() {
    let host = pruning();
    put_manifest(&host, "one");
    let agent = Agent::new(&host, "i-1");
    let other = async {
        passes(MINUTE).await;
        publish_two(&host);
        let noted = host.cluster(|server| {
            server.edit("Namespace", "", "kube-system", |namespace| {
                let noted =
                    &mut namespace["metadata"]["annotations"]["addons.k8s.io/one.addons.k8s.io"];
                *noted = r#"{"id":"two","systemGeneration":1}"#.into();
            });
        });
        assert!(noted.is_some());
    };
    let (reported, ()) = tokio::join!(agent.looks_on(&host, 5 * MINUTE), other);
    let version = host.cluster(|server| {
        let object = server.object("ConfigMap", "kube-system", "settings");
        object.map(|it| it["data"]["version"].clone())
    });
    assert_eq!(version.flatten(), Some("two".into()), "{reported:?}");
}

/// An operator applies a newer version, whose channel the agent has not read yet.
#[tokio::test(start_paused = true)]
async fn what_an_operator_applied_is_not_replaced_by_an_older_version() {
    let host = pruning();
    put_manifest(&host, "one");
    let agent = Agent::new(&host, "i-1");
    let other = async {
        // Just after the agent read the channel: it reads it again a minute later.
        passes(Duration::from_secs(2)).await;
        publish_two(&host);
        host.cluster(|server| {
            server.edit("Namespace", "", "kube-system", |namespace| {
                let noted =
                    &mut namespace["metadata"]["annotations"]["addons.k8s.io/one.addons.k8s.io"];
                *noted = r#"{"id":"two","systemGeneration":1}"#.into();
            });
            server.edit("ConfigMap", "kube-system", "settings", |settings| {
                settings["data"]["version"] = "two".into();
            });
        });
        let mut seen = Vec::new();
        for _ in 0..50 {
            passes(Duration::from_secs(1)).await;
            let version = host.cluster(|server| {
                let object = server.object("ConfigMap", "kube-system", "settings");
                object.map(|it| it["data"]["version"].clone())
            });
            seen.push(version.flatten().unwrap_or_default());
        }
        seen
    };
    let (reported, seen) = tokio::join!(agent.looks_on(&host, MINUTE), other);
    assert!(seen.iter().all(|version| version == "two"), "{seen:?}");
    assert!(reported.is_applied(), "{reported:?}");
}

/// Two who apply an add-on at once do not know of each other: the one that ends later sees the note of the other.
#[tokio::test(start_paused = true)]
async fn who_ends_after_another_removes_the_note_and_the_agent_applies_it_again() {
    let host = pruning();
    let channels = [CHANNEL.parse().expect("a literal")];
    let inspector = AddonInspector::open(host.as_ref(), KUBECONFIG, &channels).await;
    let inspector = inspector.expect("the server answers");
    let noted = |host: &SimHost| {
        let note = host.cluster(|server| {
            let namespace = server.object("Namespace", "", "kube-system")?;
            let notes = &namespace["metadata"]["annotations"];
            Some(
                notes["addons.k8s.io/one.addons.k8s.io"]
                    .as_str()?
                    .to_owned(),
            )
        });
        note.flatten()
    };
    host.cluster(|server| {
        server.edit("Namespace", "", "kube-system", |namespace| {
            let other = r#"{"id":"two","systemGeneration":1}"#;
            namespace["metadata"]["annotations"]["addons.k8s.io/one.addons.k8s.io"] = other.into();
        });
    });
    let addon = &inspector.selected().addons[0];
    let applied = inspector.apply(addon).await.expect("its manifest is read");
    let code = applied.failed.first().map(|failed| failed.fault.code);
    assert_eq!(code, Some(Code::AddonsObjectConflict), "{applied:?}");
    assert_eq!(noted(&host), None);
    let reported = Agent::new(&host, "i-1").looks_on(&host, MINUTE).await;
    assert!(reported.is_applied(), "{reported:?}");
    let now = noted(&host);
    assert!(
        now.clone().is_some_and(|note| note.contains("\"one\"")),
        "{now:?}"
    );
}
