//! `seed build`.

use crate::trial::{Command, plain, words};
use quake_integration::kops_copy::{self, Copied, Shape};
use quake_integration::mirror::{self, Manners};
use quake_integration::node::Mirrored;
use quake_integration::skip::conformance;

#[test]
fn a_bake_of_a_list() {
    let files = Mirrored::programs().expect("the programs can be read");
    let right = Box::new(|_| Manners::Right);
    let mirror = mirror::start(files.clone(), right).expect("loopback has a free port");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let list = folder.path().join("list");
    let pins = files.pins(&mirror.base());
    std::fs::write(&list, pins.join("\n")).expect("the directory is ours");
    Command {
        name: "bake of a list",
        kills: 40,
        prepare: &|_| {},
        words: &|root| words(&["seed", "build", "--list", plain(&list), "--root", root]),
    }
    .killed();
}

#[test]
fn a_bake_for_newer_kops() {
    let Some(assets) = conformance("kops/assets") else {
        return;
    };
    let Some(copied) = Copied::new("minimal-1.35", Shape::Bucket) else {
        return;
    };
    let mirror = kops_copy::mirror(assets);
    copied.point_at(&mirror);
    Command {
        name: "bake for newer kops",
        kills: 20,
        prepare: &|_| {},
        words: &|root| {
            let store = copied.store.as_str();
            let of = ["--state-store", store, "--instance-group", "nodes"];
            words(&[&["seed", "build"], &of[..], &["--root", root]].concat())
        },
    }
    .killed();
}
