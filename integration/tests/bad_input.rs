//! Bad input, a directory of `cases/` each: the code, the exit status of its class, the place in the file or
//! the URL, nothing half-written, and a ready node once the input is put right.

use quake_integration::agent::{self, Ended};
use quake_integration::http::{Reply, Server};
use quake_integration::node::{archive, kube_env, write_state_store};
use quake_integration::skip::{SetUpError, is_root, skipped, unless_missing};
use quake_integration::store::{ledgers, unreadable_ledgers, wrong_in_store};
use quake_integration::tree::{Tree, sha256};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");

/// What a case's `case.json` says. In its texts and files `{mirror}` is the URL of the test's mirror and
/// `{sha256:PATH}` the digest of what is served there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// The situation, for the reader.
    about: String,
    code: String,
    exit: i32,
    /// What the fault's summary or causes hold.
    #[serde(rename = "says")]
    expected: Vec<String>,
    evidence: BTreeMap<String, String>,
    /// Files that the state store lacks.
    #[serde(default)]
    remove: Vec<String>,
    /// The file that `check` finds the same in.
    check: Option<String>,
}

/// What the mirror of all cases serves.
fn served() -> BTreeMap<String, Vec<u8>> {
    let unsafe_archive = archive(&[
        ("bridge", b"good".to_vec()),
        ("../../evil", b"bad".to_vec()),
    ]);
    let whole = archive(&[("bridge", b"good".repeat(10_000))]).expect("memory takes it");
    let plugins = "cni-plugins-amd64-v0.7.5.tgz";
    BTreeMap::from([
        ("/good/kubelet".to_owned(), b"a kubelet".to_vec()),
        ("/good/other".to_owned(), b"another kubelet".to_vec()),
        (
            format!("/unsafe/{plugins}"),
            unsafe_archive.expect("memory takes it"),
        ),
        (
            format!("/broken/{plugins}"),
            whole[..whole.len() / 2].to_vec(),
        ),
    ])
}

fn mirror() -> Server {
    let files = served();
    Server::start(move |request| match files.get(request.path()) {
        Some(bytes) => Reply::new(200, bytes.clone()),
        None if request.path().starts_with("/forbidden/") => Reply::new(403, "no"),
        None => Reply::new(404, "no"),
    })
    .expect("loopback has a free port")
}

/// The text with its placeholders filled in.
fn filled(text: &str, mirror: &str) -> String {
    let mut text = text.replace("{mirror}", mirror);
    for (path, bytes) in served() {
        text = text.replace(&format!("{{sha256:{path}}}"), &sha256(&bytes));
    }
    text
}

/// Copies the files below `from` over those of `to`.
fn lay_over(from: &Path, to: &Path, mirror: &str) {
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            lay_over(&entry.path(), &target, mirror);
        } else {
            let text = std::fs::read_to_string(entry.path()).expect("a case's file is text");
            std::fs::write(target, filled(&text, mirror)).expect("the directory is ours");
        }
    }
}

fn plain(path: &Path) -> &str {
    path.to_str()
        .expect("a temporary directory has a plain name")
}

fn rehearse(store: &Path, root: &Path) -> Ended {
    agent::run(&[
        "rehearse",
        plain(store),
        "--root",
        plain(root),
        "--assets",
        "fetch",
        "--deadline",
        "3s",
        "--denied-grace",
        "100ms",
        "--exit-when-ready",
        "--output",
        "json",
        "--listen",
        "off",
    ])
}

/// Everything about this case that is not as it should be.
fn findings(folder: &Path, mirror: &str) -> Vec<String> {
    let text =
        std::fs::read_to_string(folder.join("case.json")).expect("each case has a case.json");
    let case: Case = serde_json::from_str(&filled(&text, mirror)).expect("case.json is a case");
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let (store, root) = (scratch.path().join("store"), scratch.path().join("root"));
    write_state_store(&store).expect("the directory is ours");
    std::fs::write(store.join("kube_env.yaml"), kube_env("workers", &[]))
        .expect("the directory is ours");
    lay_over(&folder.join("files"), &store, mirror);
    for file in &case.remove {
        std::fs::remove_file(store.join(file)).expect("the example has the file");
    }
    let ended = rehearse(&store, &root);
    let mut findings = wrong_report(&case, &ended);
    findings.extend(leftovers(&case, &root));
    if let Some(file) = &case.check {
        findings.extend(unchecked(&case, &store.join(file)));
    }
    findings.extend(not_mended(&store, &root));
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let about = &case.about;
    findings
        .iter()
        .map(|line| format!("{name} ({about}): {line}"))
        .collect()
}

fn wrong_report(case: &Case, ended: &Ended) -> Vec<String> {
    let summary = ended.summary();
    let fault = &summary["fault"];
    let mut wrong = Vec::new();
    if ended.status != case.exit || summary["exitStatus"] != case.exit {
        wrong.push(format!(
            "exit {}, not {}: {summary}",
            ended.status, case.exit
        ));
    }
    if fault["code"] != case.code.as_str() {
        wrong.push(format!("the code is not {}: {fault}", case.code));
    }
    let reported = format!("{} {}", fault["summary"], fault["causes"]);
    for words in case
        .expected
        .iter()
        .filter(|words| !reported.contains(words.as_str()))
    {
        wrong.push(format!("it does not say {words:?}: {fault}"));
    }
    let evidence = fault["evidence"].as_array().cloned().unwrap_or_default();
    for (name, value) in &case.evidence {
        let is_it = |piece: &&serde_json::Value| {
            piece["name"] == name.as_str() && piece["value"] == value.as_str()
        };
        if !evidence.iter().any(|piece| is_it(&piece)) {
            wrong.push(format!("{name} is not {value:?}: {fault}"));
        }
    }
    wrong
}

/// What there should not be below the root after the failure: any file of the node, anything unverified.
fn leftovers(case: &Case, root: &Path) -> Vec<String> {
    let tree = Tree::of_node(root).expect("the tree can be read");
    let mut left: Vec<String> = tree
        .files()
        .iter()
        .map(|path| format!("left behind: {}", path.display()))
        .collect();
    left.extend(wrong_in_store(root));
    left.extend(unreadable_ledgers(root));
    let ledger = ledgers(root)
        .pop()
        .and_then(|path| std::fs::read_to_string(path).ok());
    let last = ledger
        .as_deref()
        .and_then(|text| text.lines().last())
        .unwrap_or_default();
    if !last.contains("\"boot-failed\"") || !last.contains(&case.code) {
        left.push(format!("the ledger does not end with the failure: {last}"));
    }
    left
}

/// With the input put right, the next start over the same root is ready.
fn not_mended(store: &Path, root: &Path) -> Option<String> {
    write_state_store(store).expect("the directory is ours");
    std::fs::write(store.join("kube_env.yaml"), kube_env("workers", &[]))
        .expect("the directory is ours");
    let ended = rehearse(store, root);
    (ended.status != 0).then(|| format!("fixed, it is not ready: {}", ended.text()))
}

/// `check` finds the same in the file itself, with the same exit status.
fn unchecked(case: &Case, file: &Path) -> Option<String> {
    let ended = agent::run(&["check", plain(file)]);
    let same =
        ended.status == case.exit && ended.stdout.contains(&format!("error: {}: ", case.code));
    (!same).then(|| format!("check: exit {}: {}", ended.status, ended.text()))
}

#[test]
fn each_bad_input_is_reported_with_its_place_leaves_nothing_and_is_ready_once_mended() {
    let mirror = mirror();
    let entries = std::fs::read_dir(CASES).unwrap();
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    let found: Vec<String> = cases
        .iter()
        .flat_map(|case| findings(case, &mirror.base()))
        .collect();
    assert!(cases.len() > 10 && found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn an_unknown_key_is_an_error_in_check_and_a_warning_on_a_node() {
    let scratch = tempfile::tempdir().unwrap();
    write_state_store(scratch.path()).unwrap();
    let group = scratch.path().join("instancegroup/workers");
    let text = std::fs::read_to_string(&group).unwrap();
    std::fs::write(&group, format!("{text}  nodeLabel:\n    typo: here\n")).unwrap();
    std::fs::write(
        scratch.path().join("kube_env.yaml"),
        kube_env("workers", &[]),
    )
    .unwrap();
    let checked = agent::run(&["check", plain(&group)]);
    assert_eq!(checked.status, 78, "{}", checked.text());
    assert!(
        checked.stdout.contains("config.unknown-key") && checked.stdout.contains("line: 17"),
        "{}",
        checked.stdout
    );
    let root = tempfile::tempdir().unwrap();
    let booted = rehearse(scratch.path(), root.path());
    assert_eq!(booted.status, 0, "{}", booted.text());
    let warnings = booted.summary()["warnings"].to_string();
    assert!(
        warnings.contains("config.unknown-key") && warnings.contains("nodeLabel"),
        "{warnings}"
    );
}

#[test]
fn every_code_of_the_cases_can_be_explained() {
    for entry in std::fs::read_dir(CASES).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path().join("case.json")).unwrap();
        let case: Case = serde_json::from_str(&text).unwrap();
        let explained = agent::run(&["explain", &case.code]);
        assert_eq!(explained.status, 0, "{}: {}", case.code, explained.text());
    }
}

/// Boots into a tmpfs of this many kilobytes, in a mount namespace of its own that ends with the boot.
fn rehearse_on_small_disk(store: &Path, scratch: &Path, kilobytes: u32) -> Ended {
    let disk = scratch.join("disk");
    std::fs::create_dir_all(&disk).expect("the directory is ours");
    let script = "mount -t tmpfs -o size=\"$1\"k tmpfs \"$2\" || exit 99
        shift 2; \"$@\"; status=$?
        cd \"$LISTED\" && find . -type f > \"$LISTING\"; exit $status";
    let binary = agent::binary().expect("the agent's binary is built before its tests");
    let mut command = Command::new("unshare");
    agent::clean(&mut command);
    command
        .env("LISTED", &disk)
        .env("LISTING", scratch.join("left"));
    command
        .args(["--mount", "sh", "-c", script, "sh", &kilobytes.to_string()])
        .arg(&disk)
        .arg(binary);
    command.args([
        "rehearse",
        plain(store),
        "--root",
        plain(&disk),
        "--assets",
        "fetch",
        "--deadline",
        "3s",
    ]);
    command.args([
        "--denied-grace",
        "100ms",
        "--exit-when-ready",
        "--output",
        "json",
        "--listen",
        "off",
    ]);
    agent::run_command(command)
}

#[test]
fn a_full_disk_is_named_and_nothing_half_written_stays() {
    if !is_root() {
        return skipped("a small disk can be mounted by root alone");
    }
    let scratch = tempfile::tempdir().unwrap();
    let store = scratch.path().join("store");
    write_state_store(&store).unwrap();
    let large = vec![7_u8; 4 << 20];
    let pin = sha256(&large);
    let mirror = Server::start(move |_| Reply::new(200, large.clone())).unwrap();
    let pins = [format!("{pin}@{}/bin/kubelet", mirror.base())];
    std::fs::write(store.join("kube_env.yaml"), kube_env("workers", &pins)).unwrap();
    let ended = rehearse_on_small_disk(&store, scratch.path(), 2048);
    if ended.status == 99 || ended.stderr.contains("unshare failed") {
        let what = format!("a small disk cannot be mounted: {}", ended.stderr.trim());
        unless_missing::<()>(Err(SetUpError::new(what)));
        return;
    }
    let fault = &ended.summary()["fault"];
    assert_eq!(
        (ended.status, &fault["code"]),
        (77, &"assets.no-space".into()),
        "{}",
        ended.text()
    );
    let left = std::fs::read_to_string(scratch.path().join("left")).unwrap();
    let own = |line: &&str| {
        let own = [
            "./var/lib/quake-agent/boots/",
            "./run/",
            "./var/lib/quake-agent/rehearsal/",
            "./var/lib/quake-agent/store/sets/",
        ];
        !own.iter().any(|folder| line.starts_with(folder)) && !line.ends_with("/staging.lock")
    };
    assert_eq!(
        left.lines().filter(own).collect::<Vec<_>>(),
        Vec::<&str>::new()
    );
}
