//! On recorded output of the AWS CLI, and on recorded worlds.

use crate::document;
use quake_integration::agent::{self, Ended};
use quake_integration::skip::conformance;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

const CREATED: &str = "2020-01-03T10:11:12.345000+00:00";

/// A volume as `aws ec2 describe-volumes` prints it.
fn volume(id: &str, etcd: &str, created: &str) -> Value {
    let tag = |key: &str, value: &str| json!({"Key": key, "Value": value});
    json!({
        "VolumeId": id, "AvailabilityZone": "us-east-1a", "State": "available", "Size": 20,
        "CreateTime": created, "Attachments": [], "VolumeType": "gp2",
        "Tags": [
            tag("KubernetesCluster", "c.example"), tag("k8s.io/role/master", "1"),
            tag(&format!("k8s.io/etcd/{etcd}"), "a/a"),
        ],
    })
}

/// Two volumes for `main/a`, and one that lacks the tag of its role.
fn duplicates() -> Value {
    let mut near = volume("vol-0cc", "events", CREATED);
    near["Tags"].as_array_mut().expect("it is one").remove(1);
    let old = volume("vol-0bb", "main", "2019-11-20T08:00:00Z");
    json!({ "Volumes": [volume("vol-0aa", "main", CREATED), old, near] })
}

fn file(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("the directory is ours");
    plain(&path)
}

fn plain(path: &Path) -> String {
    let text = path.to_str();
    text.expect("a temporary directory has a plain name")
        .to_owned()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn on_recording(recording: &str, verb: &[&str], more: &[&str]) -> Ended {
    let mut arguments = vec!["volumes"];
    arguments.extend(verb);
    arguments.extend(["--recorded", recording]);
    arguments.extend(more);
    agent::run(&arguments)
}

#[test]
fn a_recording_is_listed_with_class_and_rule() {
    let folder = folder();
    let recording = file(&folder, "volumes.json", &duplicates().to_string());
    let listed = on_recording(&recording, &["list"], &["--output", "json"]);
    let rows = &document(&listed)["volumes"];
    let ids: Vec<&Value> = rows
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| &row["id"])
        .collect();
    assert_eq!(ids, ["vol-0aa", "vol-0bb"], "{rows}");
    assert_eq!(rows[0]["slot"], "main/a");
    assert_eq!(
        (&rows[0]["class"], &rows[0]["rule"]),
        (&json!("candidate"), &json!("CANDIDATE"))
    );
    let all = document(&on_recording(
        &recording,
        &["list"],
        &["--all", "--output", "json"],
    ));
    assert_eq!(all["volumes"][2]["rule"], "NOT_CONTROL_PLANE", "{all}");
    let text = on_recording(&recording, &["list"], &[]);
    assert!(text.stdout.starts_with("VOLUME "), "{}", text.text());
}

#[test]
fn an_explanation_names_the_rule_the_losers_the_remedy_and_near_misses() {
    let folder = folder();
    let recording = file(&folder, "volumes.json", &duplicates().to_string());
    let ended = on_recording(&recording, &["explain"], &["--output", "json"]);
    let explained = document(&ended);
    assert_eq!(ended.status, 0, "{}", ended.text());
    let decided = &explained["decisions"][0];
    assert_eq!(
        decided["decisions"]["main/a"]["code"], "E_DUPLICATE_VOLUMES",
        "{explained}"
    );
    assert_eq!(decided["fault"]["code"], "storage.volume-conflict");
    assert_eq!(decided["nearMisses"], json!(["vol-0cc"]));
    let lost = "others have the same tags, and nobody chooses among them";
    assert_eq!(decided["volumes"][0]["why"], lost);
    let text = on_recording(&recording, &["explain", "--slot", "main/a"], &[]).stdout;
    for part in [
        "-> E_DUPLICATE_VOLUMES",
        "quake-agent volumes pin <volume id> --slot main/a --yes",
        "near misses: vol-0cc (NOT_CONTROL_PLANE)",
        "stale volumes are not found",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn the_birth_of_the_cluster_tells_a_stale_volume_from_ours() {
    let folder = folder();
    let recording = json!({ "Volumes": [volume("vol-0bb", "main", "2019-11-20T08:00:00Z")] });
    let recording = file(&folder, "volumes.json", &recording.to_string());
    let born = ["--cluster-born", "2020-01-03T10:05:11Z", "--output", "json"];
    let explained = document(&on_recording(&recording, &["explain"], &born));
    let main = &explained["decisions"][0]["decisions"]["main/a"];
    assert_eq!(main["code"], "E_PREDATES_CLUSTER", "{explained}");
    let uid = ["--cluster-uid", "U", "--output", "json"];
    let adopt: Vec<&str> = born[..2].iter().chain(&uid).copied().collect();
    let shown = document(&on_recording(&recording, &["adopt", "vol-0bb"], &adopt));
    assert_eq!(
        shown["tags"][0]["after"]["quake.io/etcd-adopt"], "U",
        "{shown}"
    );
    let after = &shown["decisions"][0]["after"]["main/a"];
    assert_eq!(
        (&after["code"], &shown["written"]),
        (&json!("OK_ATTACH"), &json!(false))
    );
}

#[test]
fn a_choice_shows_tags_and_decisions_before_and_after_and_writes_nothing_by_itself() {
    let folder = folder();
    let recording = file(&folder, "volumes.json", &duplicates().to_string());
    let ended = on_recording(&recording, &["pin", "vol-0aa", "--slot", "main/a"], &[]);
    assert_eq!(ended.status, 0, "{}", ended.text());
    for line in [
        "  + quake.io/etcd-pin=main/a",
        "  - main/a: REFUSE - by E_DUPLICATE_VOLUMES (vol-0aa, vol-0bb)",
        "  + main/a: ATTACH vol-0aa by OK_ATTACH",
        "nothing was written; --yes writes these tags",
    ] {
        assert!(ended.stdout.contains(line), "{line} in {}", ended.stdout);
    }
}

#[test]
fn every_form_that_a_report_names_is_a_command() {
    let folder = folder();
    let recording = file(&folder, "volumes.json", &duplicates().to_string());
    for form in [
        &["pin", "vol-0aa", "--slot", "main/a"][..],
        &["ignore", "vol-0aa", "--reason", "left over"],
        &["unignore", "vol-0aa"],
        &["adopt", "vol-0aa", "--cluster-uid", "U"],
        &[
            "wipe",
            "vol-0aa",
            "--slot",
            "main/a",
            "--i-know-this-is-empty",
        ],
        &["unpin", "vol-0aa"],
    ] {
        let ended = on_recording(&recording, form, &["--dry-run"]);
        assert_eq!(ended.status, 0, "{form:?}: {}", ended.text());
        let both = on_recording(&recording, form, &["--yes"]);
        assert_eq!(
            both.status,
            64,
            "a recording cannot be written: {}",
            both.text()
        );
    }
}

#[test]
fn wrong_input_is_a_wrong_command_line_that_says_what_is_wrong() {
    let folder = folder();
    let recording = file(&folder, "volumes.json", &duplicates().to_string());
    let cut = file(&folder, "cut.json", "{\"Volumes\": [{}]}");
    let elsewhere = ["--cluster", "d.example"];
    let cases: [(&str, &[&str], &[&str], &str); 5] = [
        (
            &recording,
            &["pin", "vol-0zz", "--slot", "main/a"],
            &[],
            "vol-0zz is not among",
        ),
        (
            &recording,
            &["pin", "vol-0aa", "--slot", "main"],
            &[],
            "not a slot such as main/a",
        ),
        (
            &recording,
            &["pin", "vol-0aa", "--slot", "main/b"],
            &[],
            "tagged for main/a, not for main/b",
        ),
        (
            &recording,
            &["list"],
            &elsewhere,
            "there are those of c.example",
        ),
        (&cut, &["list"], &[], "Volumes[0].VolumeId is missing"),
    ];
    for (recording, verb, more, says) in cases {
        let ended = on_recording(recording, verb, more);
        assert_eq!(ended.status, 64, "{}", ended.text());
        assert!(ended.stderr.contains(says), "{says} in {}", ended.stderr);
    }
}

#[test]
fn recorded_worlds_come_to_one_array_and_agree() {
    let Some(folder) = conformance("volumes") else {
        return;
    };
    let scenarios = plain(&folder.join("scenarios.json"));
    let ended = agent::run(&[
        "volumes",
        "explain",
        "--scenarios",
        &scenarios,
        "--output",
        "json",
    ]);
    let outcomes = document(&ended);
    let outcomes = outcomes["scenarios"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    assert_eq!(ended.status, 0, "{}", ended.text());
    assert!(outcomes.len() > 30, "{}", ended.text());
    assert!(
        outcomes
            .iter()
            .all(|it| it["agrees"] == true && it["decisions"].is_object())
    );
}

#[test]
fn a_world_that_comes_to_something_else_is_a_no_and_no_worlds_are_usage() {
    let folder = folder();
    let world = json!([{
        "name": "free", "cluster": "c", "members": [], "volumes": [],
        "self": {"id": "i-1", "state": "running"},
        "expect": {"slots": {"main/a": {"action": "ATTACH", "code": "OK_ATTACH"}}},
    }]);
    let wrong = file(&folder, "wrong.json", &world.to_string());
    let ended = agent::run(&["volumes", "explain", "--scenarios", &wrong]);
    assert_eq!(ended.status, 1, "{}", ended.text());
    assert!(ended.stdout.contains("1 disagree"), "{}", ended.stdout);
    let none = file(&folder, "none.json", "[\n{\"name\": 3}]");
    let ended = agent::run(&["volumes", "explain", "--scenarios", &none]);
    assert_eq!(ended.status, 64, "{}", ended.text());
    assert!(ended.stderr.contains("line 2 column"), "{}", ended.stderr);
}
