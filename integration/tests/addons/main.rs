//! The add-ons of kops' own clusters, applied by the built binary to an API server: all of them, once, in an order that works,
//! and what is refused is named while the rest is applied.

mod lab;

use lab::{CASES, channel_of, lab, model, plain};
use quake_apisim::{Act, ApiServer, Establish, Trouble, Verb};
use quake_integration::agent;
use quake_integration::real_api_server::RealApiServer;
use quake_integration::skip::{conformance, unless_missing};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

#[test]
fn the_add_ons_of_kops_own_clusters_are_applied_once() {
    for case in CASES {
        let Some(lab) = lab(case, model()) else {
            return;
        };
        let ended = lab.run(&["apply", "--all"]);
        assert_eq!(ended.status, 0, "{case}: {}{}", ended.stdout, ended.stderr);
        let first = lab.writes();
        let wanted = lab.summary_of_list();
        assert!(first.len() > 40, "{case}: {first:?}");
        assert_eq!(lab.noted().len(), wanted, "{case}");
        let again = lab.run(&["apply", "--all"]);
        assert_eq!(again.status, 0, "{case}: {}", again.stdout);
        assert_eq!(
            lab.writes(),
            Vec::<String>::new(),
            "{case}: a second time nothing changes"
        );
        let planned = lab.run(&["plan", "--detailed-exitcode"]);
        assert_eq!(
            planned.status, 0,
            "{case}: nothing is due: {}",
            planned.stdout
        );
        assert_eq!(
            lab.writes(),
            Vec::<String>::new(),
            "{case}: a plan writes nothing"
        );
    }
}

/// What an apply of everything changed, by its own word; it must have ended well.
fn changed(kubeconfig: &Path, channel: &Path) -> u64 {
    let ended = agent::run(&[
        "addons",
        "apply",
        "--all",
        "--kubeconfig",
        plain(kubeconfig),
        "--channel",
        plain(channel),
        "--output",
        "json",
    ]);
    assert_eq!(ended.status, 0, "{}{}", ended.stdout, ended.stderr);
    let applied: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let addons = applied["addons"].as_array().expect("a list").iter();
    addons.filter_map(|addon| addon["changed"].as_u64()).sum()
}

#[test]
fn a_real_api_server_takes_the_same_add_ons() {
    let Some(cases) = conformance("kops/cases") else {
        return;
    };
    for case in CASES {
        let Some(server) = unless_missing(RealApiServer::start()) else {
            return;
        };
        let folder = tempfile::tempdir().expect("a temporary directory");
        let kubeconfig = folder.path().join("kubeconfig");
        fs::write(&kubeconfig, server.kubeconfig()).expect("a folder of ours");
        let channel = channel_of(&cases.join(case)).join("bootstrap-channel.yaml");
        assert!(changed(&kubeconfig, &channel) > 40, "{case}");
        assert_eq!(changed(&kubeconfig, &channel), 0, "{case}: a second time");
    }
}

#[test]
fn definitions_come_before_what_they_define_and_accounts_before_pods() {
    let mut model = model();
    model.establish(None, Establish::AfterReads(2));
    let Some(lab) = lab("privatecalico", model) else {
        return;
    };
    assert_eq!(lab.run(&["apply", "networking.projectcalico"]).status, 0);
    let writes = lab.writes();
    let at = |word: &str| writes.iter().position(|written| written.starts_with(word));
    let last = |word: &str| writes.iter().rposition(|written| written.starts_with(word));
    assert!(
        last("CustomResourceDefinition/") < at("ServiceAccount/"),
        "{writes:?}"
    );
    assert!(last("ServiceAccount/") < at("DaemonSet/"), "{writes:?}");
    assert_eq!(
        last("Namespace/kube-system"),
        Some(writes.len() - 1),
        "noted last"
    );
}

#[test]
fn a_newer_manifest_changes_only_what_changed() {
    let Some(lab) = lab("minimal-1.35", model()) else {
        return;
    };
    assert_eq!(lab.run(&["apply", "--all"]).status, 0);
    lab.writes();
    lab.edit("limit-range.addons.k8s.io/v1.5.0.yaml", |text| {
        text.replace("cpu: 100m", "cpu: 150m")
    });
    lab.edit("bootstrap-channel.yaml", |text| {
        let old = "686cc69e559a1c6f5e8b94e38de54a575a25c432ed5ceec565244b965fb5f07f";
        assert!(text.contains(old));
        text.replace(old, "").replace(
            "    manifestHash: \n    name: limit-range",
            "    name: limit-range",
        )
    });
    let planned = lab.run(&["plan", "--detailed-exitcode"]);
    assert_eq!(planned.status, 2, "{}", planned.stdout);
    assert!(planned.stdout.contains("150m"), "{}", planned.stdout);
    assert!(
        !planned.stdout.contains("coredns"),
        "only this one is due: {}",
        planned.stdout
    );
    assert_eq!(lab.run(&["apply", "limit-range"]).status, 0);
    assert_eq!(
        lab.writes(),
        ["LimitRange/default/limits", "Namespace/kube-system"]
    );
}

#[test]
fn what_is_marked_is_removed_and_nothing_else() {
    let Some(lab) = lab("minimal-1.35", model()) else {
        return;
    };
    assert_eq!(lab.run(&["apply", "--all"]).status, 0);
    let left = |name: &str, addon: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "kube-system", "labels": {
                "addon.kops.k8s.io/name": addon, "app.kubernetes.io/managed-by": "kops",
            }},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "c"}]}},
            },
        })
    };
    for (name, addon) in [
        ("old-handler", "node-termination-handler.aws"),
        ("old-dns", "coredns.addons.k8s.io"),
    ] {
        let made =
            quake_apisim::Request::new("POST", "/apis/apps/v1/namespaces/kube-system/deployments")
                .with_body("application/json", &left(name, addon));
        lab.server
            .cluster(|model| model.answer(&made, quake_model::time::Timestamp(1)));
    }
    lab.writes();
    assert_eq!(lab.run(&["apply", "--all"]).status, 0);
    assert!(
        !lab.has("Deployment", "kube-system", "old-handler"),
        "its channel says so"
    );
    assert!(
        lab.has("Deployment", "kube-system", "old-dns"),
        "nobody says so"
    );
    assert_eq!(lab.writes(), ["Deployment/kube-system/old-handler"]);
    // An add-on that the channel does not name any more stays.
    lab.edit("bootstrap-channel.yaml", |text| {
        let from = text
            .find("  - id: k8s-1.12\n    manifest: coredns")
            .expect("it is there");
        let to = from + text[from + 4..].find("  - ").expect("another follows") + 4;
        format!("{}{}", &text[..from], &text[to..])
    });
    assert_eq!(lab.run(&["apply", "--all"]).status, 0);
    assert!(lab.has("Deployment", "kube-system", "coredns"));
    assert_eq!(lab.writes(), Vec::<String>::new());
}

#[test]
fn one_object_that_is_refused_holds_up_nothing_else_and_is_named() {
    let deny = Act::Deny {
        webhook: "policy.example.com".to_owned(),
        code: 403,
        why: "images must come from our registry".to_owned(),
    };
    let mut model = model();
    model.trouble(
        Trouble::new(deny)
            .verb(Verb::Apply)
            .kind("Deployment")
            .name("coredns"),
    );
    let Some(lab) = lab("minimal-1.35", model) else {
        return;
    };
    let ended = lab.run(&["apply", "--all"]);
    assert_eq!(ended.status, 78, "{}", ended.stderr);
    for word in [
        "Deployment/kube-system/coredns",
        "addons.object-refused",
        "images must come from our registry",
    ] {
        assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout);
    }
    assert!(
        lab.has("Deployment", "kube-system", "coredns-autoscaler"),
        "the rest of it is applied"
    );
    assert!(
        lab.has("DaemonSet", "kube-system", "ebs-csi-node"),
        "and so are the others"
    );
    assert!(
        !lab.noted()
            .contains(&"addons.k8s.io/coredns.addons.k8s.io".to_owned())
    );
    assert_eq!(lab.noted().len(), 8, "{:?}", lab.noted());
}

#[test]
fn a_definition_that_never_is_established_is_named_and_the_rest_is_applied() {
    let mut model = model();
    model.establish(Some("ippools.crd.projectcalico.org"), Establish::Never);
    let Some(lab) = lab("privatecalico", model) else {
        return;
    };
    let ended = lab.run(&["apply", "--all"]);
    assert_eq!(ended.status, 75, "{}", ended.stderr);
    for word in [
        "addons.crd-not-established",
        "ippools.crd.projectcalico.org",
    ] {
        assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout);
    }
    assert!(lab.has("DaemonSet", "kube-system", "calico-node"));
    assert!(lab.has("Deployment", "kube-system", "coredns"));
}

#[test]
fn a_server_that_throttles_is_asked_again() {
    let mut model = model();
    model.trouble(Trouble::new(Act::Throttle(1)).calls(3..=9));
    model.trouble(Trouble::new(Act::LoseAnswer).writes().calls(4..=4));
    let Some(lab) = lab("ha", model) else { return };
    let ended = lab.run(&["apply", "--all"]);
    assert_eq!(ended.status, 0, "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn a_server_that_cannot_apply_gets_patches() {
    let Some(lab) = lab("minimal-1.35", ApiServer::new("v1.15.12")) else {
        return;
    };
    let ended = lab.run(&["apply", "limit-range", "kubelet-api.rbac"]);
    assert_eq!(ended.status, 0, "{}{}", ended.stdout, ended.stderr);
    let writes = lab.writes();
    let notes = writes
        .iter()
        .filter(|written| *written == "Namespace/kube-system");
    assert_eq!((writes.len(), notes.count()), (4, 2), "{writes:?}");
    assert_eq!(
        lab.run(&["apply", "limit-range", "kubelet-api.rbac"])
            .status,
        0
    );
    assert_eq!(lab.writes(), Vec::<String>::new());
}
