//! `rehearse` and `plan` as an operator runs them: every recorded boot becomes ready, the same one twice
//! gives the same tree, and what is done is not done again.

use quake_integration::agent::{self, Ended};
use quake_integration::skip::conformance;
use quake_integration::tree::Tree;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Boots at once: a boot mostly waits, for the disk and for what it simulates.
const LANES: usize = 4;

fn rehearse(store: &[&str], root: &Path) -> Ended {
    let root = root
        .to_str()
        .expect("a temporary directory has a plain name");
    let mut arguments = vec!["rehearse"];
    arguments.extend(store);
    arguments.extend([
        "--root",
        root,
        "--exit-when-ready",
        "--output",
        "json",
        "--listen",
        "off",
    ]);
    agent::run(&arguments)
}

/// Boots twice into two roots and once more into the first; everything that is not as it should be.
fn findings(name: &str, store: &[&str]) -> Vec<String> {
    let mut findings = Vec::new();
    let roots =
        [tempfile::tempdir(), tempfile::tempdir()].map(|made| made.expect("a temporary directory"));
    let trees: Vec<Tree> = roots
        .iter()
        .map(|root| {
            let ended = rehearse(store, root.path());
            let summary = ended.summary();
            let good =
                ended.status == 0 && summary["result"] == "ready" && summary["ready"] == true;
            if !good {
                findings.push(format!("{name}: exit {}: {summary}", ended.status));
            }
            if summary["writes"].as_u64().is_none_or(|writes| writes < 10) {
                findings.push(format!(
                    "{name}: a first boot changed nothing much: {}",
                    summary["writes"]
                ));
            }
            Tree::of_node(root.path()).expect("the tree can be read")
        })
        .collect();
    for line in trees[0].differences(&trees[1]) {
        findings.push(format!("{name}: between two boots: {line}"));
    }
    let again = rehearse(store, roots[0].path()).summary();
    if again["writes"] != 0 || again["result"] != "ready" {
        findings.push(format!(
            "{name}: once more over the same root: {} {}",
            again["writes"], again["changed"]
        ));
    }
    let after = Tree::of_node(roots[0].path()).expect("the tree can be read");
    for line in trees[0].differences(&after) {
        findings.push(format!("{name}: after one more boot: {line}"));
    }
    findings
}

#[test]
fn every_recorded_boot_becomes_ready_twice_the_same_and_then_writes_nothing() {
    let Some(folder) = conformance("kube_env/boots") else {
        return;
    };
    let entries = std::fs::read_dir(&folder).unwrap();
    let mut boots: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    boots.sort();
    assert!(boots.len() >= 27, "{} boots", boots.len());
    let waiting = Mutex::new(boots);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().pop();
                    let Some(boot) = next else { return };
                    let name = boot.file_name().unwrap().to_string_lossy().into_owned();
                    found
                        .lock()
                        .unwrap()
                        .extend(findings(&name, &[boot.to_str().unwrap()]));
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_legacy_example_becomes_ready_in_both_roles() {
    for group in ["control-plane", "workers"] {
        let found = findings(group, &["--legacy-example", "--instance-group", group]);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn the_bundled_example_is_ready_without_a_warning_in_both_roles_and_then_changes_nothing() {
    for group in ["control-plane", "workers"] {
        let root = tempfile::tempdir().expect("a temporary directory");
        let first = rehearse(&["--instance-group", group], root.path());
        assert_eq!(first.status, 0, "{}", first.text());
        assert_eq!(first.summary()["result"], "ready", "{group}");
        let warns = first.stdout.contains(r#""event":"warning""#);
        assert!(!warns, "{group}: {}", first.text());
        let tree = Tree::of_node(root.path()).expect("the tree can be read");
        let again = rehearse(&["--instance-group", group], root.path()).summary();
        assert_eq!(
            (&again["result"], &again["writes"]),
            (&"ready".into(), &0.into())
        );
        let after = Tree::of_node(root.path()).expect("the tree can be read");
        assert_eq!(tree.differences(&after), Vec::<String>::new(), "{group}");
    }
}

#[test]
fn text_output_ends_with_the_verdict_and_a_timeline() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().to_str().unwrap();
    let ended = agent::run(&[
        "rehearse",
        "--root",
        root,
        "--exit-when-ready",
        "--listen",
        "off",
    ]);
    assert_eq!(ended.status, 0, "{}", ended.text());
    assert!(
        ended.stdout.contains("\nTimeline (critical path)"),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.trim_end().ends_with("\nready"),
        "{}",
        ended.stdout
    );
}

fn plan(root: &Path, more: &[&str]) -> Ended {
    let root = root
        .to_str()
        .expect("a temporary directory has a plain name");
    let mut arguments = vec!["plan", "--root", root, "--detailed-exitcode"];
    arguments.extend(more);
    agent::run(&arguments)
}

#[test]
fn a_plan_has_changes_on_a_fresh_root_and_none_after_a_rehearsal() {
    let root = tempfile::tempdir().unwrap();
    let before = plan(root.path(), &[]);
    assert_eq!(before.status, 2, "{}", before.text());
    assert!(
        before.stdout.contains("+++ b/etc/sysconfig/kubelet"),
        "{}",
        before.stdout
    );
    let booted = rehearse(&["--instance-group", "control-plane"], root.path());
    assert_eq!(booted.status, 0, "{}", booted.text());
    let after = plan(root.path(), &[]);
    assert_eq!(after.status, 0, "{}", after.text());
    assert!(
        after.stdout.contains("Plan: 0 to change"),
        "{}",
        after.stdout
    );
}

#[test]
fn a_plan_changes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let ended = plan(root.path(), &[]);
    assert_eq!(ended.status, 2, "{}", ended.text());
    // The simulated region is the stage of a rehearsal, not part of the node.
    let without = ["var/lib/quake-agent/rehearsal"];
    let tree = Tree::new(root.path(), &without).unwrap();
    assert_eq!(tree.files(), Vec::<&Path>::new());
}

#[test]
fn a_plan_as_json_has_a_diff_of_each_file_and_no_secret() {
    let root = tempfile::tempdir().unwrap();
    let ended = plan(root.path(), &["--legacy-example", "--output", "json"]);
    let plan = ended.summary();
    let steps = plan["steps"].as_array().cloned().unwrap_or_default();
    let diffs = steps.iter().filter(|step| step["diff"].is_string());
    assert!(diffs.count() > 5, "{plan}");
    let secret: Vec<&Value> = steps
        .iter()
        .filter(|step| {
            step["note"]
                .as_str()
                .is_some_and(|note| note.contains("secret bytes"))
        })
        .collect();
    assert!(
        !secret.is_empty(),
        "a node has keys, which are written and not shown: {plan}"
    );
    assert!(
        secret.iter().all(|step| step["diff"].is_null()),
        "{secret:?}"
    );
    // The stand-in of a private key begins so.
    assert!(!ended.text().contains("stand-in key of"), "{plan}");
}

#[test]
fn a_rehearsal_leaves_a_report_in_a_folder_only_when_it_is_asked_to() {
    let store = tempfile::tempdir().unwrap();
    quake_integration::node::write_state_store(store.path()).unwrap();
    let plain = store.path().to_str().unwrap();
    let boot = |more: &[&str]| {
        let root = tempfile::tempdir().unwrap();
        let arguments = [&[plain, "--instance-group", "workers"], more].concat();
        let ended = rehearse(&arguments, root.path());
        assert_eq!(ended.status, 0, "{}", ended.text());
    };
    let fleet = |more: &[&str]| {
        let arguments = [&["fleet", "--state-store", plain], more].concat();
        agent::run(&arguments)
    };
    let before = Tree::new(store.path(), &[]).unwrap();
    boot(&[]);
    let after = Tree::new(store.path(), &[]).unwrap();
    assert_eq!(before.differences(&after), Vec::<String>::new());
    assert_eq!(fleet(&[]).status, 1, "nothing is reported");

    boot(&["--boot-report"]);
    let reported = fleet(&["--output", "json"]);
    assert_eq!(reported.status, 0, "{}", reported.text());
    let row = &reported.summary()["rows"][0];
    assert_eq!(
        (&row["command"], &row["result"], &row["instanceGroup"]),
        (&"rehearse".into(), &"ready".into(), &"workers".into())
    );
    assert_eq!(fleet(&["--instance-group", "other"]).status, 1);
    let group = store.path().join("boot-reports/workers");
    std::fs::write(group.join("i-0.json"), "{}").unwrap();
    let torn = fleet(&[]);
    assert_eq!(torn.status, 0, "{}", torn.text());
    assert!(
        torn.stdout
            .contains("boot-reports/workers/i-0.json: it is no boot report")
    );
    assert_eq!(
        agent::run(&["fleet", "--state-store", "/nowhere"]).status,
        64
    );
}

#[test]
fn what_the_node_is_can_be_sourced_by_a_shell_and_a_second_boot_leaves_it_alone() {
    let root = tempfile::tempdir().expect("a temporary directory");
    assert_eq!(rehearse(&[], root.path()).status, 0);
    let file = root.path().join("run/quake-agent/node.env");
    let modified = || {
        let metadata = std::fs::metadata(&file).expect("it is there");
        metadata.modified().expect("the filesystem keeps it")
    };
    let first = modified();
    let script = "set -eu; . \"$1\"; printf '%s|%s|%s' \"$QUAKE_CLUSTER\" \"$QUAKE_ROLE\" \"$QUAKE_API_SERVER\"";
    let mut shell = std::process::Command::new("sh");
    let sourced = shell.args(["-c", script, "sh"]).arg(&file).output();
    let sourced = sourced.expect("there is a shell");
    let reported = String::from_utf8_lossy(&sourced.stdout).into_owned();
    assert!(sourced.status.success(), "{sourced:?}");
    let words: Vec<&str> = reported.split('|').collect();
    assert_eq!(words[0], "demo.example.com");
    assert!(
        ["control-plane", "worker"].contains(&words[1]),
        "{reported}"
    );
    assert!(words[2].starts_with("https://"), "{reported}");
    assert_eq!(rehearse(&[], root.path()).summary()["writes"], 0);
    assert_eq!(modified(), first);
}
