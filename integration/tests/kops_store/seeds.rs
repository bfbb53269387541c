//! `seed` from a state store alone, from user data together with it, and of nothing.

use quake_integration::kops_copy::{CLUSTERS, Copied, Shape, mirror, run};
use quake_integration::skip::conformance;
use serde_json::Value;
use std::fs;

#[test]
fn a_group_is_seeded_shown_verified_and_bundled() {
    let Some(assets) = conformance("kops/assets") else {
        return;
    };
    let mirror = mirror(assets);
    for case in &CLUSTERS[..5] {
        let Some(copied) = Copied::new(case, Shape::Bucket) else {
            return;
        };
        copied.point_at(&mirror);
        for group in ["nodes", "master-us-test-1a"] {
            let image = copied.at(&format!("image-{group}"));
            let of = ["--state-store", &copied.store, "--instance-group", group];
            let at = ["--root", image.as_str(), "--output", "json"];
            let build = run(&[&["seed", "build"], &of[..], &at].concat(), 0);
            assert!(build.stderr.contains("are amd64"), "{}", build.stderr);
            let shown = run(&[&["seed", "show"], &of[..], &at].concat(), 0).summary();
            let held = shown["held"].as_u64().unwrap_or_default();
            assert!(held >= 5, "{case} {group}: {shown}");
            let verified = run(&[&["seed", "verify"], &at[..]].concat(), 0).summary();
            assert_eq!(verified["good"], Value::Bool(true), "{verified}");
            let bundle = copied.at("bundle");
            let out = ["--out", bundle.as_str()];
            let bundled = run(&[&["seed", "bundle"], &of[..], &at, &out].concat(), 0);
            assert!(bundled.stdout.contains("sha256"), "{}", bundled.stdout);
        }
    }
}

#[test]
fn user_data_alone_says_what_else_to_name() {
    for case in CLUSTERS {
        let Some(copied) = Copied::new(case, Shape::Buckets) else {
            return;
        };
        for group in ["nodes", "master-us-test-1a"] {
            let kube_env = copied.kube_env(group);
            let image = copied.at("image");
            fs::create_dir_all(&image).expect("a directory of ours");
            let show = ["seed", "show", "--root", &image, "--kube-env", &kube_env];
            let alone = run(&show, 64);
            let wanted = format!("--cluster {}", copied.cluster);
            assert!(
                alone.stderr.contains("--state-store s3://") && alone.stderr.contains(&wanted),
                "{}",
                alone.stderr
            );
            let with = ["--state-store", &copied.store, "--arch", "both"];
            let shown = run(&[&show[..], &with].concat(), 0);
            assert!(shown.stdout.contains("kubelet"), "{}", shown.stdout);
        }
    }
}

#[test]
fn user_data_of_an_older_configuration_is_refused() {
    let Some(copied) = Copied::new("minimal-1.34", Shape::Cluster) else {
        return;
    };
    let file = copied.base.join("igconfig/node/nodes/nodeupconfig.yaml");
    let text = fs::read_to_string(&file).expect("the file is there");
    fs::write(&file, format!("{text}# newer\n")).expect("a directory of ours");
    let kube_env = copied.kube_env("nodes");
    let image = copied.at("image");
    fs::create_dir_all(&image).expect("a directory of ours");
    let words = ["seed", "show", "--root", &image, "--kube-env", &kube_env];
    let ended = run(
        &[&words[..], &["--state-store", &copied.store]].concat(),
        78,
    );
    assert!(
        ended.stderr.contains("config.hash-mismatch"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_image_without_a_seed_is_not_verified_unless_that_is_meant() {
    let image = tempfile::tempdir().expect("a temporary directory");
    let image = image.path().to_str().expect("a plain path");
    let ended = run(&["seed", "verify", "--root", image], 1);
    assert!(
        ended.stdout.contains("there is nothing to verify"),
        "{}",
        ended.text()
    );
    let allowed = ["seed", "verify", "--root", image, "--allow", "empty-store"];
    run(&allowed, 0);
}
