//! What an add-on does about kinds that its channel names to prune, where the API server serves them, does not, or will not say.

use crate::addons::{ACCESS, Agent, CHANNEL, MINUTE};
use crate::common::{EPOCH, region, strike};
use quake_apisim::{ApiServer, Request};
use quake_model::addon::{AddonState, AddonsRecord};
use quake_model::fault::Code;
use quake_model::ports::Condition;
use quake_node::addon_mode::KUBECONFIG;
use quake_testkit::{Script, SimHost, Timing};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The manifest of the one add-on.
pub(crate) const MANIFEST: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: kube-system}\n";

/// A channel of one add-on, with these kinds to prune.
pub(crate) fn channel(prune: &str) -> String {
    format!(
        "kind: Addons\nmetadata: {{name: bootstrap}}\nspec:\n  addons:\n  - name: one.addons.k8s.io\n    id: one\n    manifest: one.yaml\n{prune}"
    )
}

const PRUNE: &str = "    prune:
      kinds:
      - {group: gone.example.com, kind: Relic, labelSelector: addon.kops.k8s.io/name=one}
      - {group: apps, kind: Deployment, labelSelector: addon.kops.k8s.io/name=one}
";

/// A ready control plane whose cluster has a deployment that the add-on once had.
pub(crate) fn pruning() -> Arc<SimHost> {
    let host = SimHost::new(region("control-plane"), Timing::default(), EPOCH);
    host.put_object(CHANNEL, channel(PRUNE));
    host.put_object(&CHANNEL.replace("bootstrap-channel", "one"), MANIFEST);
    host.put_file(KUBECONFIG, ACCESS);
    let host = host.with_cluster(ApiServer::new("v1.35.0"));
    let left = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "left", "namespace": "kube-system", "labels": {"addon.kops.k8s.io/name": "one"}},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "c"}]}},
        },
    });
    let made = Request::new("POST", "/apis/apps/v1/namespaces/kube-system/deployments")
        .with_body("application/json", &left);
    host.cluster(|server| drop(server.answer(&made, EPOCH)));
    Arc::new(host)
}

fn has(host: &SimHost, kind: &str, name: &str) -> bool {
    let found = host.cluster(|server| server.object(kind, "kube-system", name).is_some());
    found.unwrap_or_default()
}

/// Whether the cluster notes the add-on as applied.
pub(crate) fn is_noted(host: &SimHost) -> bool {
    let noted = host.cluster(|server| {
        let namespace = server.object("Namespace", "", "kube-system")?;
        let key = "addons.k8s.io/one.addons.k8s.io";
        Some(namespace["metadata"]["annotations"][key].is_string())
    });
    noted.flatten().unwrap_or_default()
}

fn state(reported: &AddonsRecord) -> Option<AddonState> {
    Some(reported.addons.get("one.addons.k8s.io")?.state)
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_has_nothing_to_be_removed() {
    let host = pruning();
    let reported = Agent::new(&host, "i-1").looks_on(&host, MINUTE).await;
    assert_eq!(state(&reported), Some(AddonState::Applied), "{reported:?}");
    assert!(is_noted(&host) && has(&host, "ConfigMap", "settings"));
    assert!(!has(&host, "Deployment", "left"), "the other rule holds");
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_which_it_cannot_be_said_whether_it_is_served_fails_the_add_on() {
    // What is served is asked once for the manifest's own kind, and then for each rule's group that there is.
    for (operation, calls) in [("list_groups", 1..=1), ("list_kinds", 2..=2)] {
        let host = pruning();
        let denied = strike(operation, calls, Condition::Denied);
        host.next_boot(Script::new(vec![denied]));
        let agent = Agent::new(&host, "i-1");
        // Less than it takes until it is tried again.
        let reported = agent.looks_on(&host, Duration::from_secs(1)).await;
        let failed = reported.addons.get("one.addons.k8s.io").cloned();
        let failed = failed.unwrap_or_default();
        assert_eq!(
            failed.state,
            AddonState::Failed,
            "{operation}: {reported:?}"
        );
        let code = failed.fault.map(|fault| fault.code);
        assert_eq!(code, Some(Code::AddonsApiDenied), "{operation}");
        assert!(
            has(&host, "ConfigMap", "settings"),
            "{operation}: its objects are applied"
        );
        assert!(
            has(&host, "Deployment", "left") && !is_noted(&host),
            "{operation}: nothing is removed, and it is not noted as applied"
        );
        let reported = agent.looks_on(&host, MINUTE).await;
        assert_eq!(state(&reported), Some(AddonState::Applied), "{operation}");
        assert!(!has(&host, "Deployment", "left"), "{operation}");
    }
}
