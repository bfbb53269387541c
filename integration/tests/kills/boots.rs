//! Boots of both generations of kops.

use crate::trial::{Command, plain, words};
use quake_integration::kops_copy::{self, Copied, Shape};
use quake_integration::mirror::{self, Manners};
use quake_integration::node::{Mirrored, kube_env, write_state_store};
use quake_integration::skip::conformance;
use std::time::Duration;

const TO_READY: [&str; 7] = [
    "--assets",
    "fetch",
    "--exit-when-ready",
    "--output",
    "json",
    "--listen",
    "off",
];

/// A node of a kops before 1.16 whose mirror sends 16 KiB after each pause: many moments fall into the downloads.
fn older(name: &str, kills: usize, group: &str, files: &Mirrored, pause: Duration) {
    let paced = Box::new(move |_| Manners::Paced(pause));
    let mirror = mirror::start(files.clone(), paced).expect("loopback has a free port");
    let store = tempfile::tempdir().expect("a temporary directory");
    write_state_store(store.path()).expect("the directory is ours");
    let text = kube_env(group, &files.pins(&mirror.base()));
    std::fs::write(store.path().join("kube_env.yaml"), text).expect("the directory is ours");
    Command {
        name,
        kills,
        prepare: &|_| {},
        words: &|root| {
            let of = ["rehearse", plain(store.path()), "--root", root];
            words(&[&of[..], &TO_READY].concat())
        },
    }
    .killed();
}

#[test]
fn a_boot_of_older_kops() {
    let files = Mirrored::programs().expect("the programs can be read");
    let pause = Duration::from_millis(10);
    older("older boot", 30, "control-plane", &files, pause);
}

#[test]
fn a_boot_whose_assets_come_in_pieces() {
    let files = mirror::large(3).expect("memory takes it");
    let pause = Duration::from_millis(3);
    older("boot in pieces", 100, "workers", &files, pause);
}

#[test]
fn a_boot_of_newer_kops() {
    let Some(assets) = conformance("kops/assets") else {
        return;
    };
    let mirror = kops_copy::mirror(assets);
    for (case, group) in [
        ("minimal-1.35", "master-us-test-1a"),
        ("privatecalico", "nodes"),
    ] {
        let Some(copied) = Copied::new(case, Shape::Bucket) else {
            return;
        };
        copied.point_at(&mirror);
        Command {
            name: &format!("newer boot, {group} of {case}"),
            kills: 15,
            prepare: &|_| {},
            words: &|root| {
                let of = ["rehearse", copied.store.as_str(), "--instance-group", group];
                words(&[&of[..], &["--root", root], &TO_READY].concat())
            },
        }
        .killed();
    }
}
