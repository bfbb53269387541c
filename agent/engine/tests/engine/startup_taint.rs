//! The startup taint of a node, in a cluster that is simulated: who removes it and when, and what is reported where nobody does.

use crate::addons::ACCESS;
use crate::common::{EPOCH, request, run};
use crate::node_conditions::{
    ALL, KUBELETS, MINUTE, NODE, changes, host, look_on, object, passes, register, requested,
    warned, with_status,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quake_apisim::{Act, InjectedFault, Request};
use quake_engine::{ConditionsRequest, remove_conditions};
use quake_model::fault::{Code, Fault};
use quake_model::ports::Clock;
use quake_node::node_conditions::RemoverChoice;
use quake_testkit::{Script, SimHost};
use serde_json::json;

fn has_taint(host: &SimHost) -> bool {
    object(host)["spec"]["taints"]
        .to_string()
        .contains("quake.io/starting")
}

#[tokio::test(start_paused = true)]
async fn the_startup_taint_is_there_until_all_holds_and_then_only_it_goes() {
    let host = host("control-plane", "v1.35.0");
    let conditions = requested(Some(RemoverChoice::Agent));
    let taints = json!([
        { "key": "quake.io/starting", "effect": "NoSchedule" },
        { "key": "dedicated", "value": "x", "effect": "NoSchedule" },
    ]);
    let (record, events) = look_on(&host, "control-plane", conditions, async |host| {
        register(host, &taints);
        assert!(has_taint(host), "nobody removed it yet");
        passes(MINUTE).await;
        assert!(!has_taint(host), "{:#}", object(host));
        let left = object(host)["spec"]["taints"].to_string();
        assert!(left.contains("dedicated"), "{left}");
        // Registered anew, it has the taint again, and loses it again.
        let now = host.now();
        let gone = Request::new("DELETE", &format!("/api/v1/nodes/{NODE}"));
        host.cluster(|server| drop(server.answer(&gone, now)));
        register(host, &taints);
        passes(25 * MINUTE).await;
        assert!(!has_taint(host), "{:#}", object(host));
    })
    .await;
    assert_eq!(warned(&record), []);
    let removed = "startup taint quake.io/starting:NoSchedule removed";
    let all = changes(&events);
    assert_eq!(
        all.iter().filter(|one| *one == removed).count(),
        2,
        "{all:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_worker_is_not_registered_with_a_taint_that_nobody_would_remove() {
    let host = host("workers", "v1.35.0");
    let missing = RemoverChoice::Kubeconfig("/etc/not-there".to_owned());
    let request = quake_engine::Request {
        conditions: requested(Some(missing)),
        ..request("workers")
    };
    let (verdict, record) = run(&host, &request).await;
    let fault = verdict.fault.expect("it ends");
    assert_eq!(fault.code, Code::ConfigStartupTaintUnusable);
    assert!(fault.remedy_text().contains("/etc/not-there"), "{fault:?}");
    assert!(
        !host.region().units.contains_key("kubelet.service"),
        "{record:?}"
    );
    // With the kubeconfig in its place the boot goes on, and kubelet has the taint.
    host.put_file("/etc/not-there", ACCESS);
    let (verdict, _) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    let tree = host.tree();
    let registers = tree.values().any(|contents| {
        let text = String::from_utf8_lossy(contents);
        text.contains("register-with-taints=quake.io/starting=:NoSchedule")
    });
    assert!(registers);
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_never_removes_the_taint_is_reported() {
    let host = host("workers", "v1.35.0");
    let mut conditions = requested(Some(RemoverChoice::Controller));
    let key = "readiness.k8s.io/quake.io-starting";
    if let Some(taint) = &mut conditions.startup_taint {
        key.clone_into(&mut taint.taint.key);
    }
    let (record, _) = look_on(&host, "workers", conditions, async |host| {
        register(host, &json!([{ "key": key, "effect": "NoSchedule" }]));
        passes(20 * MINUTE).await;
    })
    .await;
    assert_eq!(warned(&record), [Code::ReadyStartupTaintKept]);
    let fault = record.warnings.last().expect("one");
    let remedy = fault.remedy_text();
    assert!(
        remedy.contains("kubectl get nodereadinessrules"),
        "{remedy}"
    );
    let command = format!("kubectl taint node {NODE} {key}:NoSchedule-");
    assert!(remedy.contains(&command), "{remedy}");
}

#[tokio::test(start_paused = true)]
async fn kubelets_certificate_may_report_and_may_not_remove_a_taint() {
    let host = host("workers", "v1.35.0");
    let user = format!("system:node:{NODE}");
    let length = u8::try_from(user.len()).expect("it is short");
    let certificate = [&[0x0c, length], user.as_bytes()].concat();
    let own = format!(
        "{{client-certificate-data: {}}}",
        STANDARD.encode(pem(&certificate))
    );
    let kubeconfig = ACCESS.replace("{}", &own);
    host.put_file("/etc/kubelets-own", kubeconfig);
    let mut conditions = requested(Some(RemoverChoice::Kubeconfig(
        "/etc/kubelets-own".to_owned(),
    )));
    conditions.reports = true;
    let (record, _) = look_on(&host, "workers", conditions, async |host| {
        let taints = json!([{ "key": "quake.io/starting", "effect": "NoSchedule" }]);
        register(host, &taints);
        passes(20 * MINUTE).await;
        assert!(has_taint(host));
        assert_eq!(with_status(host, "True"), ALL);
    })
    .await;
    assert_eq!(warned(&record), [Code::ReadyStartupTaintKept]);
    let fault = record.warnings.last().expect("one");
    let said = format!("{fault:?}");
    assert!(said.contains("is not allowed to modify taints"), "{said}");
}

fn pem(bytes: &[u8]) -> String {
    let body = STANDARD.encode(bytes);
    format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
}

/// What the node notes of startup taints.
fn note(host: &SimHost) -> String {
    let note = host
        .tree()
        .remove("/var/lib/quake-agent/startup-taints.json");
    String::from_utf8(note.unwrap_or_default()).expect("it is text")
}

#[tokio::test(start_paused = true)]
async fn a_taint_whose_flag_is_dropped_goes_with_the_next_boot_and_others_stay() {
    for (group, reports) in [
        ("control-plane", true),
        ("workers", true),
        ("control-plane", false),
    ] {
        let host = host(group, "v1.35.0");
        let taints = json!([
            { "key": "quake.io/starting", "effect": "NoSchedule" },
            { "key": "quake.io/starting", "effect": "NoExecute" },
            { "key": "dedicated", "value": "x", "effect": "NoSchedule" },
        ]);
        // The agent is stopped before the conditions held.
        let with_taint = requested(Some(RemoverChoice::Agent));
        look_on(&host, group, with_taint, async |_| {}).await;
        register(&host, &taints);
        assert!(note(&host).contains("quake.io/starting"), "{}", note(&host));
        host.next_boot(Script::default());
        let dropped = ConditionsRequest {
            reports,
            ..requested(None)
        };
        let (record, events) = look_on(&host, group, dropped, async |host| {
            passes(MINUTE).await;
            let left = object(host)["spec"]["taints"].to_string();
            assert!(
                !left.contains("\"effect\":\"NoSchedule\",\"key\":\"quake"),
                "{left}"
            );
            assert!(
                left.contains("NoExecute") && left.contains("dedicated"),
                "{left}"
            );
        })
        .await;
        assert_eq!(warned(&record), []);
        let removed = "startup taint quake.io/starting:NoSchedule removed";
        assert!(
            changes(&events).iter().any(|one| one == removed),
            "{events:?}"
        );
        assert_eq!(note(&host), "[]\n");
        let reported = if reports { ALL } else { "" };
        assert_eq!(with_status(&host, "True"), reported);
        // Whoever sets it by hand from now on means it.
        host.cluster(|server| {
            let put = json!({ "spec": { "taints": taints } });
            let path = format!("/api/v1/nodes/{NODE}");
            let put = Request::new("PATCH", &path).with_body("application/merge-patch+json", &put);
            drop(server.answer(&put, EPOCH));
        });
        host.next_boot(Script::default());
        let none = requested(None);
        look_on(&host, group, none, async |_| passes(5 * MINUTE).await).await;
        assert!(has_taint(&host), "{:#}", object(&host));
    }
}

#[tokio::test(start_paused = true)]
async fn a_taint_whose_flag_is_dropped_and_that_nobody_may_remove_is_reported() {
    let host = host("workers", "v1.35.0");
    let mut with_taint = requested(Some(RemoverChoice::Agent));
    look_on(&host, "workers", with_taint.clone(), async |_| {}).await;
    register(
        &host,
        &json!([{ "key": "quake.io/starting", "effect": "NoSchedule" }]),
    );
    host.cluster(|server| server.inject(InjectedFault::new(Act::Forbid).writes().kind("Node")));
    host.next_boot(Script::default());
    with_taint.startup_taint = None;
    with_taint.reports = false;
    let (record, _) = look_on(&host, "workers", with_taint, async |_| {
        passes(20 * MINUTE).await;
    })
    .await;
    assert_eq!(warned(&record), [Code::ReadyStartupTaintKept]);
    let remedy = record.warnings.last().map(Fault::remedy_text);
    let command = format!("kubectl taint node {NODE} quake.io/starting:NoSchedule-");
    assert!(remedy.is_some_and(|remedy| remedy.contains(&command)));
    assert!(
        note(&host).contains("quake.io/starting"),
        "it is tried again"
    );
}

#[tokio::test(start_paused = true)]
async fn who_leaves_a_host_removes_its_startup_taint_with_its_conditions() {
    for group in ["workers", "control-plane"] {
        let host = host(group, "v1.35.0");
        let with_taint = requested(Some(RemoverChoice::Agent));
        look_on(&host, group, with_taint, async |_| {}).await;
        let other = json!({ "key": "dedicated", "effect": "NoSchedule" });
        let ours = json!({ "key": "quake.io/starting", "effect": "NoSchedule" });
        register(&host, &json!([ours, other]));
        let removed = remove_conditions(host.as_ref(), KUBELETS, NODE).await;
        let removed = removed.expect("it may");
        assert_eq!(removed.taints, ["quake.io/starting=:NoSchedule"]);
        assert_eq!(removed.kept, []);
        let left = object(&host)["spec"]["taints"].to_string();
        assert!(!has_taint(&host) && left.contains("dedicated"), "{left}");
        assert_eq!(note(&host), "[]\n");
    }
}

#[tokio::test(start_paused = true)]
async fn a_startup_taint_that_may_not_be_removed_keeps_no_condition_on_a_host_that_is_left() {
    let host = host("workers", "v1.35.0");
    let with_taint = requested(Some(RemoverChoice::Agent));
    look_on(&host, "workers", with_taint, async |host| {
        register(host, &json!([{ "key": "other", "effect": "NoSchedule" }]));
        passes(2 * MINUTE).await;
    })
    .await;
    assert_eq!(with_status(&host, "True"), ALL);
    host.cluster(|server| {
        let put = json!({ "spec": { "taints": [{ "key": "quake.io/starting", "effect": "NoSchedule" }] } });
        let path = format!("/api/v1/nodes/{NODE}");
        let put = Request::new("PATCH", &path).with_body("application/merge-patch+json", &put);
        drop(server.answer(&put, EPOCH));
    });
    host.put_file("/var/lib/quake-agent/startup-taints.json", OTHERS);
    let removed = remove_conditions(host.as_ref(), KUBELETS, NODE).await;
    let removed = removed.expect("the conditions are removed");
    assert_eq!((removed.types.len(), removed.taints.len()), (6, 0));
    let code = removed.kept.first().map(|fault| fault.code);
    assert_eq!(code, Some(Code::ReadyStartupTaintKept), "{removed:?}");
    assert!(has_taint(&host));
}

/// A note whose kubeconfig is gone.
const OTHERS: &str = r#"[{"taint": "quake.io/starting=:NoSchedule", "remover": "/etc/gone"}]"#;
