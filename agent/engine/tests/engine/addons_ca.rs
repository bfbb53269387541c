//! Add-ons that ask for a CA of their own (`needsPKI`), on a simulated cluster.

use crate::addons::{ACCESS, Agent, CHANNEL, MINUTE, writes};
use crate::common::EPOCH;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_apisim::{Act, ApiServer, InjectedFault, Request};
use quake_engine::addons::{AddonInspector, ObjectPlanned, Planned};
use quake_model::addon::{AddonState, AddonsRecord};
use quake_model::fault::Code;
use quake_model::ports::{Clock, Keys};
use quake_model::redact::Secret;
use quake_node::addon_mode::KUBECONFIG;
use quake_node::pki::IssuedCertificate;
use quake_testkit::region::{Region, example_instance};
use quake_testkit::{Script, SimHost, Timing, When};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const ADDON: &str = "eks-pod-identity-webhook.addons.k8s.io";

const ENTRIES: &str = "kind: Addons\nmetadata: {name: bootstrap}\nspec:\n  addons:\n\
    \x20 - {name: eks-pod-identity-webhook.addons.k8s.io, id: k8s-1.16, manifest: webhook.yaml, needsPKI: true}\n\
    \x20 - {name: other.addons.k8s.io, id: k8s-1.16, manifest: other.yaml}\n";

const CERT_MANAGER: &str =
    "  - {name: certmanager.io, id: k8s-1.16, manifest: cert-manager.yaml}\n";

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
    metadata: {name: issuers.cert-manager.io}\nspec:\n  group: cert-manager.io\n  scope: Namespaced\n\
    \x20 names: {kind: Issuer, listKind: IssuerList, plural: issuers, singular: issuer}\n\
    \x20 versions:\n  - name: v1\n    served: true\n    storage: true\n\
    \x20   schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n";

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: kube-system}}\n")
}

/// A control plane whose channel has an add-on that asks for a CA, and another.
fn host() -> Arc<SimHost> {
    let region = Region::with_instance(example_instance("us-test-1a"), "c.example.com");
    let host = SimHost::new(region, Timing::default(), EPOCH);
    let host = host.with_cluster(ApiServer::new("v1.35.0"));
    host.put_object(CHANNEL, ENTRIES);
    host.put_object("s3://store/addons/webhook.yaml", config_map("webhook"));
    host.put_object("s3://store/addons/other.yaml", config_map("other"));
    host.put_object("s3://store/addons/cert-manager.yaml", DEFINITION);
    host.put_file(KUBECONFIG, ACCESS);
    Arc::new(host)
}

/// The same with cert-manager's add-on.
fn host_with_cert_manager() -> Arc<SimHost> {
    let host = host();
    host.put_object(CHANNEL, format!("{ENTRIES}{CERT_MANAGER}"));
    host
}

fn object(host: &SimHost, kind: &str, name: &str) -> Option<Value> {
    let found = host.cluster(|server| server.object(kind, "kube-system", name).cloned());
    found.expect("there is a cluster")
}

fn secret(host: &SimHost) -> Option<Value> {
    object(host, "Secret", &format!("{ADDON}-ca"))
}

fn issuer(host: &SimHost) -> Option<Value> {
    object(host, "Issuer", ADDON)
}

fn delete(host: &SimHost, path: &str) {
    let now = host.now();
    host.cluster(|server| drop(server.answer(&Request::new("DELETE", path), now)));
}

async fn looks_on(host: &Arc<SimHost>, time: Duration) -> AddonsRecord {
    let reported = Agent::new(host, "i-1").looks_on(host, time).await;
    assert_eq!(reported.fault, None);
    reported
}

fn part(secret: &Value, name: &str) -> String {
    let bytes = STANDARD.decode(secret["data"][name].as_str().expect("it is there"));
    String::from_utf8(bytes.expect("it is base64")).expect("PEM is text")
}

#[tokio::test(start_paused = true)]
async fn a_ca_is_made_with_its_issuer_and_not_again() {
    let host = host_with_cert_manager();
    let reported = looks_on(&host, MINUTE * 2).await;
    assert!(reported.is_applied(), "{reported:?}");
    assert_eq!(reported.addons[ADDON].objects, 3);
    let made = secret(&host).expect("it is made");
    assert_eq!(made["type"], "kubernetes.io/tls");
    let wanted = json!({"ca": {"secretName": format!("{ADDON}-ca")}});
    assert_eq!(issuer(&host).expect("it is made")["spec"], wanted);
    let pair = IssuedCertificate {
        certificate: part(&made, "tls.crt"),
        ca: String::new(),
        key: Secret::new(part(&made, "tls.key")),
    };
    let public = host.public_key(&pair.key).await.expect("it is a key");
    assert_eq!(
        pair.public_key(),
        Some(public),
        "the certificate is the key's"
    );
    writes(&host);
    let reported = looks_on(&host, MINUTE * 5).await;
    assert!(reported.is_applied(), "{reported:?}");
    assert_eq!(writes(&host), Vec::<String>::new());
    assert_eq!(secret(&host), Some(made));
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_of_it_is_made_anew_without_the_manifest_and_nothing_is_overwritten() {
    let host = host_with_cert_manager();
    looks_on(&host, MINUTE * 2).await;
    let made = secret(&host);
    writes(&host);
    let issuers = "/apis/cert-manager.io/v1/namespaces/kube-system/issuers";
    delete(&host, &format!("{issuers}/{ADDON}"));
    writes(&host);
    let reported = looks_on(&host, MINUTE * 2).await;
    assert!(reported.is_applied(), "{reported:?}");
    assert_eq!(writes(&host), [format!("Issuer/kube-system/{ADDON}")]);
    assert_eq!(secret(&host), made, "the key is the same");
    delete(
        &host,
        &format!("/api/v1/namespaces/kube-system/secrets/{ADDON}-ca"),
    );
    writes(&host);
    let reported = looks_on(&host, MINUTE * 2).await;
    assert!(reported.is_applied(), "{reported:?}");
    assert_eq!(writes(&host), [format!("Secret/kube-system/{ADDON}-ca")]);
}

#[tokio::test(start_paused = true)]
async fn without_cert_manager_only_this_add_on_waits_by_its_own_code() {
    let host = host();
    let reported = looks_on(&host, MINUTE * 5).await;
    let waits = &reported.addons[ADDON];
    assert_eq!(waits.state, AddonState::Failed);
    let fault = waits.fault.as_ref().expect("it is told why");
    assert_eq!(fault.code, Code::AddonsIssuerUnserved);
    assert_eq!(waits.object, Some(format!("Issuer/kube-system/{ADDON}")));
    assert_eq!(
        reported.addons["other.addons.k8s.io"].state,
        AddonState::Applied
    );
    assert!(object(&host, "ConfigMap", "webhook").is_some());
    let made = secret(&host).expect("the issuer needs it");
    host.put_object(CHANNEL, format!("{ENTRIES}{CERT_MANAGER}"));
    let reported = looks_on(&host, MINUTE * 8).await;
    assert!(reported.is_applied(), "{reported:?}");
    assert_eq!(secret(&host), Some(made), "the key is the same");
}

#[tokio::test(start_paused = true)]
async fn a_plan_says_what_would_be_made_and_makes_nothing() {
    let host = host();
    let shown = async |host: &SimHost| {
        let channel = CHANNEL.parse().expect("a literal");
        let inspector = AddonInspector::open(host, KUBECONFIG, &[channel]).await;
        let inspector = inspector.expect("the server answers");
        let named = inspector
            .selected()
            .named(&[ADDON.to_owned()])
            .expect("it is wanted");
        let planned = inspector.plan(named[0]).await.expect("it is known");
        let of = |kind: &str| -> Vec<Planned> {
            let is_of = |planned: &&ObjectPlanned| planned.object.starts_with(kind);
            planned
                .iter()
                .filter(is_of)
                .map(|planned| planned.what.clone())
                .collect()
        };
        (inspector.is_due(named[0]), of("Secret/"), of("Issuer/"))
    };
    let (is_due, secrets, issuers) = shown(&host).await;
    assert!(is_due);
    assert_eq!(secrets, [Planned::Create]);
    assert!(
        matches!(&issuers[..], [Planned::Unknown(fault)] if fault.code == Code::AddonsIssuerUnserved),
        "{issuers:?}"
    );
    assert_eq!(writes(&host), Vec::<String>::new());
    looks_on(&host, MINUTE).await;
    host.put_object(CHANNEL, format!("{ENTRIES}{CERT_MANAGER}"));
    looks_on(&host, Duration::from_secs(8)).await;
    writes(&host);
    let (is_due, secrets, _) = shown(&host).await;
    assert_eq!(
        (is_due, &secrets[..]),
        (issuer(&host).is_none(), &[Planned::Nothing][..])
    );
    looks_on(&host, MINUTE * 8).await;
    let nothing = vec![Planned::Nothing];
    assert_eq!(shown(&host).await, (false, nothing.clone(), nothing));
}

/// Whether `text` has the key of a Secret, or a part of it, in any of the forms that it is written in.
fn shows(text: &str, secret: &Value) -> bool {
    let key = part(secret, "tls.key");
    let lines = key.lines().filter(|line| !line.starts_with('-'));
    let bytes: Vec<String> = vec![format!("{:?}", key.as_bytes())];
    let encoded = secret["data"]["tls.key"].as_str().unwrap_or_default();
    let parts = lines.chain([&encoded[..40], &bytes[0][1..60]]);
    parts.into_iter().any(|part| text.contains(part))
}

#[tokio::test(start_paused = true)]
async fn the_key_is_in_nothing_that_is_told() {
    let host = host_with_cert_manager();
    let deny = |why: &str| Act::Deny {
        webhook: "policy.example.com".to_owned(),
        code: 403,
        why: why.to_owned(),
    };
    // It is refused, the answer is lost, and it is there at last.
    host.cluster(|server| {
        let of_secrets = |act| InjectedFault::new(act).kind("Secret").writes();
        server.inject(of_secrets(deny("no")).calls(1..=1));
        server.inject(of_secrets(Act::LoseAnswer).calls(2..=2));
    });
    let agent = Agent::new(&host, "i-1");
    let reported = agent.looks_on(&host, MINUTE * 5).await;
    assert!(reported.is_applied(), "{reported:?}");
    let made = secret(&host).expect("it is made");
    let channel = CHANNEL.parse().expect("a literal");
    let inspector = AddonInspector::open(host.as_ref(), KUBECONFIG, &[channel]).await;
    let inspector = inspector.expect("the server answers");
    let mut shown = agent.all_reports();
    for addon in &inspector.selected().addons {
        shown.push_str(&format!(
            "{:?}{:?}",
            inspector.plan(addon).await,
            inspector.apply(addon).await
        ));
    }
    shown.push_str(&serde_json::to_string(&reported).expect("a record serialises"));
    assert!(shown.contains("policy.example.com"), "the refusal is told");
    assert!(shows(&part(&made, "tls.key"), &made) && shows(&made.to_string(), &made));
    assert!(
        !shows(&shown, &made) && !shown.contains("PRIVATE KEY"),
        "{shown}"
    );
    let files = host.tree();
    let kept = files
        .iter()
        .find(|(_, bytes)| shows(&String::from_utf8_lossy(bytes), &made));
    assert_eq!(kept, None, "no file has it");
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_call_the_next_agent_finds_or_makes_one_ca() {
    let whole = host_with_cert_manager();
    looks_on(&whole, MINUTE).await;
    let calls = whole.port_calls();
    let mut between = 0;
    for call in 1..=calls {
        for when in [When::Before, When::After] {
            let host = host_with_cert_manager();
            host.next_boot(Script::halting_at(call, when));
            let killed = Agent::new(&host, "i-1");
            let _ = tokio::time::timeout(MINUTE * 2, killed.looks_on(&host, MINUTE * 600)).await;
            let before = secret(&host);
            between += usize::from(before.is_some() && issuer(&host).is_none());
            host.next_boot(Script::default());
            let reported = looks_on(&host, MINUTE * 4).await;
            assert!(reported.is_applied(), "{when:?} call {call}: {reported:?}");
            assert!(issuer(&host).is_some(), "{when:?} call {call}");
            let after = secret(&host);
            assert!(after.is_some(), "{when:?} call {call}");
            assert!(before.is_none() || before == after, "{when:?} call {call}");
        }
    }
    assert!(between > 1, "some are killed between the two writes");
}
