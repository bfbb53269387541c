//! What holds of every API server.

use crate::lab::{Lab, sum};
use quake_integration::agent::LIMIT;
use quake_integration::waiting::{pause, wait_until};
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) fn minimal_is_planned_applied_and_then_held(lab: &Lab) {
    is_planned_applied_and_then_held(lab);
}

pub(crate) fn ha_is_planned_applied_and_then_held(lab: &Lab) {
    is_planned_applied_and_then_held(lab);
}

pub(crate) fn privatecalico_is_planned_applied_and_then_held(lab: &Lab) {
    is_planned_applied_and_then_held(lab);
}

fn is_planned_applied_and_then_held(lab: &Lab) {
    let before = lab.reported(&["list"], 0);
    let addons = before["addons"].as_array().expect("a list of add-ons");
    assert!(addons.len() >= 9, "{before}");
    let waits = |addon: &Value| addon["state"] == "waiting";
    assert!(addons.iter().all(waits), "{before}");
    let planned = lab.reported(&["plan", "--detailed-exitcode"], 2);
    assert!(planned["changes"].as_u64() > Some(20), "{planned}");
    assert_eq!(lab.noted(), Vec::<String>::new());

    let applied = lab.reported(&["apply", "--all"], 0);
    assert_eq!(applied["allApplied"], true, "{applied}");
    assert!(sum(&applied, "changed") > 40, "{applied}");
    assert_eq!(sum(&applied, "changed"), sum(&applied, "objects"));
    assert_eq!(lab.noted().len(), addons.len());
    assert!(lab.server.writes().len() > 40);

    let after = lab.reported(&["list"], 0);
    assert_eq!(after["allApplied"], true, "{after}");
    let again = lab.reported(&["apply", "--all"], 0);
    let changed = (sum(&again, "changed"), sum(&again, "pruned"));
    assert_eq!(changed, (0, 0), "{again}");
    let held = lab.reported(&["plan", "--detailed-exitcode"], 0);
    assert_eq!(held["addons"], json!([]));
    assert_eq!(lab.server.writes(), Vec::<String>::new(), "nor is written");
}

pub(crate) fn definitions_come_before_what_they_define_and_accounts_before_pods(lab: &Lab) {
    lab.reported(&["apply", "networking.projectcalico"], 0);
    let writes = lab.server.writes();
    let at = |word: &str| writes.iter().position(|written| written.starts_with(word));
    let last = |word: &str| writes.iter().rposition(|written| written.starts_with(word));
    let definitions = last("CustomResourceDefinition/");
    assert!(definitions.is_some(), "{writes:?}");
    assert!(definitions < at("ServiceAccount/"), "{writes:?}");
    assert!(last("ServiceAccount/") < at("DaemonSet/"), "{writes:?}");
    let noted = last("Namespace/kube-system");
    assert_eq!(noted, Some(writes.len() - 1), "noted last");
}

pub(crate) fn a_newer_manifest_changes_only_what_changed(lab: &Lab) {
    lab.reported(&["apply", "--all"], 0);
    lab.server.writes();
    lab.edit(
        "limit-range.addons.k8s.io/v1.5.0.yaml",
        "cpu: 100m",
        "cpu: 150m",
    );
    // Without a hash of its own, or the store would be taken to be being written.
    lab.edit(
        "bootstrap-channel.yaml",
        "manifestHash: 686cc69e559a1c6f5e8b94e38de54a575a25c432ed5ceec565244b965fb5f07f",
        "id: newer",
    );
    let planned = lab.say(&["plan", "--detailed-exitcode"]);
    assert_eq!(planned.status, 2, "{}", planned.text());
    for word in [
        "100m -> 150m",
        "Plan: 0 to create, 1 to change, 0 to remove",
    ] {
        assert!(planned.stdout.contains(word), "{}", planned.text());
    }
    let is_alone = !planned.stdout.contains("coredns");
    assert!(is_alone, "only this one is due: {}", planned.stdout);
    let applied = lab.reported(&["apply", "limit-range"], 0);
    assert_eq!(sum(&applied, "changed"), 1, "{applied}");
    let writes = lab.server.writes();
    assert_eq!(
        writes,
        ["LimitRange/default/limits", "Namespace/kube-system"]
    );
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/kube-system/deployments";

fn deployment(name: &str, addon: &str) -> Value {
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
}

pub(crate) fn what_is_marked_is_removed_and_nothing_else(lab: &Lab) {
    lab.reported(&["apply", "--all"], 0);
    for (name, addon) in [
        ("old-handler", "node-termination-handler.aws"),
        ("old-dns", "coredns.addons.k8s.io"),
    ] {
        lab.server.put(DEPLOYMENTS, &deployment(name, addon));
    }
    lab.server.writes();
    lab.reported(&["apply", "--all"], 0);
    assert!(
        !lab.has("deployments", "old-handler"),
        "its channel says so"
    );
    assert!(lab.has("deployments", "old-dns"), "nobody says so");
    let writes = lab.server.writes();
    assert_eq!(writes, ["Deployment/kube-system/old-handler"]);
    // An add-on that the channel does not name any more stays.
    lab.change("bootstrap-channel.yaml", |text| {
        let from = text.find("  - id: k8s-1.12\n    manifest: coredns");
        let from = from.expect("it is there");
        let next = text[from + 4..].find("  - ").expect("another follows");
        format!("{}{}", &text[..from], &text[from + 4 + next..])
    });
    lab.reported(&["apply", "--all"], 0);
    assert!(lab.has("deployments", "coredns"));
    assert_eq!(lab.server.writes(), Vec::<String>::new());
}

pub(crate) fn one_object_that_is_refused_holds_up_nothing_else_and_is_named(lab: &Lab) {
    let why = "images must come from our registry";
    let refusal = lab.server.refuse_deployment("coredns", why);
    let ended = lab.run(&["apply", "--all"]);
    assert_eq!(ended.status, 78, "{}", ended.text());
    for word in [
        "Deployment/kube-system/coredns",
        "addons.object-refused",
        "policy.example.com",
        why,
    ] {
        assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout);
    }
    assert!(!lab.has("deployments", "coredns"));
    let rest = lab.has("deployments", "coredns-autoscaler");
    assert!(rest, "the rest of it is applied");
    assert!(
        lab.has("daemonsets", "ebs-csi-node"),
        "and so are the others"
    );
    let noted = lab.noted();
    let name = "addons.k8s.io/coredns.addons.k8s.io".to_owned();
    assert!(!noted.contains(&name), "{noted:?}");
    assert_eq!(noted.len(), 8, "{noted:?}");
    lab.server.allow(refusal);
    lab.reported(&["apply", "--all"], 0);
    assert!(lab.has("deployments", "coredns"));
    assert!(lab.noted().contains(&name));
}

pub(crate) fn a_definition_that_never_is_established_is_named_and_the_rest_is_applied(lab: &Lab) {
    lab.server.never_establish_pools();
    let ended = lab.run(&["apply", "--all"]);
    assert_eq!(ended.status, 75, "{}", ended.text());
    for word in [
        "addons.crd-not-established",
        "ippools.crd.projectcalico.org",
    ] {
        assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout);
    }
    assert!(lab.has("daemonsets", "calico-node"));
    assert!(lab.has("deployments", "coredns"));
}

/// Fields are the channel's, whoever set them; what the channel does not say stays another's.
pub(crate) fn a_field_that_another_holds_is_taken_and_what_is_not_said_is_left(lab: &Lab) {
    let mut theirs = deployment("coredns", "another");
    theirs["metadata"]["annotations"] = json!({ "theirs": "yes" });
    theirs["metadata"]["labels"]["theirs"] = "yes".into();
    theirs["spec"]["selector"] = json!({"matchLabels": {"k8s-app": "kube-dns"}});
    theirs["spec"]["template"]["metadata"]["labels"] = json!({"k8s-app": "kube-dns"});
    lab.server.put(DEPLOYMENTS, &theirs);
    lab.reported(&["apply", "coredns"], 0);
    let found = lab.server.get(&format!("{DEPLOYMENTS}/coredns"));
    let found = found.expect("it is there");
    let labels = &found["metadata"]["labels"];
    assert_eq!(labels["addon.kops.k8s.io/name"], "coredns.addons.k8s.io");
    assert_eq!(labels["theirs"], "yes");
    assert_eq!(found["metadata"]["annotations"]["theirs"], "yes");
    let containers = &found["spec"]["template"]["spec"]["containers"];
    let names = containers.as_array().expect("a list").iter();
    let names: Vec<_> = names.map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&Some("coredns")), "{names:?}");
    assert!(names.contains(&Some("c")), "another's: {names:?}");
    lab.server.writes();
    lab.reported(&["apply", "coredns"], 0);
    assert_eq!(lab.server.writes(), Vec::<String>::new());
}

pub(crate) fn a_server_that_throttles_is_asked_again(lab: &Lab) {
    let full = lab.server.throttle();
    let running = lab.start(&["apply", "--all"]);
    // It is told to come again before anything is served.
    pause(Duration::from_secs(2));
    lab.server.let_through(full);
    let ended = running.end(LIMIT);
    assert_eq!(ended.status, 0, "{}", ended.text());
    assert!(lab.noted().len() >= 9, "{:?}", lab.noted());
}

pub(crate) fn a_server_that_is_down_is_named_and_served_when_it_is_back(lab: &Lab) {
    lab.server.take_down();
    let ended = lab.run(&["apply", "--all"]);
    assert_eq!(ended.status, 75, "{}", ended.text());
    assert!(
        ended.text().contains("addons.api-unreachable"),
        "{}",
        ended.text()
    );
    lab.server.bring_back();
    lab.reported(&["apply", "--all"], 0);
}

pub(crate) fn a_run_that_is_killed_after_any_write_is_finished_by_the_next(lab: &Lab) {
    // Each run is let go on further than the one before, which ended in its first writes.
    for writes in [1, 2, 4, 8, 16, 32] {
        let mut running = lab.start(&["apply", "--all"]);
        let mut seen = 0;
        let is_far = wait_until(LIMIT, || {
            seen += lab.server.writes().len();
            seen >= writes || running.has_ended()
        });
        assert!(is_far, "{seen} of {writes} writes");
        running.kill();
    }
    lab.reported(&["apply", "--all"], 0);
    let listed = lab.reported(&["list"], 0);
    assert_eq!(listed["allApplied"], true, "{listed}");
    let held = lab.reported(&["plan", "--detailed-exitcode"], 0);
    assert_eq!(held["addons"], json!([]));
    lab.server.writes();
    let again = lab.reported(&["apply", "--all"], 0);
    assert_eq!(sum(&again, "changed"), 0, "{again}");
    assert_eq!(lab.server.writes(), Vec::<String>::new());
}
