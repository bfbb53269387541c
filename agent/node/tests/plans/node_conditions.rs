//! Who removes a node's startup taint, what kubelet registers with, and what the documentation says of the conditions.

use crate::nodes::{Node, control_plane_manager, worker_cni};
use quake_formats::yaml;
use quake_model::fault::{Code, Fault};
use quake_model::item::{File, Item, Source};
use quake_model::spec::{Flag, NodeSpec, Role};
use quake_model::time::Timestamp;
use quake_node::node_conditions::{
    CONDITIONS, ConditionKind, ConditionsPlan, PREFIX, Remover, RemoverChoice, StartupTaint,
    TaintPlan, UNTIL, conditions_plan,
};
use quake_node::pki::dates_of_keypairs;
use quake_node::plan_inputs::Keypair;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

fn requested(taint: &str, remover: &RemoverChoice) -> StartupTaint {
    StartupTaint {
        taint: StartupTaint::read_taint(taint).expect("it is one"),
        until: UNTIL.to_vec(),
        remover: remover.clone(),
    }
}

fn plan(
    node: &Node,
    spec: &NodeSpec,
    requested: &StartupTaint,
) -> Result<Option<ConditionsPlan>, Fault> {
    conditions_plan(spec, &node.known.instance, Some(requested), &[])
}

/// Who removes it, as a path or a word; or the fault.
fn remover(node: &Node, spec: &NodeSpec, requested: &StartupTaint) -> Result<String, Fault> {
    let plan = plan(node, spec, requested)?.expect("it has an object");
    let taint = plan.startup_taints.into_iter().next();
    Ok(match taint.expect("it was asked for").remover {
        Remover::Agent { kubeconfig } => kubeconfig,
        Remover::Controller => "controller".to_owned(),
    })
}

/// A worker of which kubelet alone sets the object, by a certificate of its own.
fn worker_of_its_own(node: &Node) -> NodeSpec {
    NodeSpec {
        node_object: None,
        ..node.with_items()
    }
}

#[test]
fn the_taint_is_removed_by_whoever_may() {
    let (agent, controller) = (RemoverChoice::Agent, RemoverChoice::Controller);
    let file = RemoverChoice::Kubeconfig("/etc/remover".to_owned());
    let (control_plane, worker) = (control_plane_manager(), worker_cni());
    let of_control_plane = control_plane.with_items();
    let (legacy, own) = (worker.with_items(), worker_of_its_own(&worker));
    let key = "readiness.k8s.io/x";
    for (node, spec, remover_choice, wanted) in [
        (
            &control_plane,
            &of_control_plane,
            &agent,
            "/var/lib/kops/kubeconfig",
        ),
        (&control_plane, &of_control_plane, &controller, "controller"),
        (&worker, &legacy, &agent, "/var/lib/kubelet/kubeconfig"),
        (&worker, &own, &controller, "controller"),
        (&worker, &own, &file, "/etc/remover"),
    ] {
        let found = remover(node, spec, &requested(key, remover_choice));
        assert_eq!(found.as_deref(), Ok(wanted));
    }
}

#[test]
fn a_taint_that_nobody_would_remove_is_refused_with_what_would() {
    let worker = worker_cni();
    let own = worker_of_its_own(&worker);
    let mut bootstrapped = worker.with_items();
    let flag = Flag::new("bootstrap-kubeconfig", "/var/lib/kubelet/bootstrap");
    bootstrapped.kubelet.flags.push(flag);
    for spec in [&own, &bootstrapped] {
        let fault = remover(&worker, spec, &requested("a.io/x", &RemoverChoice::Agent));
        let fault = fault.expect_err("nobody would");
        assert_eq!(fault.code, Code::ConfigStartupTaintUnusable);
        let remedy = fault.remedy_text();
        assert!(
            remedy.contains("--verb=get,patch --resource=nodes"),
            "{remedy}"
        );
        assert!(
            remedy.contains("--startup-taint-remover=controller"),
            "{remedy}"
        );
    }
    let fault = remover(
        &worker,
        &own,
        &requested("a.io/x", &RemoverChoice::Controller),
    );
    let fault = fault.expect_err("its keys begin otherwise");
    assert_eq!(fault.code, Code::ConfigStartupTaintUnusable);
    assert!(fault.summary.contains("readiness.k8s.io/"), "{fault}");
}

#[test]
fn a_taint_that_the_node_is_to_keep_is_refused() {
    let node = control_plane_manager();
    let mut spec = node.with_items();
    spec.kubelet.taints = vec!["dedicated=gpu:NoSchedule".to_owned()];
    for (taint, is_refused) in [
        ("dedicated", true),
        ("dedicated=other", true),
        ("dedicated:NoExecute", false),
        // What a control plane of that time has unless its spec says otherwise.
        ("node-role.kubernetes.io/master", true),
    ] {
        let found = remover(&node, &spec, &requested(taint, &RemoverChoice::Agent));
        let code = found.err().map(|fault| fault.code);
        let wanted = is_refused.then_some(Code::ConfigStartupTaintUnusable);
        assert_eq!(code, wanted, "{taint}");
    }
}

/// The taint of an earlier configuration, without its flag: its key, what it waits for, and who removes it; `None` where it stays.
fn former(node: &Node, spec: &NodeSpec, noted: &StartupTaint) -> Option<TaintPlan> {
    let plan = conditions_plan(
        spec,
        &node.known.instance,
        None,
        std::slice::from_ref(noted),
    );
    let plan = plan.expect("it is sound").expect("it has an object");
    plan.startup_taints.into_iter().next()
}

#[test]
fn a_taint_whose_flag_is_not_given_any_more_waits_for_nothing_and_goes_by_whoever_may() {
    let (control_plane, worker) = (control_plane_manager(), worker_cni());
    let of_control_plane = control_plane.with_items();
    let (legacy, own) = (worker.with_items(), worker_of_its_own(&worker));
    let by = |kubeconfig: &str| Remover::Agent {
        kubeconfig: kubeconfig.to_owned(),
    };
    let file = RemoverChoice::Kubeconfig("/etc/remover".to_owned());
    let kubelets = "/var/lib/kubelet/kubeconfig";
    for (node, spec, choice, wanted) in [
        (
            &control_plane,
            &of_control_plane,
            &file,
            by("/var/lib/kops/kubeconfig"),
        ),
        (&worker, &legacy, &RemoverChoice::Controller, by(kubelets)),
        (
            &worker,
            &own,
            &RemoverChoice::Controller,
            Remover::Controller,
        ),
        (&worker, &own, &file, by("/etc/remover")),
        // It may not, and that is reported.
        (&worker, &own, &RemoverChoice::Agent, by(kubelets)),
    ] {
        let noted = requested("readiness.k8s.io/x", choice);
        let plan = former(node, spec, &noted).expect("it is to go");
        assert_eq!(plan.remover, wanted);
        assert!(plan.is_former && plan.until.is_empty(), "{plan:?}");
    }
}

#[test]
fn a_noted_taint_stays_where_it_is_asked_for_again_or_the_spec_has_it_by_now() {
    let node = control_plane_manager();
    let mut spec = node.with_items();
    spec.kubelet.taints = vec!["dedicated=gpu:NoSchedule".to_owned()];
    let noted = requested("dedicated", &RemoverChoice::Agent);
    assert_eq!(former(&node, &spec, &noted), None);
    let anew = requested("a.io/x=other", &RemoverChoice::Agent);
    let noted = [
        requested("a.io/x", &RemoverChoice::Agent),
        requested("a.io/x:NoExecute", &RemoverChoice::Agent),
    ];
    let plan = conditions_plan(&spec, &node.known.instance, Some(&anew), &noted);
    let plan = plan.expect("it is sound").expect("it has an object");
    let taints = plan.startup_taints.iter();
    let taints: Vec<(&str, bool)> = taints
        .map(|one| (one.taint.effect.as_str(), one.is_former))
        .collect();
    assert_eq!(taints, [("NoSchedule", false), ("NoExecute", true)]);
    // What is noted of it is what it is noted by the next time.
    let again = conditions_plan(&spec, &node.known.instance, None, &plan.taints_to_note());
    let again = again.expect("it is sound").expect("it has an object");
    assert_eq!(again.taints_to_note(), plan.taints_to_note());
}

#[test]
fn a_bastion_reports_nothing_and_needs_nobody_to_remove_a_taint() {
    let node = worker_cni();
    let spec = NodeSpec {
        role: Role::Bastion,
        ..worker_of_its_own(&node)
    };
    let found = plan(&node, &spec, &requested("a.io/x", &RemoverChoice::Agent));
    assert_eq!(found, Ok(None));
}

#[test]
fn an_object_of_another_instance_is_reported_by_its_providers_id() {
    let node = worker_cni();
    let found = conditions_plan(&node.with_items(), &node.known.instance, None, &[]);
    let plan = found.expect("it is sound").expect("it has an object");
    let own = format!("aws:///us-west-2a/{}", node.known.instance.instance_id);
    for (provider_id, is_foreign) in [(own.as_str(), false), ("", false), ("aws:///a/i-x", true)] {
        assert_eq!(plan.is_foreign(provider_id), is_foreign, "{provider_id}");
    }
}

#[test]
fn kubelet_of_kops_legacy_registers_with_the_taint_beside_those_of_its_spec() {
    let mut node = control_plane_manager();
    node.spec.kubelet.taints = vec!["dedicated=gpu:NoSchedule".to_owned()];
    node.spec.kubelet.startup_taint = Some("quake.io/starting=:NoSchedule".to_owned());
    let spec = node.with_items();
    let texts = spec.items.iter().filter_map(|item| match item {
        Item::File(File {
            source: Source::Bytes(contents),
            ..
        }) => Some(String::from_utf8_lossy(&contents.0).into_owned()),
        _ => None,
    });
    let flag = "--register-with-taints=dedicated=gpu:NoSchedule,quake.io/starting=:NoSchedule";
    assert!(texts.into_iter().any(|text| text.contains(flag)), "{flag}");
    // Whoever keeps the node's taints does not bring it back.
    let object = spec.node_object.expect("it is set");
    assert_eq!(object.taints, ["dedicated=gpu:NoSchedule"]);
}

/// The page that explains the conditions.
fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    fs::read_to_string(path).expect("it is there")
}

#[test]
fn the_documentation_has_each_condition_as_it_is_decided() {
    let page = page();
    for row in CONDITIONS {
        let (name, holds, fails) = (row.name, row.is_true_when, row.is_false_when);
        let line = format!("| `{PREFIX}{name}` | {holds} | {fails} |");
        assert!(page.contains(&line), "{line}");
    }
    let rows = page.lines().filter(|line| line.starts_with("| `quake.io/"));
    assert_eq!(rows.count(), CONDITIONS.len());
}

/// Fields of `NodeReadinessRule`: where, what each object may have, and what it must. Of kubernetes-sigs/node-readiness-controller
/// v0.5.0, `api/v1alpha1/nodereadinessrule_types.go` and `config/crd/bases/readiness.node.x-k8s.io_nodereadinessrules.yaml`.
const FIELDS: [(&str, &[&str], &[&str]); 4] = [
    (
        "/spec",
        &[
            "conditionPolicy",
            "conditions",
            "dryRun",
            "enforcementMode",
            "nodeSelector",
            "taint",
        ],
        &["conditions", "enforcementMode", "nodeSelector", "taint"],
    ),
    (
        "/spec/conditions/0",
        &["defaultStatus", "requiredStatus", "type"],
        &["requiredStatus", "type"],
    ),
    (
        "/spec/taint",
        &["effect", "key", "timeAdded", "value"],
        &["effect", "key"],
    ),
    (
        "/spec/nodeSelector",
        &["matchExpressions", "matchLabels"],
        &[],
    ),
];

fn keys(object: &Value) -> BTreeSet<&str> {
    let object = object.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

#[test]
fn the_rule_in_the_documentation_is_one_that_the_node_readiness_controller_takes() {
    let page = page();
    let (_, rest) = page
        .split_once("```yaml\napiVersion: readiness.node.x-k8s.io/v1alpha1\n")
        .expect("it has the rule");
    let (rest, _) = rest.split_once("```").expect("it ends");
    let text = format!("apiVersion: readiness.node.x-k8s.io/v1alpha1\n{rest}");
    let rule = yaml::parse("rule.yaml", &text)
        .expect("it is YAML")
        .to_json();
    assert_eq!(rule["kind"], "NodeReadinessRule");
    for (place, may, must) in FIELDS {
        let found = keys(rule.pointer(place).expect(place));
        assert!(found.is_subset(&may.iter().copied().collect()), "{place}");
        assert!(
            found.is_superset(&must.iter().copied().collect()),
            "{place}"
        );
    }
    let spec = &rule["spec"];
    let modes = ["bootstrap-only", "continuous"];
    assert!(modes.contains(&spec["enforcementMode"].as_str().unwrap_or_default()));
    let key = spec["taint"]["key"].as_str().expect("a text");
    assert!(key.starts_with("readiness.k8s.io/"));
    assert!(page.contains(&format!(
        "--startup-taint {key} --startup-taint-remover controller"
    )));
    let conditions = spec["conditions"].as_array().expect("a list");
    let kinds = conditions.iter().map(|one| {
        assert_eq!(one["requiredStatus"], "True");
        let kind = one["type"].as_str().expect("a text");
        assert!(kind.starts_with(PREFIX));
        ConditionKind::from_name(kind).expect("it is one of ours")
    });
    assert_eq!(kinds.collect::<Vec<_>>(), UNTIL);
}

/// A client's certificate, until the first of November.
const UNTIL_NOVEMBER: &str = "-----BEGIN CERTIFICATE-----
MIIBjzCCATagAwIBAgIUQiR3YJVR9QhgEUtFcv5q3wiCIncwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKa3ViZXJuZXRlczAeFw0yNjAxMDEwMDAwMDBaFw0yNjExMDEw
MDAwMDBaMCkxEDAOBgNVBAMMB2t1YmVsZXQxFTATBgNVBAoMDHN5c3RlbTpub2Rl
czBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNBkgttL90CIyU6ZOa0T0Yq8XzVN
rmSjwgF3V6WvLxegnh7WE3KNNQrnMcu0MVn2y5kD/XgXrAXBnIwzRnG4cjyjUDBO
MAwGA1UdEwEB/wQCMAAwHwYDVR0jBBgwFoAUiLKE9zrgIq0WztQTfiu0zvMCV90w
HQYDVR0OBBYEFHfJaH3M1LZFb4NquhUhgxbIGy9TMAoGCCqGSM49BAMCA0cAMEQC
IEhxWPK3V46vOUSYvyOt8YYHxpBntI1ZDOYL0POhWOx9AiA5xvL7xLqNVVBLBrtb
pjP8HGU96n0DRVUoB6jiobrMBg==
-----END CERTIFICATE-----
";

#[test]
fn a_keypair_of_the_state_store_has_its_end_and_the_ca_and_what_cannot_be_read_have_none() {
    let keypair = |certificate: &str| Keypair {
        certificate: certificate.to_owned(),
        key: None,
    };
    let keypairs = BTreeMap::from([
        ("ca".to_owned(), keypair(UNTIL_NOVEMBER)),
        (
            "kube-proxy".to_owned(),
            keypair("stand-in for kube-proxy\n"),
        ),
        ("kubelet".to_owned(), keypair(UNTIL_NOVEMBER)),
    ]);
    let [of_kubelet] = &dates_of_keypairs(&keypairs)[..] else {
        panic!("kubelet's alone");
    };
    assert_eq!(of_kubelet.name, "kubelet");
    assert_eq!(
        Some(of_kubelet.ends),
        Timestamp::parse("2026-11-01T00:00:00Z")
    );
    assert_eq!(of_kubelet.renewed_from, None, "nobody issues it anew");
}
