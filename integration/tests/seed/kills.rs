//! `kill -9` at many moments of a bake and of a collection: running the same again mends everything.

use crate::scene::{STORE, Scene, plain};
use quake_integration::agent::{self, Running};
use quake_integration::random::Random;
use quake_integration::tree::sha256;
use quake_integration::waiting::pause;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often each command is killed.
const KILLS: usize = 40;

/// Kills at once.
const LANES: usize = 4;

/// Every file of the store with the digest of its bytes. A stamp tells of inodes, and so is never the same.
fn contents(root: &Path) -> BTreeMap<PathBuf, String> {
    let store = root.join(STORE);
    let mut found = BTreeMap::new();
    let mut folders = vec![store.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("ours").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(&store).expect("it is below").to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.extension().is_some_and(|it| it == "stamp") {
                found.insert(name, String::new());
            } else {
                found.insert(name, sha256(&std::fs::read(&path).expect("ours")));
            }
        }
    }
    found
}

/// Kills a command after `moment`, runs it again, and returns what differs from an undisturbed store.
fn findings(
    arguments: &[&str],
    root: &Path,
    moment: Duration,
    whole: &BTreeMap<PathBuf, String>,
) -> Vec<String> {
    let running = Running::start(agent::command(arguments));
    pause(moment);
    drop(running.kill());
    let mut findings = Vec::new();
    let again = agent::run(arguments);
    if again.status != 0 {
        findings.push(format!("exit {}: {}", again.status, again.text()));
    }
    let after = contents(root);
    let names = whole.keys().chain(after.keys());
    let differing = names.filter(|name| whole.get(*name) != after.get(*name));
    findings.extend(differing.map(|name| format!("differs: {}", name.display())));
    let verified = agent::run(&["store", "verify", "--root", plain(root)]);
    if verified.status != 0 {
        findings.push(format!("verify: {}", verified.text()));
    }
    let at = |line: String| format!("killed after {moment:?}: {line}");
    findings.into_iter().map(at).collect()
}

/// Calls `trial` with each of many moments of a run that took `took`.
fn kill_many(took: Duration, trial: impl Fn(Duration) -> Vec<String> + Sync) {
    let mut random = Random::from_environment();
    let most = u64::try_from(took.as_micros()).expect("it is short");
    let moments = (0..KILLS).map(|_| Duration::from_micros(random.below(most)));
    let moments: Vec<Duration> = moments.collect();
    let lane = |at: usize| -> Vec<String> {
        let mine = moments.iter().skip(at).step_by(LANES);
        mine.flat_map(|moment| trial(*moment)).collect()
    };
    let found: Vec<String> = std::thread::scope(|scope| {
        let lane = &lane;
        let lanes: Vec<_> = (0..LANES).map(|at| scope.spawn(move || lane(at))).collect();
        let ended = lanes.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended
            .flat_map(|found| found.expect("a lane asserts nothing"))
            .collect()
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_bake_killed_at_any_moment_is_completed_by_the_next() {
    let scene = Scene::new();
    let mirror = scene.mirror();
    let list = scene.path("list");
    let pins = scene.files.pins(&mirror.base());
    std::fs::write(&list, pins.join("\n")).expect("ours");
    let build = |root: &Path| {
        let root = plain(root).to_owned();
        ["seed", "build", "--list", &list, "--root", &root].map(str::to_owned)
    };
    let whole = tempfile::tempdir().expect("a temporary directory");
    let began = Instant::now();
    let built = agent::run(&build(whole.path()));
    assert_eq!(built.status, 0, "{}", built.text());
    let took = began.elapsed();
    let expected = contents(whole.path());
    kill_many(took, |moment| {
        let root = tempfile::tempdir().expect("a temporary directory");
        let arguments = build(root.path());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        findings(&arguments, root.path(), moment, &expected)
    });
}

#[test]
fn a_collection_killed_at_any_moment_is_completed_by_the_next() {
    let scene = Scene::new();
    let mirror = scene.mirror();
    let (all, one) = (scene.path("all"), scene.path("one"));
    let pins = scene.files.pins(&mirror.base());
    std::fs::write(&all, pins.join("\n")).expect("ours");
    std::fs::write(&one, &pins[0]).expect("ours");
    let baked = scene.path("baked");
    let build = |list: &str, more: &[&str]| {
        let mut arguments = vec!["seed", "build", "--list", list, "--root", &baked];
        arguments.extend(more);
        let built = agent::run(&arguments);
        assert_eq!(built.status, 0, "{}", built.text());
    };
    build(&all, &[]);
    build(&one, &["--forget-earlier"]);
    let whole = scene.path("whole");
    crate::scene::copy(&baked, &whole);
    let began = Instant::now();
    let collected = agent::run(&["store", "gc", "--yes", "--root", &whole]);
    assert_eq!(collected.status, 0, "{}", collected.text());
    let took = began.elapsed();
    let expected = contents(Path::new(&whole));
    kill_many(took, |moment| {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let root = folder.path().join("root");
        crate::scene::copy(&baked, plain(&root));
        let arguments = ["store", "gc", "--yes", "--root", plain(&root)];
        findings(&arguments, &root, moment, &expected)
    });
}

#[test]
fn what_a_killed_agent_left_beside_its_assets_is_no_asset_and_is_removed_once() {
    let scene = Scene::new();
    let mirror = scene.mirror();
    scene.pin(&mirror);
    let root = scene.path("root");
    scene.seed(&root);
    let before = contents(Path::new(&root));
    let family = Path::new(&root).join(STORE).join("sha256");
    let hex = "ab".repeat(32);
    let plant = || {
        for ending in ["json", "stamp", "d.stamp", "stamp-7", "d.stamp-7"] {
            std::fs::write(family.join(format!("{hex}.{ending}")), "{}").expect("ours");
        }
    };
    for command in [["store", "verify"], ["seed", "verify"]] {
        plant();
        let verified = agent::run(&[command[0], command[1], "--root", &root, "--output", "json"]);
        let counted = verified.text().contains(&hex[..12]) && command[0] == "store";
        assert!(!counted, "{}", verified.text());
        if command[0] == "store" {
            assert_eq!(verified.status, 0, "{}", verified.text());
        }
    }
    plant();
    let gc = ["store", "gc", "--yes", "--root", &root, "--output", "json"];
    let first = agent::run(&gc);
    assert_eq!(first.status, 0, "{}", first.text());
    assert_eq!(contents(Path::new(&root)), before);
    let second = agent::run(&gc);
    let left = second.summary()["leftovers"].as_array().map(Vec::len);
    assert_eq!(left, Some(0), "{}", second.text());
    let unwanted = second.summary()["unwanted"].as_array().map(Vec::len);
    assert_eq!(unwanted.unwrap_or_default(), 0, "{}", second.text());
}
