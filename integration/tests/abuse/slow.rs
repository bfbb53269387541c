//! An only mirror that is slow: deadlines hold, and the mirror is named.

use crate::node::Node;
use crate::wire::{RawMirror, Wire};
use quake_integration::agent::{self, Running};
use quake_integration::mirror;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Half a byte a second.
fn drips(wire: &mut Wire, file: &[u8]) -> io::Result<()> {
    let length = format!("content-length: {}", file.len());
    wire.head("200 OK", &[&length])?;
    wire.drip_for_ever(b"x", Duration::from_secs(2))
}

#[test]
fn a_deadline_ends_a_fetch_whose_only_mirror_drips_and_the_mirror_is_named() {
    let files = mirror::large(1).expect("memory takes it");
    let slow = RawMirror::start(files.clone(), drips).expect("a free port");
    let node = Node::new(&files, &[slow.base()]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let mut arguments: Vec<PathBuf> = vec!["rehearse".into(), node.path().to_owned()];
    arguments.extend(["--root".into(), root.path().to_owned()]);
    let rest = "--assets fetch --exit-when-ready --output json --listen off --deadline 8s";
    arguments.extend(rest.split(' ').map(PathBuf::from));
    let began = Instant::now();
    let ended = Running::start(agent::command(&arguments)).end(agent::LIMIT);
    assert_eq!(ended.status, 75, "{}", ended.text());
    assert!(began.elapsed() < Duration::from_secs(30));
    let summary = ended.summary();
    assert_eq!(summary["fault"]["code"], "assets.too-slow", "{summary}");
    assert!(summary.to_string().contains(&slow.base()), "{summary}");
    let ledgers = quake_integration::store::ledgers(root.path());
    let events: String = ledgers
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("ours"))
        .collect();
    let waits = |line: &&str| line.contains("waiting") && line.contains("assets.too-slow");
    let reported = events.lines().find(waits).expect("the wait is an event");
    assert!(reported.contains(&slow.base()), "{reported}");
    let kept = quake_integration::store::wrong_in_store(root.path());
    assert_eq!(kept, Vec::<String>::new());
}
