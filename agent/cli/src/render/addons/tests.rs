//! What is shown of made-up add-ons.

use super::*;
use anstream::adapter::strip_str;
use quake_engine::addons::ObjectFailed;
use quake_model::fault::Code;

fn version(id: &str, hash: &str) -> AddonVersion {
    AddonVersion {
        id: id.to_owned(),
        version: String::new(),
        manifest_hash: hash.to_owned(),
    }
}

fn refused() -> Fault {
    let summary = "Deployment/kube-system/coredns: spec.replicas: Invalid value: -1";
    Fault::new(Code::AddonsObjectRefused, summary).seen("object", "Deployment/kube-system/coredns")
}

fn status(name: &str, state: AddonState, applied: Option<AddonVersion>) -> AddonStatus {
    AddonStatus {
        name: name.to_owned(),
        state,
        wanted: version("k8s-1.12", "c89f00f91983d51347e9"),
        applied,
        fault: (state == AddonState::Failed).then(refused),
        ..AddonStatus::default()
    }
}

fn listed() -> Listed {
    let applied = version("k8s-1.12", "c89f00f91983d51347e9");
    Listed {
        channels: vec!["s3://b/c/addons/bootstrap-channel.yaml".to_owned()],
        server: "1.35.0".to_owned(),
        reconciler: Some(ReconcilerRef::Other {
            holder: "i-0a1b".to_owned(),
        }),
        addons: vec![
            status("calico", AddonState::Applied, Some(applied)),
            status("coredns", AddonState::Failed, Some(version("k8s-1.6", ""))),
            status("dns", AddonState::Waiting, None),
        ],
        skipped: vec![("old".to_owned(), "it is for Kubernetes <1.6.0".to_owned())],
        warnings: Vec::new(),
    }
}

fn planned() -> Vec<PlannedAddon> {
    let object = |object: &str, what| ObjectPlanned {
        object: object.to_owned(),
        what,
    };
    let field = |path: &str, before: Option<&str>, after: Option<&str>| FieldChange {
        path: path.to_owned(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
    };
    let fields = vec![
        field("spec.replicas", Some("1"), Some("2")),
        field("data.Corefile", None, Some("a\nb")),
        field("spec.old", Some("x"), None),
    ];
    let of = |name: &str, objects| PlannedAddon {
        name: name.to_owned(),
        wanted: version("b", ""),
        applied: Some(version("a", "")),
        objects,
    };
    vec![
        of(
            "coredns",
            Ok(vec![
                object("ServiceAccount/kube-system/coredns", Planned::Nothing),
                object("ConfigMap/kube-system/new", Planned::Create),
                object("Deployment/kube-system/coredns", Planned::Change(fields)),
                object("Deployment/kube-system/bad", Planned::Unknown(refused())),
                object("ConfigMap/kube-system/old", Planned::Remove),
            ]),
        ),
        of(
            "dns",
            Err(Fault::new(Code::AddonsChannelUnreadable, "s3://b/c: gone")),
        ),
    ]
}

fn applied() -> Vec<AppliedAddon> {
    let done = |failed| AddonApplied {
        objects: 9,
        changed: 2,
        pruned: 1,
        failed,
    };
    let failed = vec![ObjectFailed {
        object: "Deployment/kube-system/coredns".to_owned(),
        fault: refused(),
    }];
    let of = |name: &str, applied| AppliedAddon {
        name: name.to_owned(),
        wanted: version("b", ""),
        applied,
    };
    vec![
        of("calico", Ok(done(Vec::new()))),
        of("coredns", Ok(done(failed))),
        of(
            "dns",
            Err(Fault::new(Code::AddonsChannelUnreadable, "s3://b/c: gone")),
        ),
    ]
}

fn has_lines(text: &str, lines: &[&str]) {
    let text = strip_str(text).to_string();
    for line in lines {
        assert!(text.lines().any(|it| it == *line), "{line} in\n{text}");
    }
}

#[test]
fn the_list_tells_how_each_stands_and_why_one_failed() {
    has_lines(
        &listed_text(&listed()),
        &[
            "ADD-ON   STATE    WANTED                 APPLIED",
            "calico   applied  k8s-1.12 c89f00f91983  k8s-1.12 c89f00f91983",
            "coredns  failed   k8s-1.12 c89f00f91983  k8s-1.6",
            "dns      waiting  k8s-1.12 c89f00f91983  -",
            "3 add-ons for Kubernetes 1.35.0: 1 applied, 1 due, 1 failed",
            "applied by: i-0a1b",
            "error: addons.object-refused: Deployment/kube-system/coredns: spec.replicas: Invalid value: -1",
        ],
    );
}

#[test]
fn the_list_for_programs_has_its_schema_and_everything_of_the_text() {
    let value = listed_json(&listed());
    assert_eq!(value["schemaVersion"], "quake-agent/addons/v1");
    assert_eq!(value["allApplied"], false);
    assert_eq!(
        value["reconciler"],
        json!({"who": "other", "holder": "i-0a1b"})
    );
    assert_eq!(value["addons"][1]["state"], "failed");
    assert_eq!(value["addons"][1]["fault"]["code"], "addons.object-refused");
    assert_eq!(value["skipped"][0]["name"], "old");
}

#[test]
fn the_list_tells_what_is_odd_about_a_manifest_that_was_applied() {
    let mut listed = listed();
    let odd = Fault::new(Code::AddonsManifestMismatch, "it has another hash");
    listed.addons[0].warnings.push(odd);
    let text = strip_str(&listed_text(&listed)).to_string();
    let reported = "\ncalico\nwarning: addons.manifest-mismatch: it has another hash\n";
    assert!(text.contains(reported), "{text}");
    let json = listed_json(&listed);
    let code = &json["addons"][0]["warnings"][0]["code"];
    assert_eq!(code, "addons.manifest-mismatch");
}

#[test]
fn the_plan_tells_of_each_object_what_would_become_of_it() {
    let text = planned_text(&planned());
    has_lines(
        &text,
        &[
            "coredns  a -> b",
            "  + ConfigMap/kube-system/new",
            "  ~ Deployment/kube-system/coredns",
            "      spec.replicas: 1 -> 2",
            "      data.Corefile: + a\\nb",
            "      spec.old: - x",
            "  ? Deployment/kube-system/bad",
            "  - ConfigMap/kube-system/old",
            "    error: addons.channel-unreadable: s3://b/c: gone",
            "Plan: 1 to create, 1 to change, 1 to remove, 1 unchanged, 2 not known.",
        ],
    );
    assert!(!text.contains("ServiceAccount"), "{text}");
}

#[test]
fn the_plan_for_programs_counts_what_would_change() {
    let planned = planned();
    let value = planned_json(&planned, &[]);
    assert_eq!(value["schemaVersion"], "quake-agent/addons-plan/v1");
    assert_eq!((&value["changes"], changes(&planned)), (&json!(3), 3));
    let objects = &value["addons"][0]["objects"];
    assert_eq!(objects[0]["what"], "hold");
    assert_eq!(
        objects[2]["fields"][0],
        json!({"path": "spec.replicas", "before": "1", "after": "2"})
    );
    assert_eq!(objects[3]["fault"]["code"], "addons.object-refused");
    assert_eq!(
        value["addons"][1]["fault"]["code"],
        "addons.channel-unreadable"
    );
    assert_eq!(
        first_unknown(&planned).map(|fault| fault.code),
        Some(Code::AddonsObjectRefused)
    );
}

#[test]
fn what_was_applied_is_told_with_all_that_failed() {
    has_lines(
        &applied_text(&applied()),
        &[
            "calico  b  applied: 9 objects, 2 changed, 1 removed",
            "coredns  b  failed: 9 objects, 2 changed, 1 removed, 1 failed",
            "  Deployment/kube-system/coredns",
            "dns  b  failed",
        ],
    );
    let nobody = LeaseState {
        lease: Ok(None),
        reconciler: None,
    };
    let value = applied_json(&applied(), &nobody);
    assert_eq!(value["schemaVersion"], "quake-agent/addons-apply/v1");
    assert_eq!(value["allApplied"], false);
    assert_eq!(
        value["addons"][1]["failed"][0]["fault"]["code"],
        "addons.object-refused"
    );
    assert_eq!(
        first_failure(&applied()).map(|fault| fault.code),
        Some(Code::AddonsObjectRefused)
    );
}
