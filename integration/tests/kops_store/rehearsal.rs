//! `rehearse` and `plan` of instance groups that only the state store describes.

use quake_integration::agent::{self, Ended};
use quake_integration::kops_copy::{CLUSTERS, Copied, SHAPES, Shape, copy, run};
use std::fs;

fn rehearse(words: &[&str], root: &str) -> Ended {
    let end = ["--root", root, "--exit-when-ready", "--listen", "off"];
    let words = [&["rehearse"], words, &end, &["--output", "json"]].concat();
    agent::run(&words)
}

/// Rehearses twice; what is not as it should be.
fn finding(copied: &Copied, group: &str) -> Option<String> {
    let words = [copied.store.as_str(), "--instance-group", group];
    let root = copied.at(&format!("root-{group}"));
    let first = rehearse(&words, &root);
    let said = first.stderr.contains("assumed: ");
    if first.status != 0 || first.summary()["result"] != "ready" || !said {
        return Some(format!("{} {group}: {}", copied.store, first.text()));
    }
    let again = rehearse(&words, &root).summary();
    let is_still = again["result"] == "ready" && again["writes"] == 0;
    (!is_still).then(|| format!("{group}: once more: {again}"))
}

#[test]
fn every_group_is_rehearsed_from_a_copy_of_each_shape_and_then_changes_nothing() {
    for (case, shape) in CLUSTERS.into_iter().zip(SHAPES.into_iter().cycle()) {
        let Some(copied) = Copied::new(case, shape) else {
            return;
        };
        let groups = copied.groups();
        assert!(groups.len() >= 2, "{case}: {groups:?}");
        for (_, group) in groups {
            assert_eq!(finding(&copied, &group), None, "{case} {shape:?}");
        }
    }
}

#[test]
fn a_plan_shows_what_a_boot_would_write() {
    for case in CLUSTERS {
        let Some(copied) = Copied::new(case, Shape::Cluster) else {
            return;
        };
        for group in ["nodes", "master-us-test-1a"] {
            let store = copied.store.as_str();
            let words = ["plan", store, "--instance-group", group];
            let ended = run(&[&words[..], &["--detailed-exitcode"]].concat(), 2);
            assert!(
                ended.stdout.contains("/etc/systemd/system/kubelet.service")
                    || ended.stdout.contains("kubelet.service"),
                "{case} {group}: {}",
                ended.stdout
            );
        }
    }
}

#[test]
fn without_a_key_of_the_ca_a_stand_in_signs_and_that_is_said() {
    let Some(copied) = Copied::new("minimal-1.34", Shape::Cluster) else {
        return;
    };
    let keyset = copied.base.join("pki/private/kubernetes-ca/keyset.yaml");
    let text = fs::read_to_string(&keyset).expect("the file is there");
    let public = text
        .lines()
        .filter(|line| !line.contains("privateMaterial"));
    fs::write(&keyset, public.collect::<Vec<_>>().join("\n")).expect("a directory of ours");
    assert_eq!(finding(&copied, "nodes"), None);
    let words = [copied.store.as_str(), "--instance-group", "nodes"];
    let ended = rehearse(&words, &copied.at("root-nodes"));
    assert!(
        ended
            .stderr
            .contains("a stand-in CA signs in this rehearsal"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_else_to_name_is_said_with_the_names_there_are() {
    let (Some(one), Some(other)) = (
        Copied::new("ha", Shape::Cluster),
        Copied::new("privatecalico", Shape::Cluster),
    ) else {
        return;
    };
    let said = |words: &[&str], parts: &[&str]| {
        let ended = run(words, 64);
        for part in parts {
            assert!(ended.stderr.contains(part), "{part} in {}", ended.stderr);
        }
    };
    said(
        &["rehearse", &one.store],
        &["--instance-group", "master-us-test-1a, master-us-test-1b"],
    );
    said(
        &["rehearse", &one.store, "--instance-group", "workers"],
        &["workers", "it has: master-us-test-1a", "nodes"],
    );
    let several = one.at("several");
    for (copied, name) in [(&one, "a"), (&other, "b")] {
        copy(&copied.base, &std::path::Path::new(&several).join(name));
    }
    let both = format!("{}, {}", one.cluster, other.cluster);
    let words = ["rehearse", &several, "--instance-group", "nodes"];
    said(&words, &["--cluster", &both]);
    let absent = [&words[..], &["--cluster", "none.example.com"]].concat();
    said(&absent, &["there is no cluster none.example.com", &both]);
    let empty = one.at("empty");
    fs::create_dir(&empty).expect("a directory of ours");
    said(
        &["rehearse", &empty, "--instance-group", "nodes"],
        &["cluster-completed.spec", "cluster.spec"],
    );
}

#[test]
fn another_distribution_is_rehearsed_where_it_is_named() {
    let Some(copied) = Copied::new("minimal-1.35", Shape::Buckets) else {
        return;
    };
    let identity = copied.at("identity.json");
    let facts =
        r#"{"instanceId": "i-1", "availabilityZone": "us-test-1a", "instanceType": "m5.large""#;
    let with = |more: &str| {
        fs::write(&identity, format!("{facts}, {more}}}")).expect("a directory of ours");
        let words = [
            copied.store.as_str(),
            "--instance-group",
            "nodes",
            "--identity",
            &identity,
        ];
        let root = tempfile::tempdir().expect("a temporary directory");
        rehearse(&words, root.path().to_str().expect("a plain path"))
    };
    let unknown = with(r#""distro": "amazonlinux-2023""#);
    assert_eq!(unknown.status, 64, "{}", unknown.text());
    assert!(unknown.stderr.contains("`distro`"), "{}", unknown.stderr);
    let amazon = with(r#""distribution": "amazonlinux-2023""#);
    assert_eq!(amazon.status, 0, "{}", amazon.text());
    let other = with(r#""distribution": "debian-8""#);
    assert!(
        other.stdout.contains("identity.os-unsupported"),
        "{}",
        other.text()
    );
    let release = copied.at("os-release");
    fs::write(&release, "ID=ubuntu\nVERSION_ID=\"24.04\"\n").expect("a directory of ours");
    let words = [
        copied.store.as_str(),
        "--instance-group",
        "nodes",
        "--os-release",
        &release,
    ];
    let ubuntu = rehearse(&words, &copied.at("ubuntu"));
    assert_eq!(ubuntu.status, 0, "{}", ubuntu.text());
}
