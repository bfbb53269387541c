//! `kill -9` at any moment of a boot: the next boot ends as if nothing had happened.

use quake_integration::agent::{self, Running};
use quake_integration::http::{Reply, Server};
use quake_integration::node::{Mirrored, kube_env, write_state_store};
use quake_integration::random::Random;
use quake_integration::store::{unreadable_ledgers, wrong_in_store};
use quake_integration::tree::Tree;
use quake_integration::waiting::pause;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// How often the agent is killed.
const KILLS: usize = 30;

/// The most boots for that: some are over before their moment.
const BOOTS: usize = 3 * KILLS;

/// Kills at once: a boot mostly waits.
const LANES: usize = 4;

fn start(store: &Path, root: &Path) -> Running {
    let plain = |path: &Path| {
        path.to_str()
            .expect("a temporary directory has a plain name")
            .to_owned()
    };
    let (store, root) = (plain(store), plain(root));
    let arguments = [
        "rehearse",
        &store,
        "--root",
        &root,
        "--assets",
        "fetch",
        "--exit-when-ready",
        "--output",
        "json",
        "--listen",
        "off",
    ];
    Running::start(agent::command(&arguments))
}

/// Kills a boot after `moment`, boots again, and returns all that is not as after an undisturbed boot; `None`
/// when the boot was over before.
fn findings(store: &Path, moment: Duration, whole: &Tree) -> Option<Vec<String>> {
    let root = tempfile::tempdir().expect("a temporary directory");
    let mut findings = Vec::new();
    let running = start(store, root.path());
    pause(moment);
    if running.kill().status != -1 {
        return None;
    }
    let before = Tree::of_node(root.path()).expect("the tree can be read");
    for file in before.torn(whole) {
        findings.push(format!("torn: {file}"));
    }
    let again = start(store, root.path()).end(agent::LIMIT);
    if again.status != 0 || again.summary()["result"] != "ready" {
        findings.push(format!(
            "not ready: exit {}: {}",
            again.status,
            again.summary()
        ));
    }
    let after = Tree::of_node(root.path()).expect("the tree can be read");
    findings.extend(whole.differences(&after));
    findings.extend(wrong_in_store(root.path()));
    findings.extend(unreadable_ledgers(root.path()));
    let at = |line: String| format!("killed after {moment:?}: {line}");
    Some(findings.into_iter().map(at).collect())
}

#[test]
fn a_boot_killed_at_any_moment_is_completed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let files = Mirrored::programs().unwrap();
    let served = files.clone();
    // Slow enough that a good part of the moments falls into the downloads.
    let mirror = Server::start(move |request| match served.at(request.path()) {
        Some(bytes) => Reply {
            pace: Some(Duration::from_millis(10)),
            ..Reply::new(200, bytes)
        },
        None => Reply::new(404, ""),
    })
    .unwrap();
    write_state_store(folder.path()).unwrap();
    let text = kube_env("control-plane", &files.pins(&mirror.base()));
    std::fs::write(folder.path().join("kube_env.yaml"), text).unwrap();
    let root = tempfile::tempdir().unwrap();
    let undisturbed = start(folder.path(), root.path()).end(agent::LIMIT);
    assert_eq!(undisturbed.status, 0, "{}", undisturbed.text());
    let took = undisturbed.summary()["elapsedMs"].as_u64().unwrap();
    let whole = Tree::of_node(root.path()).unwrap();
    let mut random = Random::from_environment();
    let mut moments: Vec<u64> = (0..BOOTS).map(|_| random.below(took)).collect();
    moments.reverse();
    let (waiting, found) = (Mutex::new(moments), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while found.lock().unwrap().len() < KILLS {
                    let next = waiting.lock().unwrap().pop();
                    let Some(moment) = next else { return };
                    println!("kill after {moment} of {took} ms");
                    let moment = Duration::from_millis(moment);
                    let all = findings(folder.path(), moment, &whole);
                    found.lock().unwrap().extend(all);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(
        found.len() >= KILLS,
        "only {} boots were killed",
        found.len()
    );
    let found = found.concat();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
