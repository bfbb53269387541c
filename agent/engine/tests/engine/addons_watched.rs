//! Add-ons that a pod of kops's applies, watched.

use crate::addons::{Agent, CHANNEL, MINUTE, host, writes};
use crate::kops::{conformance, node};
use quake_engine::{Emitter, boot, stop_signal};
use quake_model::addon::{AddonKeeper, AddonState};
use quake_model::fault::Code;
use quake_model::ports::{Clock, Meter};
use quake_model::spec::AddonsPod;
use quake_plan::addons::{KUBECONFIG, Tending, Watching};
use std::collections::BTreeMap;
use std::sync::Arc;

fn watching(health: Option<&str>) -> Tending {
    Tending::Watch(Watching {
        pod: AddonsPod {
            name: "kops-channels".to_owned(),
            health: health.map(str::to_owned),
            labels: BTreeMap::new(),
        },
        channels: vec![CHANNEL.parse().expect("a literal")],
        kubeconfig: KUBECONFIG.to_owned(),
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
    agent.verdict.tending = Some(watching(Some(url)));
    let told = agent.looks_on(&host, MINUTE * 30).await;
    let pod = "kops-channels".to_owned();
    assert_eq!(told.keeper, Some(AddonKeeper::Pod { pod }));
    let fault = told.fault.expect("it does not answer");
    assert_eq!(fault.code, Code::AddonsPodFailing);
    assert_eq!(told.addons.len(), 9);
    let mut addons = told.addons.values();
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
    agent.verdict.tending = Some(watching(None));
    let told = agent.looks_on(&host, MINUTE).await;
    assert!(told.is_applied() && told.addons.len() == 9, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_told_to_takes_over_from_the_pod() {
    let Some(root) = conformance() else {
        return;
    };
    let manifest = "/etc/kubernetes/manifests/kops-channels.manifest";
    for takes_over in [false, true] {
        let (host, mut request) = node(&root, "minimal-1.35", "master-us-test-1a");
        request.takes_over_addons = takes_over;
        let clock = Arc::clone(&host);
        let emitter = Emitter::new(Box::new(move || clock.now()), Vec::new());
        let (_handle, stop) = stop_signal();
        let verdict = boot(host.as_ref(), &emitter, &request, stop).await;
        assert_eq!(verdict.fault, None);
        assert_eq!(host.tree().contains_key(manifest), !takes_over);
        let kept =
            matches!(&verdict.tending, Some(Tending::Keep(keeping)) if keeping.channels.len() == 1);
        let watched = matches!(&verdict.tending, Some(Tending::Watch(watching)) if watching.pod.name == "kops-channels");
        assert_eq!((kept, watched), (takes_over, !takes_over));
    }
}
