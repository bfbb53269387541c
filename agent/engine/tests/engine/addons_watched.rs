//! Add-ons that a pod of kops's applies, watched.

use crate::addons::{Agent, CHANNEL, MINUTE, host, writes};
use quake_engine::addons::AddonInspector;
use quake_model::addon::{AddonState, ReconcilerRef};
use quake_model::fault::Code;
use quake_model::ports::Meter;
use quake_model::spec::AddonsPod;
use quake_node::addon_mode::{AddonMode, KUBECONFIG, ObserveMode};
use std::collections::BTreeMap;

fn watching(health: Option<&str>) -> AddonMode {
    AddonMode::Observe(ObserveMode {
        pod: AddonsPod {
            name: "kops-channels".to_owned(),
            health: health.map(str::to_owned),
            labels: BTreeMap::new(),
        },
        channels: vec![CHANNEL.parse().expect("a literal")],
        kubernetes: "1.35.0".parse().expect("a literal"),
    })
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_not_well_is_told_with_what_waits_for_it() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    let url = "http://127.0.0.1:3986/readyz";
    let mut agent = Agent::new(&host, "i-1");
    agent.verdict.addon_mode = Some(watching(Some(url)));
    let reported = agent.looks_on(&host, MINUTE * 30).await;
    let pod = "kops-channels".to_owned();
    assert_eq!(reported.reconciler, Some(ReconcilerRef::Pod { pod }));
    let fault = reported.fault.expect("it does not answer");
    assert_eq!(fault.code, Code::AddonsPodFailing);
    assert_eq!(reported.addons.len(), 9);
    let mut addons = reported.addons.values();
    assert!(addons.all(|addon| addon.state == AddonState::Waiting));
    assert_eq!(writes(&host), Vec::<String>::new(), "it is only watched");
    assert_eq!(
        host.calls()["s3:GetObject"],
        1,
        "the pod asks the state store"
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_pod_noted_is_applied() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    // Whoever applies them notes it in the same place.
    Agent::new(&host, "i-0").looks_on(&host, MINUTE).await;
    let mut agent = Agent::new(&host, "i-1");
    agent.verdict.addon_mode = Some(watching(None));
    let reported = agent.looks_on(&host, MINUTE).await;
    assert!(
        reported.is_applied() && reported.addons.len() == 9,
        "{reported:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn who_applies_by_hand_is_told_which_agent_holds_the_lease() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    let lease = async || {
        let channel = CHANNEL.parse().expect("a literal");
        let inspector = AddonInspector::open(host.as_ref(), KUBECONFIG, &[channel]).await;
        let lease = inspector.expect("the server answers").lease().await;
        lease.expect("it can be read").map(|held| held.holder)
    };
    assert_eq!(lease().await, None);
    let dying = Agent::new(&host, "i-1");
    let _ = tokio::time::timeout(MINUTE, dying.looks_on(&host, MINUTE * 60)).await;
    assert_eq!(lease().await.as_deref(), Some("i-1"));
    Agent::new(&host, "i-1").looks_on(&host, MINUTE).await;
    assert_eq!(lease().await, None, "it was given back");
}
