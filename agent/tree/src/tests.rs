use super::open;
use nix::fcntl::OFlag;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// The kernel resolves `..` below a root only while nothing is renamed: about one attempt in some hundred fails
/// beside a program that renames all the time.
#[test]
fn a_path_with_dots_opens_while_others_rename() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (root, other) = (folder.path().join("root"), folder.path().join("other"));
    fs::create_dir_all(root.join("a/b")).expect("the directory is ours");
    fs::write(&other, "").expect("the directory is ours");
    let done = AtomicBool::new(false);
    let failed = thread::scope(|scope| {
        scope.spawn(|| {
            let moved = other.with_extension("moved");
            while !done.load(Relaxed) {
                fs::rename(&other, &moved).expect("the directory is ours");
                fs::rename(&moved, &other).expect("the directory is ours");
            }
        });
        let path = "/a/b/../..".repeat(8);
        let failed = (0..20_000).find_map(|_| open(&root, &path, OFlag::O_PATH).err());
        done.store(true, Relaxed);
        failed
    });
    assert_eq!(failed, None);
}
