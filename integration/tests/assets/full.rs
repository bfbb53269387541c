//! A disk that fills up half-way through the assets.

use crate::node::{Node, undisturbed};
use quake_integration::agent;
use quake_integration::mirror::{self, Manners};
use quake_integration::skip::{SetUpError, is_root, skipped, unless_missing};
use quake_integration::store::wrong_in_store;
use quake_integration::tree::Tree;
use std::process::Command;

/// Boots on a small disk, then makes the disk larger and boots again; what is on it then is copied away.
const SCRIPT: &str = r#"
mount -t tmpfs -o size="$SMALL"k tmpfs "$DISK" || exit 99
"$@" > "$FIRST"; echo $? > "$STATUS"
mount -o remount,size="$LARGE"k "$DISK" || exit 99
"$@"; status=$?
cp -a "$DISK/." "$COPY"
exit $status"#;

#[test]
fn a_disk_that_fills_half_way_is_named_and_with_room_the_next_boot_goes_on() {
    if !is_root() {
        return skipped("a small disk can be mounted by root alone");
    }
    let files = mirror::large(4).expect("memory takes it");
    let whole = undisturbed(&files);
    let mirror = mirror::start(files.clone(), Box::new(|_| Manners::Right)).expect("a free port");
    let node = Node::new(&files, &[mirror.base()]);
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| scratch.path().join(name);
    for folder in ["disk", "copy"] {
        std::fs::create_dir(at(folder)).expect("ours");
    }
    let all: usize = files.all().map(|(_, bytes)| bytes.len()).sum();
    let binary = agent::binary().expect("the agent's binary is built before its tests");
    let mut command = Command::new("unshare");
    agent::clean(&mut command);
    command
        .env("SMALL", (all / 2 / 1024).to_string())
        .env("LARGE", (all * 4 / 1024).to_string())
        .env("DISK", at("disk"))
        .env("FIRST", at("first"))
        .env("STATUS", at("status"))
        .env("COPY", at("copy"));
    command.args(["--mount", "sh", "-c", SCRIPT, "sh"]);
    command.arg(binary).arg("rehearse").arg(node.path());
    command.arg("--root").arg(at("disk"));
    command.args(["--assets", "fetch", "--exit-when-ready", "--output", "json"]);
    command.args(["--listen", "off", "--deadline", "20s"]);
    let ended = agent::run_command(command);
    if ended.status == 99 || ended.stderr.contains("unshare failed") {
        let what = format!("a small disk cannot be mounted: {}", ended.stderr.trim());
        unless_missing::<()>(Err(SetUpError::new(what)));
        return;
    }
    let first = std::fs::read_to_string(at("first")).expect("it was written");
    let status = std::fs::read_to_string(at("status")).expect("it was written");
    assert_eq!(status.trim(), "77", "{first}");
    assert!(first.contains("assets.no-space"), "{first}");
    assert_eq!(ended.status, 0, "{}", ended.text());
    let copy = at("copy");
    assert_eq!(wrong_in_store(&copy), Vec::<String>::new());
    let tree = Tree::of_node(&copy).expect("the tree can be read");
    assert_eq!(whole.differences(&tree), Vec::<String>::new());
}
