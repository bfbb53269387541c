//! Seeds: a boot from a full one asks no mirror for anything, a partial one fetches the rest, and one that lies is
//! found out.

mod containers;
mod fixtures;
mod images;
mod leftovers;
mod private;

use fixtures::{Fixture, copy, flip, kept_files, outcomes, requests};
use quake_integration::agent;
use std::path::Path;

#[test]
fn a_boot_from_a_full_seed_asks_no_mirror_for_anything() {
    let fixture = Fixture::new();
    let mirror = fixture.mirror();
    fixture.pin(&mirror);
    let (root, copied) = (fixture.path("root"), fixture.path("copied"));
    assert_eq!(outcomes(&fixture.seed(&root), "fetched"), 3);
    let before = mirror.seen().len();
    assert_eq!(outcomes(&fixture.seed(&root), "unchanged"), 3);
    assert_eq!(requests(&mirror, before), Vec::<String>::new());
    copy(&root, &copied);
    fixture.becomes_ready(&root);
    assert_eq!(requests(&mirror, before), Vec::<String>::new());
    // Nor is there one to ask.
    drop(mirror);
    fixture.becomes_ready(&copied);
}

#[test]
fn a_boot_from_a_partial_seed_fetches_the_rest() {
    let fixture = Fixture::new();
    let mirror = fixture.mirror();
    let pins = fixture.pin(&mirror);
    let (root, list) = (fixture.path("root"), fixture.path("list"));
    std::fs::write(&list, format!("# one of three\n{}\n", pins[0])).unwrap();
    let built = agent::run(&["seed", "build", "--list", &list, "--root", &root]);
    assert_eq!(built.status, 0, "{}", built.text());
    let state = fixture.path("state");
    let show = [
        "seed",
        "show",
        "--state-store",
        &state,
        "--instance-group",
        "control-plane",
        "--root",
        &root,
        "--output",
        "json",
    ];
    let shown = agent::run(&show).summary();
    assert_eq!((&shown["held"], &shown["percent"]), (&1.into(), &33.into()));
    let before = mirror.seen().len();
    fixture.becomes_ready(&root);
    let rest: Vec<&str> = fixture.files.all().map(|(path, _)| path).skip(1).collect();
    let mut requests = requests(&mirror, before);
    requests.sort();
    let mut rest: Vec<String> = rest.into_iter().map(str::to_owned).collect();
    rest.sort();
    assert_eq!(requests, rest);
    assert_eq!(agent::run(&show).summary()["percent"], 100);
}

#[test]
fn a_seed_that_was_changed_after_the_bake_is_found_out_and_fetched_again() {
    let fixture = Fixture::new();
    let mirror = fixture.mirror();
    fixture.pin(&mirror);
    let baked = fixture.path("baked");
    fixture.seed(&baked);
    let files = kept_files(&baked);
    assert!(files.len() >= 5, "{files:?}");
    for (number, file) in files.iter().enumerate() {
        let file = file.strip_prefix(&baked).unwrap();
        let root = fixture.path(&format!("root-{number}"));
        copy(&baked, &root);
        // The first boot stamps the copy, so that the change must be seen by its stamp; the copy of a changed root
        // has no stamp that fits.
        let seed = fixture.seed(&root);
        assert_eq!(outcomes(&seed, "unchanged"), 3);
        flip(&Path::new(&root).join(file));
        let moved = fixture.path(&format!("moved-{number}"));
        copy(&root, &moved);
        for root in [root, moved] {
            let verified = agent::run(&["store", "verify", "--root", &root]);
            assert_eq!(verified.status, 1, "{}", verified.text());
            let before = mirror.seen().len();
            fixture.becomes_ready(&root);
            assert_eq!(requests(&mirror, before).len(), 1, "{}", file.display());
            let verified = agent::run(&["store", "verify", "--root", &root]);
            assert_eq!(verified.status, 0, "{}", verified.text());
        }
    }
}

#[test]
fn what_is_changed_is_found_out_by_a_boot_that_nothing_warned() {
    let fixture = Fixture::new();
    let mirror = fixture.mirror();
    fixture.pin(&mirror);
    let root = fixture.path("root");
    fixture.seed(&root);
    let file = kept_files(&root).pop().unwrap();
    flip(&file);
    let before = mirror.seen().len();
    fixture.becomes_ready(&root);
    assert_eq!(requests(&mirror, before).len(), 1);
}
