//! What an image builder and an operator do with a store: bundles, collections, checks, lists and releases.

use crate::fixtures::{Fixture, STORE, flip, kept_files, requests};
use quake_integration::agent::{self, Ended};
use quake_integration::http::{Reply, Server};
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_bundle_carries_a_seed_to_where_no_mirror_is() {
    let fixture = Fixture::new();
    let mirror = fixture.mirror();
    fixture.pin(&mirror);
    let (state, empty) = (fixture.path("state/kube_env.yaml"), fixture.path("empty"));
    std::fs::create_dir(&empty).unwrap();
    let bundles = [fixture.path("first.qb"), fixture.path("second.qb")];
    for bundle in &bundles {
        let ended = agent::run(&[
            "seed",
            "bundle",
            "--kube-env",
            &state,
            "--root",
            &empty,
            "--out",
            bundle,
        ]);
        assert_eq!(ended.status, 0, "{}", ended.text());
    }
    let bytes = bundles.clone().map(|path| std::fs::read(path).unwrap());
    assert!(
        bytes[0] == bytes[1],
        "two bundles of the same assets differ"
    );
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
    drop(mirror);
    let root = fixture.path("root");
    let load =
        |bundle: &str| agent::run(&["seed", "load", bundle, "--root", &root, "--output", "json"]);
    assert_eq!(load(&bundles[0]).summary()["new"], 3);
    assert_eq!(load(&bundles[0]).summary()["new"], 0);
    fixture.becomes_ready(&root);
    let piped = fixture.path("piped");
    let mut command = Command::new(agent::binary().unwrap());
    command.args(["seed", "load", "-", "--root", &piped]);
    command
        .stdin(File::open(&bundles[0]).unwrap())
        .stdout(Stdio::null());
    assert!(command.status().unwrap().success());
    fixture.becomes_ready(&piped);
    let mut half = Vec::new();
    let length = bytes[0].len() as u64 / 2;
    bytes[0]
        .as_slice()
        .take(length)
        .read_to_end(&mut half)
        .unwrap();
    std::fs::write(&bundles[1], half).unwrap();
    let ended = agent::run(&["seed", "load", &bundles[1], "--root", &fixture.path("cut")]);
    assert_eq!(ended.status, 78, "{}", ended.text());
    assert!(
        ended.stderr.contains("assets.bundle-damaged"),
        "{}",
        ended.text()
    );
}

#[test]
fn a_collection_keeps_the_sets_of_the_last_two_boots_and_all_that_is_placed() {
    let fixture = Fixture::new();
    let mirror = fixture.mirror();
    let pins = fixture.files.pins(&mirror.base());
    let root = fixture.path("root");
    let sets = Path::new(&root).join(STORE).join("sets");
    let gc = |more: &[&str]| {
        let mut arguments = vec!["store", "gc", "--root", &root, "--output", "json"];
        arguments.extend(more);
        agent::run(&arguments).summary()
    };
    let unwanted = |collected: &Value| collected["unwanted"].as_array().map_or(0, Vec::len);
    // Each boot names one asset less: the kubelet's pin goes last.
    fixture.pin_only(&pins);
    fixture.becomes_ready(&root);
    let noted = std::fs::metadata(sets.join("current.json"))
        .unwrap()
        .modified()
        .unwrap();
    fixture.becomes_ready(&root);
    let again = std::fs::metadata(sets.join("current.json"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(noted, again);
    assert!(!sets.join("previous.json").exists());
    let less: Vec<String> = pins
        .iter()
        .filter(|it| !it.ends_with("kubectl"))
        .cloned()
        .collect();
    fixture.pin_only(&less);
    fixture.boot(&root);
    assert_eq!(unwanted(&gc(&[])), 0);
    let kubelet: Vec<String> = pins
        .iter()
        .filter(|it| it.ends_with("kubelet"))
        .cloned()
        .collect();
    fixture.pin_only(&kubelet);
    fixture.boot(&root);
    assert_eq!(unwanted(&gc(&[])), 1, "{}", gc(&[]));
    let partial = Path::new(&root).join(STORE).join("partial");
    std::fs::create_dir_all(&partial).unwrap();
    std::fs::write(partial.join("sha256-00"), "half").unwrap();
    let dry = gc(&["--dry-run"]);
    assert_eq!(
        (unwanted(&dry), dry["leftovers"].as_array().map(Vec::len)),
        (1, Some(1))
    );
    let placed = Path::new(&root).join("usr/local/bin/kubectl");
    let bytes = std::fs::read(&placed).unwrap();
    assert_eq!(unwanted(&gc(&["--yes"])), 1);
    assert_eq!(unwanted(&gc(&[])), 0);
    assert!(!partial.join("sha256-00").exists());
    assert_eq!(std::fs::read(&placed).unwrap(), bytes);
    let listed = agent::run(&["store", "list", "--root", &root, "--output", "json"]).summary();
    assert_eq!(
        listed["assets"].as_array().map(Vec::len),
        Some(2),
        "{listed}"
    );
}

#[test]
fn an_image_that_carries_the_past_of_its_maker_is_not_verified() {
    let fixture = Fixture::new();
    let mirror = fixture.mirror();
    fixture.pin(&mirror);
    let root = fixture.path("root");
    fixture.seed(&root);
    let verify = || agent::run(&["seed", "verify", "--root", &root, "--output", "json"]);
    assert_eq!(verify().status, 0, "{}", verify().text());
    let key = Path::new(&root).join("etc/ssh/ssh_host_rsa_key");
    std::fs::create_dir_all(key.parent().unwrap()).unwrap();
    std::fs::write(&key, "x").unwrap();
    let staged = Path::new(&root).join(STORE).join("staging/1-0");
    std::fs::create_dir_all(staged.parent().unwrap()).unwrap();
    std::fs::write(&staged, "half").unwrap();
    let ended = verify();
    assert_eq!(ended.status, 1, "{}", ended.text());
    let summary = ended.summary();
    let findings = summary["findings"].as_array().cloned().unwrap_or_default();
    let rules: Vec<&Value> = findings.iter().map(|it| &it["rule"]).collect();
    assert_eq!(rules, ["ssh-host-key", "store-leftover"]);
    flip(&kept_files(&root)[0]);
    let ended = agent::run(&["seed", "verify", "--root", &root, "--allow", "ssh-host-key"]);
    assert_eq!(ended.status, 1, "{}", ended.text());
    assert!(
        ended.stdout.contains("finding: store-broken"),
        "{}",
        ended.text()
    );
}

#[test]
fn a_release_is_pinned_as_its_publishers_say_and_a_mirror_stands_for_them() {
    use sha2::Digest as _;
    let digest = "0f3a59e4c0aae8c2b2a0924d8ace010ebf39f48e";
    let strong = sha2::Sha256::digest("x");
    let strong: String = strong.iter().map(|byte| format!("{byte:02x}")).collect();
    let answer = strong.clone();
    let mirror = Server::start(move |request| match request.path().rsplit_once('.') {
        Some((file, "sha256")) if file.ends_with("kubelet") => Reply::new(200, answer.clone()),
        Some((_, "sha1")) => Reply::new(200, format!("{digest}  file\n")),
        _ => Reply::new(404, ""),
    })
    .unwrap();
    let base = mirror.base();
    let fixture = Fixture::new();
    let state = fixture.path("state");
    let show = |kops: &str| {
        agent::run(&[
            "seed",
            "show",
            "--kops-version",
            kops,
            "--kubernetes-version",
            "1.13.5",
            "--mirror",
            &base,
            "--root",
            &state,
            "--output",
            "json",
        ])
    };
    let digests = |ended: &Ended| -> Vec<String> {
        let assets = ended.summary()["assets"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        assets
            .iter()
            .map(|it| it["digest"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let older = show("1.13.2");
    // Two files with one digest are one asset.
    let plugins = "sha1:52e9d2de8a5f927307d9397308735658ee44ab8d";
    let weak = format!("sha1:{digest}");
    assert_eq!(digests(&older), [&weak, plugins, &weak], "{}", older.text());
    let newer = show("1.15.3");
    assert_eq!(
        digests(&newer)[0],
        format!("sha256:{strong}"),
        "{}",
        newer.text()
    );
    let at =
        "/storage.googleapis.com/kubernetes-release/release/v1.13.5/bin/linux/amd64/kubelet.sha1";
    assert!(requests(&mirror, 0).iter().any(|path| path == at));
    assert_eq!(show("1.16.0").status, 78);
}

#[test]
fn a_list_that_cannot_be_read_is_refused_at_its_place() {
    let fixture = Fixture::new();
    let (root, list) = (fixture.path("root"), fixture.path("list"));
    std::fs::write(&list, "\n  https://mirror.example/kubelet\n").unwrap();
    let ended = agent::run(&["seed", "build", "--list", &list, "--root", &root]);
    assert_eq!(ended.status, 78, "{}", ended.text());
    for part in ["config.digest-refused", "line: 2", "column: 3"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.text());
    }
}
