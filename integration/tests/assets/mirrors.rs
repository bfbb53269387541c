//! Mirrors that fail, lie and stall.

use crate::node::{Node, undisturbed};
use quake_integration::mirror::{self, Manners, every_seventh_fails};
use quake_integration::tree::Tree;
use std::time::{Duration, Instant};

#[test]
fn with_every_seventh_request_reset_truncated_refused_or_lying_every_byte_is_right() {
    let files = mirror::large(6).expect("memory takes it");
    let whole = undisturbed(&files);
    let mirror = mirror::start(files.clone(), every_seventh_fails()).expect("a free port");
    let node = Node::new(&files, &[mirror.base()]);
    for _ in 0..8 {
        let root = tempfile::tempdir().expect("a temporary directory");
        let tree = node.ready(root.path());
        assert_eq!(whole.differences(&tree), Vec::<String>::new());
    }
    println!("assets: {} requests in 8 boots", mirror.seen().len());
}

#[test]
fn a_mirror_that_stalls_holds_a_boot_up_by_seconds_while_another_has_the_files() {
    boot_beside_one_that_stalls(3);
}

#[test]
fn pieces_fetched_ahead_of_a_mirror_that_stalls_are_left_for_another() {
    boot_beside_one_that_stalls(8);
}

fn boot_beside_one_that_stalls(mebibytes: usize) {
    let files = mirror::large(mebibytes).expect("memory takes it");
    let whole = undisturbed(&files);
    // It begins every answer well, and then gives 16 KiB a minute.
    let stalls = |_| Manners::Paced(Duration::from_secs(60));
    let stalling = mirror::start(files.clone(), Box::new(stalls)).expect("a free port");
    let well = |_| Manners::Right;
    let well = mirror::start(files.clone(), Box::new(well)).expect("a free port");
    let node = Node::new(&files, &[stalling.base(), well.base()]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let began = Instant::now();
    let tree: Tree = node.ready(root.path());
    assert_eq!(whole.differences(&tree), Vec::<String>::new());
    println!("assets: ready after {:.1?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(40));
    // Its threads sleep in their answers; nobody waits for them.
    std::mem::forget(stalling);
}

#[test]
fn a_mirror_that_always_lies_does_not_keep_the_agent_from_the_next_one() {
    let files = mirror::large(3).expect("memory takes it");
    let whole = undisturbed(&files);
    let lies = |_| Manners::Lying;
    let lying = mirror::start(files.clone(), Box::new(lies)).expect("a free port");
    let well = |_| Manners::Right;
    let well = mirror::start(files.clone(), Box::new(well)).expect("a free port");
    let node = Node::new(&files, &[lying.base(), well.base()]);
    let root = tempfile::tempdir().expect("a temporary directory");
    assert_eq!(
        whole.differences(&node.ready(root.path())),
        Vec::<String>::new()
    );
}
