//! What an earlier build left is read by this one, under the names of that build: its ledger, its status file and
//! its bundle.

use quake_integration::agent;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Files that a build before 0.1 wrote in a rehearsal.
const EARLIER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/earlier");

/// The steps that the earlier build's boot did, as its ledger has them.
const STEPS: usize = 189;

#[test]
fn a_ledger_and_a_status_of_an_earlier_build_are_read() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let root = folder.path();
    let put = |name: &str, to: &str| {
        let to = root.join(to).join(name);
        fs::create_dir_all(to.parent().expect("it has one")).expect("the directory is ours");
        fs::copy(Path::new(EARLIER).join(name), to).expect("the file is there");
    };
    put(
        "20261123T080533757Z-1748.jsonl",
        "var/lib/quake-agent/boots",
    );
    put("status.json", "run/quake-agent");
    let root = root.to_str().expect("a plain name");
    let run = |command: &str| {
        let ended = agent::run(&[command, "--root", root, "--output", "json"]);
        assert_eq!(ended.status, 0, "{command}: {}", ended.text());
        ended.summary()
    };
    let status = run("status");
    assert_eq!(status["state"], "ready", "{status}");
    let timeline = run("timeline");
    let steps = timeline["steps"].as_array().map(Vec::len);
    assert_eq!(steps, Some(STEPS), "{timeline}");
}

#[test]
fn a_bundle_of_an_earlier_build_shows_what_that_build_found() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let packed = fs::read(Path::new(EARLIER).join("bundle.tar.zst")).expect("it is there");
    let plain = zstd::decode_all(packed.as_slice()).expect("it is packed with zstd");
    let mut archive = tar::Archive::new(plain.as_slice());
    archive.unpack(scratch.path()).expect("it is an archive");
    let report = fs::read(scratch.path().join("report.json")).expect("it has a report");
    let report: Value = serde_json::from_slice(&report).expect("it is JSON");
    let node = scratch.path().join("node");
    let node = node.to_str().expect("a plain name");
    let ended = agent::run(&["diagnose", "--root", node, "--output", "json"]);
    let diagnosed = ended.summary();
    assert_eq!(diagnosed["boot"], report["boot"], "{}", ended.text());
    assert_eq!(diagnosed["node"], report["node"]);
    let failed = |report: &Value| -> Vec<String> {
        let checks = report["checks"].as_array().into_iter().flatten();
        let failed = checks.filter(|check| check["status"] == "fail");
        failed.map(|check| check["id"].to_string()).collect()
    };
    let (before, now) = (failed(&report), failed(&diagnosed));
    // Of a tree that was copied by hand more is wrong than of the scratch root itself.
    assert!(
        !before.is_empty() && before.iter().all(|id| now.contains(id)),
        "{now:?}"
    );
}
