//! The key of an add-on's CA, made by the built binary against a stand-in for the API server, is in nothing that the binary
//! says: not in its results, and not in what it tells developers at the highest level.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_apisim::{Act, ApiServer, InjectedFault};
use quake_integration::agent::{self, Ended};
use quake_integration::api_server::ApiStandIn;
use quake_integration::skip::unless_missing;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

const CHANNEL: &str = "kind: Addons\nmetadata: {name: bootstrap}\nspec:\n  addons:\n\
    \x20 - {name: certmanager.io, id: k8s-1.16, manifest: cert-manager.yaml}\n\
    \x20 - {name: webhook.addons.k8s.io, id: k8s-1.16, manifest: webhook.yaml, needsPKI: true}\n";

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
    metadata: {name: issuers.cert-manager.io}\nspec:\n  group: cert-manager.io\n  scope: Namespaced\n\
    \x20 names: {kind: Issuer, listKind: IssuerList, plural: issuers, singular: issuer}\n\
    \x20 versions:\n  - name: v1\n    served: true\n    storage: true\n\
    \x20   schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n";

const MANIFEST: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: webhook, namespace: kube-system}\n";

fn run(folder: &Path, words: &[&str]) -> Ended {
    let at = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (kubeconfig, channel) = (at("kubeconfig"), at("channel.yaml"));
    let place = ["--kubeconfig", &kubeconfig, "--channel", &channel];
    let mut command = agent::command(&[&["addons"], words, place.as_slice()].concat());
    command.env("QUAKE_AGENT_LOG", "trace");
    agent::run_command(command)
}

/// A directory with a channel, its manifests and the way to the cluster.
fn ground(served: &ApiStandIn) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in [
        ("kubeconfig", served.kubeconfig(None).as_str()),
        ("channel.yaml", CHANNEL),
        ("cert-manager.yaml", DEFINITION),
        ("webhook.yaml", MANIFEST),
    ] {
        std::fs::write(folder.path().join(name), text).expect("the directory is ours");
    }
    folder
}

#[test]
fn the_key_of_a_ca_is_in_no_result_and_no_log() {
    let served = ApiStandIn::plain(ApiServer::new("v1.35.0"));
    let Some(served) = unless_missing(served.map_err(|error| error.to_string().into())) else {
        return;
    };
    let folder = ground(&served);
    let deny = Act::Deny {
        webhook: "policy.example.com".to_owned(),
        code: 403,
        why: "not today".to_owned(),
    };
    served.cluster(|server| {
        server.inject(
            InjectedFault::new(deny)
                .kind("Secret")
                .writes()
                .calls(1..=1),
        );
    });
    let mut said = String::new();
    for (words, status) in [
        (&["plan", "--output", "json"][..], 75),
        (&["apply", "--all"], 78),
        (&["apply", "--all", "--output", "json"], 0),
        (&["plan", "webhook.addons.k8s.io"], 0),
        (&["list", "--output", "json"], 0),
    ] {
        let ended = run(folder.path(), words);
        assert_eq!(ended.status, status, "{words:?}\n{}", ended.text());
        said.push_str(&ended.text());
    }
    assert!(
        said.contains("policy.example.com"),
        "the refusal is told: {said}"
    );
    assert!(said.contains("TRACE"), "developers are told all there is");
    let secret = served.cluster(|server| {
        let found = server.object("Secret", "kube-system", "webhook.addons.k8s.io-ca");
        found.cloned().unwrap_or_default()
    });
    let encoded = secret["data"]["tls.key"].as_str().unwrap_or_default();
    let key = STANDARD.decode(encoded).expect("it is base64");
    let key = String::from_utf8(key).expect("PEM is text");
    let body = key.lines().nth(1).expect("a line of it");
    assert!(
        key.contains("PRIVATE KEY") && body.len() > 40,
        "it is a key"
    );
    for hidden in [
        &encoded[..40],
        &body[..40],
        "PRIVATE KEY",
        "LS0tLS1CRUdJTiBQUklWQVRF",
    ] {
        assert!(!said.contains(hidden), "{hidden} is said");
    }
    let issuer = served.cluster(|server| {
        let found = server.object("Issuer", "kube-system", "webhook.addons.k8s.io");
        found.map(|issuer| issuer["spec"]["ca"]["secretName"].clone())
    });
    assert_eq!(issuer, Some(Value::from("webhook.addons.k8s.io-ca")));
}
