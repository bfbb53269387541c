//! Container images that an image of a machine brings along.

use crate::fixtures::{Fixture, STORE};
use quake_integration::agent;
use quake_integration::http::{Reply, Server};
use quake_integration::node::archive;
use quake_integration::tree::sha256;
use serde_json::Value;
use std::path::Path;

/// An archive as `docker save` writes it, of one image without layers.
fn saved() -> Vec<u8> {
    let config =
        br#"{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}"#;
    let name = format!("{}.json", sha256(config));
    let manifest =
        format!(r#"[{{"Config":"{name}","RepoTags":["quake.example/pause:1"],"Layers":[]}}]"#);
    archive(&[
        (name.as_str(), config.to_vec()),
        ("manifest.json", manifest.into_bytes()),
    ])
    .expect("memory takes it")
}

#[test]
fn a_seeded_image_is_listed_fetched_once_and_given_to_the_runtime_by_the_boot() {
    let fixture = Fixture::new();
    let mirror = fixture.mirror();
    fixture.pin(&mirror);
    let bytes = saved();
    let pin = sha256(&bytes);
    let images = Server::start(move |_| Reply::new(200, bytes.clone())).expect("a free port");
    let image = format!("{pin}@{}/pause.tar.gz", images.base());
    let (state, root) = (fixture.path("state"), fixture.path("root"));
    let build = [
        "seed",
        "build",
        "--state-store",
        &state,
        "--instance-group",
        "control-plane",
        "--image",
        &image,
        "--record",
        "--root",
        &root,
    ];
    for _ in 0..2 {
        let built = agent::run(&build);
        assert_eq!(built.status, 0, "{}", built.text());
    }
    assert_eq!(images.seen().len(), 1);
    let store = Path::new(&root).join(STORE);
    let listed = std::fs::read_to_string(store.join("images.json")).expect("it was listed");
    assert!(
        listed.contains("quake.example/pause:1") && listed.contains(&pin),
        "{listed}"
    );
    // What a seed brought is wanted by no boot, and stays all the same.
    let collected = agent::run(&["store", "gc", "--root", &root, "--yes"]);
    assert_eq!(collected.status, 0, "{}", collected.text());
    drop(images);
    let booted = fixture.boot(&root);
    assert_eq!(booted.status, 0, "{}", booted.text());
    let changed = booted.summary()["changed"].to_string();
    assert!(changed.contains("image"), "{changed}");
    let again = fixture.boot(&root);
    let changed: Value = again.summary()["changed"].clone();
    assert!(!changed.to_string().contains("image"), "{changed}");
}
