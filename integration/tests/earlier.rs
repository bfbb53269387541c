//! What earlier builds left is read by this one, under the names of those builds: ledgers, status files and bundles.
//! `docs/contributing/how-to.md` says how each release adds its own.

use quake_integration::agent;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// What a build wrote in a rehearsal of the legacy example.
struct Release {
    /// Its directory in `earlier/`.
    name: &'static str,
    ledger: &'static str,
    /// The steps that its boot did, as its ledger has them.
    steps: usize,
}

impl Release {
    fn at(&self, name: &str) -> PathBuf {
        Path::new(EARLIER).join(self.name).join(name)
    }
}

const EARLIER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/earlier");

const RELEASES: &[Release] = &[Release {
    name: "before-0.1",
    ledger: "20261123T080533757Z-1748.jsonl",
    steps: 189,
}];

#[test]
fn each_kept_release_has_a_row() {
    let kept = fs::read_dir(EARLIER).expect("it is beside");
    let mut kept: Vec<_> = kept.flatten().map(|entry| entry.file_name()).collect();
    kept.sort();
    let rows: Vec<&str> = RELEASES.iter().map(|release| release.name).collect();
    assert_eq!(kept, rows);
}

#[test]
fn ledgers_and_status_files_of_earlier_builds_are_read() {
    RELEASES.iter().for_each(reads_ledger_and_status);
}

fn reads_ledger_and_status(release: &Release) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let root = folder.path();
    let put = |name: &str, to: &str| {
        let to = root.join(to).join(name);
        fs::create_dir_all(to.parent().expect("it has one")).expect("the directory is ours");
        fs::copy(release.at(name), to).expect("the file is there");
    };
    put(release.ledger, "var/lib/quake-agent/boots");
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
    assert_eq!(steps, Some(release.steps), "{}: {timeline}", release.name);
}

#[test]
fn bundles_of_earlier_builds_show_what_those_builds_found() {
    RELEASES.iter().for_each(reads_bundle);
}

fn reads_bundle(release: &Release) {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let packed = fs::read(release.at("bundle.tar.zst")).expect("it is there");
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
