//! What an earlier build left is read by this one, under the names of that build: its ledger, its status file and
//! its bundle.

use quake_integration::agent;
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
