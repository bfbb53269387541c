//! The store itself: bits that flip, and two agents at once.

use crate::node::{Node, undisturbed};
use quake_integration::agent::{self, Running};
use quake_integration::http::Server;
use quake_integration::mirror::{self, Manners};
use quake_integration::node::Mirrored;
use quake_integration::skip::{SetUpError, is_root, skipped, unless_missing};
use quake_integration::store::wrong_in_store;
use quake_integration::tree::Tree;
use std::fs::{File, FileTimes};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The asset store below a root.
const STORE: &str = "var/lib/quake-agent/store";

/// Starts a boot into `root` with `store` mounted as its asset store, which this boot alone sees. Root is needed.
fn start_on(node: &Node, root: &Path, store: &Path) -> Running {
    let boot = node.command(root);
    let mut command = Command::new("unshare");
    agent::clean(&mut command);
    command
        .args(["--mount", "sh", "-c"])
        .arg(r#"mount --bind "$1" "$2" || exit 99; shift 2; exec "$@""#)
        .arg("sh")
        .args([store, &root.join(STORE)])
        .arg(boot.get_program())
        .args(boot.get_args());
    Running::start(command)
}

fn well(files: &Mirrored) -> Server {
    mirror::start(files.clone(), Box::new(|_| Manners::Right)).expect("a free port")
}

/// The largest file of the store whose path contains `part`.
fn largest(root: &Path, part: &str) -> PathBuf {
    let mut folders = vec![root.join(STORE).join("sha256")];
    let mut largest = (0, PathBuf::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("ours").flatten() {
            let found = entry.metadata().expect("ours");
            match found.is_dir() {
                true => folders.push(entry.path()),
                false if entry.path().to_string_lossy().contains(part) => {
                    largest = largest.max((found.len(), entry.path()));
                }
                false => {}
            }
        }
    }
    largest.1
}

fn flip_one_bit(path: &Path, is_hidden: bool) {
    let before = path.metadata().expect("ours");
    let file = File::options().read(true).write(true).open(path);
    let file = file.expect("ours");
    let mut byte = [0];
    let middle = before.size() / 2;
    file.read_exact_at(&mut byte, middle).expect("ours");
    file.write_all_at(&[byte[0] ^ 4], middle).expect("ours");
    if is_hidden {
        let modified = before.modified().expect("ours");
        let times = FileTimes::new().set_modified(modified);
        file.set_times(times).expect("ours");
    }
}

#[test]
fn a_flipped_bit_is_found_and_mended_also_where_the_time_of_writing_was_put_back() {
    let files = mirror::large(2).expect("memory takes it");
    let whole = undisturbed(&files);
    let mirror = well(&files);
    let node = Node::new(&files, &[mirror.base()]);
    for is_hidden in [false, true] {
        // A plain file, and a file of an archive.
        for part in ["sha256/", "/files/"] {
            let root = tempfile::tempdir().expect("a temporary directory");
            node.ready(root.path());
            let requested = mirror.seen().len();
            node.ready(root.path());
            assert_eq!(
                mirror.seen().len(),
                requested,
                "a second boot asks for nothing"
            );
            flip_one_bit(&largest(root.path(), part), is_hidden);
            let tree = node.ready(root.path());
            assert_eq!(whole.differences(&tree), Vec::<String>::new(), "{part}");
            assert!(
                mirror.seen().len() > requested,
                "{part}: it was fetched anew"
            );
        }
    }
}

#[test]
fn a_store_that_was_copied_is_read_once_and_believed() {
    let files = mirror::large(2).expect("memory takes it");
    let mirror = well(&files);
    let node = Node::new(&files, &[mirror.base()]);
    let root = tempfile::tempdir().expect("a temporary directory");
    node.ready(root.path());
    let requested = mirror.seen().len();
    let copy = tempfile::tempdir().expect("a temporary directory");
    let (from, to) = (root.path().join("."), copy.path());
    let copied = Command::new("cp")
        .arg("-a")
        .args([from.as_path(), to])
        .status();
    assert!(copied.is_ok_and(|status| status.success()));
    node.ready(copy.path());
    assert_eq!(mirror.seen().len(), requested);
}

#[test]
fn two_agents_at_once_on_one_store_are_both_ready() {
    if !is_root() {
        return skipped("a store can be mounted by root alone");
    }
    let files = mirror::large(3).expect("memory takes it");
    let whole = undisturbed(&files);
    let mirror = well(&files);
    let node = Node::new(&files, &[mirror.base()]);
    for _ in 0..3 {
        let roots = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
        for root in &roots {
            std::fs::create_dir_all(root.path().join(STORE)).expect("ours");
        }
        let store = roots[0].path().join(STORE);
        let running = [
            node.start(roots[0].path()),
            start_on(&node, roots[1].path(), &store),
        ];
        for (running, root) in running.into_iter().zip(&roots) {
            let ended = running.end(agent::LIMIT);
            if ended.status == 99 || ended.stderr.contains("unshare failed") {
                let what = format!("a store cannot be mounted: {}", ended.stderr.trim());
                unless_missing::<()>(Err(SetUpError::new(what)));
                return;
            }
            assert_eq!(ended.status, 0, "{}", ended.text());
            let tree = Tree::of_node(root.path()).expect("the tree can be read");
            assert_eq!(whole.differences(&tree), Vec::<String>::new());
        }
        assert_eq!(wrong_in_store(roots[0].path()), Vec::<String>::new());
        let others = std::fs::read_dir(roots[1].path().join(STORE)).expect("ours");
        assert_eq!(
            others.count(),
            0,
            "the second one used the store of the first"
        );
    }
}
