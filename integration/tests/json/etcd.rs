//! The commands of `etcd`, on a backup store in a directory and on recorded output of the AWS CLI.

use crate::ground::Ground;
use serde_json::{Value, json};
use std::path::Path;

const NEWEST: &str = "2026-11-26T01:00:00Z-000002";
const BEFORE: &str = "2026-11-25T01:00:00Z-000001";

/// A cluster of three members on new, empty volumes: all of its data is lost.
const CLUSTER: &str = "apiVersion: kops.k8s.io/v1alpha2
kind: Cluster
metadata: {name: c.example}
spec:
  configBase: s3://b/c.example
  etcdClusters:
  - name: main
    version: 3.4.23
    backups: {backupStore: s3://b/c.example/backups/etcd/main}
    etcdMembers: [{name: a}, {name: b}, {name: c}]
";

/// What an operator says who knows that etcd is down, where nobody can ask it.
const DOWN: &str = "--replace-healthy-quorum";

fn volume(member: &str) -> Value {
    let tag = |key: &str, value: &str| json!({"Key": key, "Value": value});
    let (id, instance) = (format!("vol-0{member}"), format!("i-0{member}"));
    let held =
        json!({"InstanceId": instance, "VolumeId": id, "State": "attached", "Device": "/dev/xvdu"});
    json!({
        "VolumeId": id, "AvailabilityZone": "us-east-1a", "State": "in-use", "Size": 20,
        "CreateTime": "2026-11-26T02:11:12Z", "Attachments": [held], "VolumeType": "gp3",
        "Tags": [
            tag("KubernetesCluster", "c.example"), tag("k8s.io/role/master", "1"),
            tag("k8s.io/etcd/main", &format!("{member}/a,b,c")),
        ],
    })
}

pub(crate) fn backups_listed_and_one_restored(ground: &Ground) {
    let lost = ["a", "b", "c"].map(volume);
    let volumes = json!({ "Volumes": lost });
    ground.write("lost.json", &volumes.to_string());
    ground.write("etcd/b/c.example/cluster-completed.spec", CLUSTER);
    let store = "etcd/b/c.example/backups/etcd/main";
    let spec = r#"{"memberCount":3,"etcdVersion":"3.4.23"}"#;
    ground.write(&format!("{store}/control/etcd-cluster-spec"), spec);
    let snapshot = "../agent/volumes/tests/volumes/snapshots/main-3.4.db.gz";
    let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join(snapshot);
    for name in [NEWEST, BEFORE] {
        let meta = format!(r#"{{"etcdVersion":"3.4.23","clusterSpec":{spec}}}"#);
        ground.write(&format!("{store}/{name}/_etcd_backup.meta"), &meta);
        let data = ground.at(&format!("{store}/{name}/etcd.backup.gz"));
        std::fs::copy(&snapshot, data).expect("the directory is ours");
    }
    ground.write("no-programs/empty", "");
    let run = |line: &str| {
        let place = "--state-store {etcd} --recorded {lost.json} --etcd-bin {no-programs}";
        ground.run(&format!("etcd {line} {place}"))
    };
    let listed = run(&format!("backups --verify {NEWEST}"));
    assert_eq!(listed.status, 0, "{}", listed.text());
    let listed: Value = serde_json::from_str(&listed.stdout).expect("it is JSON");
    let newest = &listed["etcdClusters"][0]["backups"][0];
    assert_eq!(newest["name"], NEWEST);
    assert_eq!(
        newest["verifiedBy"], "checksum",
        "this host has no etcd for it"
    );
    assert_eq!(listed["verified"]["snapshot"]["keys"], 11);
    let planned = run(&format!("restore --plan {DOWN}"));
    assert_eq!(planned.status, 0, "{}", planned.text());
    let planned: Value = serde_json::from_str(&planned.stdout).expect("it is JSON");
    let words = planned["consent"].as_str().expect("words of consent");
    let execute = planned["next"][1].as_str().expect("a command");
    assert!(
        execute.ends_with(&format!("{DOWN} --consent {words}")),
        "{execute}"
    );
    let done = run(&format!("restore --execute {DOWN} --consent {words}"));
    assert_eq!(done.status, 0, "{}", done.text());
    let done: Value = serde_json::from_str(&done.stdout).expect("it is JSON");
    let command = done["restored"]["command"].as_str().expect("a command");
    assert!(command.ends_with("_command.json"), "{command}");
}

/// What is refused prints a fault and no object.
pub(crate) fn restores_refused(ground: &Ground) {
    let store = ground.path("etcd");
    let recorded = ground.path("lost.json");
    let programs = ground.path("no-programs");
    let place = [
        "--state-store",
        &store,
        "--recorded",
        &recorded,
        "--etcd-bin",
        &programs,
    ];
    for (more, status, code) in [
        (vec!["--backup", BEFORE], 80, "etcd.snapshots-mixed"),
        (vec!["--plan"], 80, "etcd.quorum-healthy"),
        (vec!["--rehearse"], 78, "etcd.programs-missing"),
        (vec!["--execute", DOWN], 64, "--consent"),
        (
            vec!["--execute", DOWN, "--consent", "main@x"],
            64,
            "not about this restore",
        ),
    ] {
        let mut words = vec!["etcd", "restore"];
        words.extend(more);
        words.extend(place);
        let ended = quake_integration::agent::run(&words);
        assert_eq!(ended.status, status, "{words:?}: {}", ended.text());
        assert!(ended.text().contains(code), "{words:?}: {}", ended.text());
    }
}
