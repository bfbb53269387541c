//! Add-ons of kops' own clusters, looked after by an agent whose API server and state store are simulated.

#![expect(
    clippy::disallowed_methods,
    reason = "the channels are files; the engine that is tested reads them through its ports"
)]

use crate::common::{EPOCH, Keep, request};
use crate::kops::{conformance, files_below};
use quake_apisim::{Act, ApiServer, InjectedFault, Verb};
use quake_engine::{Emitter, ManagedSnapshot, StopHandle, Verdict, keep_looking, stop_signal};
use quake_model::addon::{AddonState, AddonsRecord, ReconcilerRef};
use quake_model::event::Event;
use quake_model::ports::{Clock, Meter, Sink};
use quake_model::time::Timestamp;
use quake_node::addon_mode::{AddonMode, KUBECONFIG, ReconcileMode};
use quake_testkit::region::{Region, example_instance};
use quake_testkit::{Script, SimHost, Timing, When};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const CHANNEL: &str = "s3://store/addons/bootstrap-channel.yaml";

/// A kubeconfig of the simulated cluster.
pub(crate) const ACCESS: &str = "clusters:\n- name: c\n  cluster: {server: 'http://127.0.0.1:8080'}\n\
                      contexts:\n- name: c\n  context: {cluster: c, user: u}\ncurrent-context: c\nusers:\n- name: u\n  user: {}\n";

/// A control plane's machine with the channel of a case, and a cluster that has nothing yet.
pub(crate) fn host(case: &str) -> Option<Arc<SimHost>> {
    let root = conformance()?;
    let region = Region::with_instance(example_instance("us-test-1a"), "c.example.com");
    let cluster = ApiServer::new("v1.35.0");
    let host = SimHost::new(region, Timing::default(), EPOCH).with_cluster(cluster);
    let files = files_below(&root.join("cases").join(case).join("statestore"));
    let channel = files
        .iter()
        .find(|path| path.ends_with("addons/bootstrap-channel.yaml"));
    let folder = channel
        .and_then(|path| path.parent())
        .expect("the case has a channel");
    for path in &files {
        if let Ok(below) = path.strip_prefix(folder) {
            let bytes = fs::read(path).expect("the data can be read");
            host.put_object(&format!("s3://store/addons/{}", below.display()), bytes);
        }
    }
    host.put_file(KUBECONFIG, ACCESS);
    Some(Arc::new(host))
}

fn verdict(me: &str) -> Verdict {
    let keeping = ReconcileMode {
        channels: vec![CHANNEL.parse().expect("a literal")],
        strange: Vec::new(),
        me: me.to_owned(),
        kubernetes: "1.35.0".parse().expect("a literal"),
    };
    Verdict {
        fault: None,
        renewal: None,
        certificates: Vec::new(),
        addon_mode: Some(AddonMode::Reconcile(keeping)),
        conditions: None,
        identity: None,
        names: None,
        repair: None,
        planned: Vec::new(),
        watches: Vec::new(),
        left: ManagedSnapshot::default(),
        reports: quake_engine::ReportPlace::Unknown,
    }
}

/// An agent on a node that is ready.
pub(crate) struct Agent {
    emitter: Emitter,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    pub(crate) verdict: Verdict,
}

impl Agent {
    pub(crate) fn new(host: &Arc<SimHost>, me: &str) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let clock = Arc::clone(host);
        let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Keep(Arc::clone(&events)))];
        let emitter = Emitter::new(Box::new(move || clock.now()), sinks);
        emitter.emit(Event::BootReady { changed: 0 });
        Self {
            emitter,
            events,
            verdict: verdict(me),
        }
    }

    /// Looks on for this long, and is then told to stop.
    pub(crate) async fn looks_on(&self, host: &Arc<SimHost>, time: Duration) -> AddonsRecord {
        let (handle, stop) = stop_signal();
        let request = request("control-plane");
        let looking = keep_looking(host.as_ref(), &self.emitter, &request, &self.verdict, stop);
        tokio::join!(looking, ends(handle, time));
        self.emitter.record().addons
    }

    /// Every event, as programs and as developers read it.
    pub(crate) fn all_reports(&self) -> String {
        let events = self.events.lock().expect("no other holder panics");
        let reported = events.iter().map(|event| {
            let json = serde_json::to_string(event).expect("an event serialises");
            format!("{json}\n{event:?}\n")
        });
        reported.collect()
    }

    /// The states that an add-on was told to be in, in their order.
    fn states(&self, name: &str) -> Vec<AddonState> {
        let events = self.events.lock().expect("no other holder panics");
        let reported = events.iter().filter_map(|event| match event {
            Event::AddonChanged(status) if status.name == name => Some(status.state),
            _ => None,
        });
        reported.collect()
    }
}

async fn ends(handle: StopHandle, time: Duration) {
    passes(time).await;
    handle.stop("the test is over");
}

async fn passes(time: Duration) {
    tokio::time::sleep(time).await;
}

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// What was written of the cluster, without the lease's renewals; and forgotten.
pub(crate) fn writes(host: &SimHost) -> Vec<String> {
    let all = host.cluster(|server| {
        let writes = server.journal().writes();
        server.clear_journal();
        writes
    });
    let all = all.expect("there is a cluster").into_iter();
    all.filter(|written| written != "Lease/kube-system/quake-agent")
        .collect()
}

const KINDS: [&str; 15] = [
    "Namespace",
    "ServiceAccount",
    "ConfigMap",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "Deployment",
    "DaemonSet",
    "PodDisruptionBudget",
    "StorageClass",
    "CSIDriver",
    "LimitRange",
    "CustomResourceDefinition",
];

/// Every object of the cluster but its leases, as it is without what a server counts or gives in the order of asking.
fn objects(host: &SimHost) -> BTreeMap<String, Value> {
    let found = host.cluster(|server| {
        let of_kind =
            |kind: &&str| -> Vec<Value> { server.objects(kind).into_iter().cloned().collect() };
        KINDS.iter().flat_map(of_kind).collect::<Vec<_>>()
    });
    let counted = [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
    ];
    let found = found
        .expect("there is a cluster")
        .into_iter()
        .map(|mut object| {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.retain(|field, _| !counted.contains(&field.as_str()));
            }
            if let Some(object) = object.as_object_mut() {
                object.remove("status");
            }
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                spec.retain(|field, _| !field.starts_with("clusterIP"));
            }
            let metadata = &object["metadata"];
            let (namespace, name) = (&metadata["namespace"], &metadata["name"]);
            (format!("{}/{namespace}/{name}", object["kind"]), object)
        });
    found.collect()
}

#[tokio::test(start_paused = true)]
async fn all_add_ons_are_applied_once_and_told_of() {
    for (case, count) in [("minimal-1.35", 9), ("ha", 9), ("privatecalico", 10)] {
        let Some(host) = host(case) else { return };
        let agent = Agent::new(&host, "i-1");
        let reported = agent.looks_on(&host, MINUTE * 2).await;
        assert_eq!(reported.reconciler, Some(ReconcilerRef::Me), "{case}");
        assert!(reported.is_applied(), "{case}: {reported:?}");
        assert_eq!(reported.addons.len(), count, "{case}");
        let states = agent.states("coredns.addons.k8s.io");
        assert_eq!(
            states,
            [AddonState::Applying, AddonState::Applied],
            "{case}"
        );
        assert!(writes(&host).len() > 40, "{case}");
        // Another agent of the same cluster finds it done.
        let again = Agent::new(&host, "i-2").looks_on(&host, MINUTE * 2).await;
        assert!(
            again.is_applied() && again.addons.len() == count,
            "{case}: {again:?}"
        );
        assert_eq!(writes(&host), Vec::<String>::new(), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_state_store_is_asked_once_a_minute_at_most_and_by_one_agent() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    let (first, second) = (Agent::new(&host, "i-1"), Agent::new(&host, "i-2"));
    tokio::join!(first.looks_on(&host, MINUTE * 2), async {
        passes(Duration::from_secs(1)).await;
        second.looks_on(&host, MINUTE * 2).await
    });
    let before = host.calls()["s3:GetObject"];
    let reported = tokio::join!(first.looks_on(&host, MINUTE * 60), async {
        passes(Duration::from_secs(1)).await;
        second.looks_on(&host, MINUTE * 59).await
    });
    assert_eq!(reported.0.reconciler, Some(ReconcilerRef::Me));
    let holder = "i-1".to_owned();
    assert_eq!(reported.1.reconciler, Some(ReconcilerRef::Other { holder }));
    assert!(
        reported.1.is_applied(),
        "the standby knows it, too: {:?}",
        reported.1
    );
    let requested = host.calls()["s3:GetObject"] - before;
    assert!(
        (30..=61).contains(&requested),
        "{requested} requests in an hour"
    );
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_down_for_three_minutes_is_waited_for() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    let until = Timestamp(EPOCH.0 + 180_000);
    host.cluster(|server| server.inject(InjectedFault::new(Act::Refuse).until(until)));
    let agent = Agent::new(&host, "i-1");
    let reported = agent.looks_on(&host, MINUTE * 2).await;
    assert_eq!(reported.reconciler, Some(ReconcilerRef::Unknown));
    let fault = reported.fault.expect("it is told why");
    assert_eq!(fault.code.entry().code, "addons.api-unreachable");
    assert_eq!(reported.addons.len(), 9, "each is named while it waits");
    assert!(
        reported
            .addons
            .values()
            .all(|addon| addon.state == AddonState::WaitingForApi)
    );
    let reported = agent.looks_on(&host, MINUTE * 2).await;
    assert!(reported.is_applied(), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_refused_holds_up_no_other_and_is_tried_again() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    let deny = Act::Deny {
        webhook: "policy.example.com".to_owned(),
        code: 403,
        why: "not from our registry".to_owned(),
    };
    host.cluster(|server| {
        server.inject(
            InjectedFault::new(deny)
                .verb(Verb::Apply)
                .kind("Deployment")
                .name("coredns"),
        );
        server.inject(
            InjectedFault::new(Act::Conflict)
                .kind("DaemonSet")
                .name("ebs-csi-node")
                .writes()
                .calls(1..=2),
        );
        server.inject(InjectedFault::new(Act::Throttle(1)).writes().calls(5..=12));
    });
    let agent = Agent::new(&host, "i-1");
    let reported = agent.looks_on(&host, MINUTE * 10).await;
    let failed: Vec<_> = reported
        .addons
        .values()
        .filter(|addon| addon.state != AddonState::Applied)
        .collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    let failed = failed[0];
    assert_eq!(failed.name, "coredns.addons.k8s.io");
    assert_eq!(
        failed.object.as_deref(),
        Some("Deployment/kube-system/coredns")
    );
    let fault = failed.fault.as_ref().expect("it is told why");
    assert_eq!(fault.code.entry().code, "addons.object-refused");
    assert!(
        format!("{fault:?}").contains("not from our registry"),
        "{fault:?}"
    );
    assert!(
        (2..=20).contains(&failed.failures),
        "tried again, and not all the time: {}",
        failed.failures
    );
    host.cluster(ApiServer::end_troubles);
    let reported = agent.looks_on(&host, MINUTE * 6).await;
    assert!(reported.is_applied(), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn a_newer_manifest_is_applied_alone() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    let agent = Agent::new(&host, "i-1");
    agent.looks_on(&host, MINUTE).await;
    writes(&host);
    let manifest = "s3://store/addons/limit-range.addons.k8s.io/v1.5.0.yaml";
    let text = String::from_utf8(host.object(manifest).expect("it is there")).expect("text");
    let newer = text.replace("100m", "150m");
    assert_ne!(newer, text);
    host.put_object(manifest, newer);
    let channel = String::from_utf8(host.object(CHANNEL).expect("it is there")).expect("text");
    // A hash that is not the manifest's is waited for, and then taken as it is.
    let old = "686cc69e559a1c6f5e8b94e38de54a575a25c432ed5ceec565244b965fb5f07f";
    host.put_object(CHANNEL, channel.replace(old, &old.replace("686c", "0000")));
    let reported = agent.looks_on(&host, MINUTE * 10).await;
    assert!(reported.is_applied(), "{reported:?}");
    assert_eq!(
        writes(&host),
        ["LimitRange/default/limits", "Namespace/kube-system"]
    );
    let states = agent.states("limit-range.addons.k8s.io");
    assert!(
        states.contains(&AddonState::Failed),
        "the mismatch was told: {states:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_goes_gives_the_lease_back_and_one_that_dies_loses_it() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    let first = Agent::new(&host, "i-1");
    first.looks_on(&host, MINUTE).await;
    let second = Agent::new(&host, "i-2")
        .looks_on(&host, Duration::from_secs(2))
        .await;
    assert_eq!(second.reconciler, Some(ReconcilerRef::Me), "at once");
    let dying = Agent::new(&host, "i-3");
    let _ = tokio::time::timeout(MINUTE, dying.looks_on(&host, MINUTE * 60)).await;
    let third = Agent::new(&host, "i-4");
    let waits = third.looks_on(&host, MINUTE / 2).await;
    let holder = "i-3".to_owned();
    assert_eq!(waits.reconciler, Some(ReconcilerRef::Other { holder }));
    let takes = third.looks_on(&host, MINUTE * 2).await;
    assert_eq!(takes.reconciler, Some(ReconcilerRef::Me));
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_call_the_next_agent_brings_it_to_the_same_end() {
    let Some(whole) = host("minimal-1.35") else {
        return;
    };
    Agent::new(&whole, "i-1").looks_on(&whole, MINUTE * 2).await;
    let wanted = objects(&whole);
    let writes = writes(&whole).len() as u64;
    // Every call of the first rounds, in which all is written.
    let calls = whole.port_calls().min(3 * writes + 60);
    for call in (1..=calls).step_by(3) {
        for when in [When::Before, When::After] {
            let host = host("minimal-1.35").expect("it was there");
            host.next_boot(Script::halting_at(call, when));
            let killed = Agent::new(&host, "i-1");
            let _ = tokio::time::timeout(MINUTE * 2, killed.looks_on(&host, MINUTE * 600)).await;
            host.next_boot(Script::default());
            let reported = Agent::new(&host, "i-1").looks_on(&host, MINUTE * 4).await;
            assert!(reported.is_applied(), "{when:?} call {call}: {reported:?}");
            let found = objects(&host);
            let others: Vec<_> = wanted
                .iter()
                .filter(|(name, object)| found.get(*name) != Some(object))
                .collect();
            assert!(
                others.is_empty() && found.len() == wanted.len(),
                "{when:?} call {call}: {others:?}"
            );
        }
    }
}
