//! `kill -9` at a hundred moments of a boot whose assets come in pieces.

use crate::node::{Node, undisturbed};
use quake_integration::mirror::{self, Manners};
use quake_integration::random::Random;
use quake_integration::store::wrong_in_store;
use quake_integration::tree::Tree;
use quake_integration::waiting::pause;
use std::sync::Mutex;
use std::time::Duration;

/// How often the agent is killed.
const KILLS: usize = 100;

/// The most boots for that: some are over before their moment.
const BOOTS: usize = 2 * KILLS;

/// Kills at once: a boot mostly waits.
const LANES: usize = 4;

#[test]
fn after_a_hundred_kills_every_byte_is_right_and_nothing_torn_was_ever_to_be_seen() {
    let files = mirror::large(3).expect("memory takes it");
    let whole = undisturbed(&files);
    let slowly = |_| Manners::Paced(Duration::from_millis(3));
    let mirror = mirror::start(files.clone(), Box::new(slowly)).expect("a free port");
    let node = Node::of(&files, &[mirror.base()]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let undisturbed = node.boot(root.path());
    let took = undisturbed.summary()["elapsedMs"].as_u64().expect("ready");
    let mut random = Random::from_environment();
    let moments: Vec<u64> = (0..BOOTS).map(|_| random.below(took)).collect();
    let (waiting, found) = (Mutex::new(moments), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while found.lock().unwrap().len() < KILLS {
                    let Some(moment) = waiting.lock().unwrap().pop() else {
                        return;
                    };
                    let moment = Duration::from_millis(moment);
                    let all = findings(&node, moment, &whole);
                    found.lock().unwrap().extend(all);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    println!("assets: {} boots killed within {took} ms", found.len());
    assert!(found.len() >= KILLS, "only {} were killed", found.len());
    let found = found.concat();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Kills a boot after `moment`, boots again, and returns all that is wrong; `None` when it was over before.
fn findings(node: &Node, moment: Duration, whole: &Tree) -> Option<Vec<String>> {
    let root = tempfile::tempdir().expect("a temporary directory");
    let running = node.start(root.path());
    pause(moment);
    if running.kill().status != -1 {
        return None;
    }
    let before = Tree::of_node(root.path()).expect("the tree can be read");
    let torn = before.torn(whole).into_iter();
    let mut findings: Vec<String> = torn.map(|file| format!("torn: {file}")).collect();
    let again = node.boot(root.path());
    if again.status != 0 {
        findings.push(format!("exit {}: {}", again.status, again.text()));
    }
    let after = Tree::of_node(root.path()).expect("the tree can be read");
    findings.extend(whole.differences(&after));
    findings.extend(wrong_in_store(root.path()));
    let at = |line: String| format!("killed after {moment:?}: {line}");
    Some(findings.into_iter().map(at).collect())
}
