//! `store gc`.

use crate::trial::{Command, plain, words};
use quake_integration::agent;
use quake_integration::kops_copy::{self, Copied, Shape};
use quake_integration::mirror::{self, Manners};
use quake_integration::node::Mirrored;
use quake_integration::skip::conformance;
use std::path::Path;

/// Kills collections of a store that was baked twice: what the second bake no longer names is unwanted.
fn collected(name: &str, kills: usize, all: &[&str], fewer: &[&str]) {
    let baked = tempfile::tempdir().expect("a temporary directory");
    let root = ["--root", plain(baked.path())];
    for (of, more) in [(all, &[][..]), (fewer, &["--forget-earlier"])] {
        let built = agent::run(&[&["seed", "build"], of, more, &root].concat());
        assert_eq!(built.status, 0, "{}", built.text());
    }
    Command {
        name,
        kills,
        prepare: &|root| copy(baked.path(), root),
        words: &|root| words(&["store", "gc", "--yes", "--root", root]),
    }
    .killed();
}

/// Copies all that is in a directory as an image builder may: the same times, other inodes.
fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([&from.join("."), to])
        .status();
    assert!(copied.is_ok_and(|status| status.success()));
}

#[test]
fn a_collection_of_a_list() {
    let files = Mirrored::programs().expect("the programs can be read");
    let right = Box::new(|_| Manners::Right);
    let mirror = mirror::start(files.clone(), right).expect("loopback has a free port");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let pins = files.pins(&mirror.base());
    // An archive among those that go, with the files that were unpacked from it.
    let kept: Vec<_> = pins.iter().filter(|pin| !pin.ends_with(".tgz")).collect();
    assert!(kept.len() < pins.len(), "{pins:?}");
    let (all, one) = (folder.path().join("all"), folder.path().join("one"));
    std::fs::write(&all, pins.join("\n")).expect("the directory is ours");
    std::fs::write(&one, kept[0]).expect("the directory is ours");
    let (all, one) = (plain(&all), plain(&one));
    collected(
        "collection of a list",
        40,
        &["--list", all],
        &["--list", one],
    );
}

#[test]
fn a_collection_for_newer_kops() {
    let Some(assets) = conformance("kops/assets") else {
        return;
    };
    let Some(copied) = Copied::new("minimal-1.35", Shape::Bucket) else {
        return;
    };
    let mirror = kops_copy::mirror(assets);
    copied.point_at(&mirror);
    let store = ["--state-store", copied.store.as_str(), "--instance-group"];
    let of = |group| [&store[..], &[group]].concat();
    collected(
        "collection for newer kops",
        20,
        &of("master-us-test-1a"),
        &of("nodes"),
    );
}
