//! What a killed agent left beside its assets.

use crate::fixtures::{Fixture, STORE};
use quake_integration::agent;
use quake_integration::tree::Tree;
use std::path::Path;

#[test]
fn what_a_killed_agent_left_beside_its_assets_is_no_asset_and_is_removed_once() {
    let fixture = Fixture::new();
    let mirror = fixture.mirror();
    fixture.pin(&mirror);
    let root = fixture.path("root");
    fixture.seed(&root);
    let contents = || Tree::new(&Path::new(&root).join(STORE), &[]).expect("ours");
    let before = contents();
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
    assert_eq!(contents(), before);
    let second = agent::run(&gc);
    let left = second.summary()["leftovers"].as_array().map(Vec::len);
    assert_eq!(left, Some(0), "{}", second.text());
    let unwanted = second.summary()["unwanted"].as_array().map(Vec::len);
    assert_eq!(unwanted.unwrap_or_default(), 0, "{}", second.text());
}
