//! Watches on directories, on the real filesystem of a scratch directory.

use super::files::scratch;
use quake_model::ports::{DirectoryWatch, Files};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tokio::time::timeout;

/// How long nothing is waited for: what the kernel reports is there at once.
const NOTHING_WITHIN: Duration = Duration::from_millis(100);

async fn is_reported(watch: &mut impl DirectoryWatch) -> bool {
    let mut is_reported = false;
    while let Ok(changed) = timeout(NOTHING_WITHIN, watch.changed()).await {
        changed.expect("the watch stands");
        is_reported = true;
    }
    is_reported
}

fn write(root: &Path, path: &str) {
    fs::write(root.join(path), "x").expect("it is written");
}

#[tokio::test]
async fn a_directory_that_is_removed_and_made_again_is_watched_on() {
    let (root, files) = scratch();
    let root = root.path();
    let directory = root.join("etc/cni/net.d");
    fs::create_dir_all(&directory).expect("it is made");
    let mut watch = files
        .watch_directory("/etc/cni/net.d")
        .await
        .expect("a watch");
    for _ in 0..2 {
        assert!(!is_reported(&mut watch).await, "nothing happened");
        write(root, "etc/cni/net.d/10-x.conflist");
        assert!(is_reported(&mut watch).await, "a file was written");
        fs::remove_dir_all(root.join("etc/cni")).expect("it is removed");
        assert!(is_reported(&mut watch).await, "the directory was removed");
        write(root, "etc/other");
        assert!(!is_reported(&mut watch).await, "a file elsewhere");
        fs::create_dir_all(&directory).expect("it is made");
        assert!(is_reported(&mut watch).await, "the directory came");
    }
}

#[tokio::test]
async fn a_file_that_is_renamed_into_the_directory_is_reported() {
    let (root, files) = scratch();
    let root = root.path();
    fs::create_dir_all(root.join("d")).expect("it is made");
    write(root, "x.tmp");
    let mut watch = files.watch_directory("/d").await.expect("a watch");
    fs::rename(root.join("x.tmp"), root.join("d/x")).expect("it is renamed");
    assert!(is_reported(&mut watch).await, "it came");
    fs::rename(root.join("d/x"), root.join("x.tmp")).expect("it is renamed");
    assert!(is_reported(&mut watch).await, "it went");
}

#[tokio::test]
async fn a_wait_for_changes_that_is_dropped_loses_none() {
    let (root, files) = scratch();
    let root = root.path();
    let mut watch = files.watch_directory("/a/b").await.expect("a watch");
    // Dropped while it places its watch anew, or before.
    for _ in 0..50 {
        fs::create_dir_all(root.join("a")).expect("it is made");
        let _ = timeout(Duration::ZERO, watch.changed()).await;
        fs::create_dir_all(root.join("a/b")).expect("it is made");
        let _ = timeout(Duration::ZERO, watch.changed()).await;
        write(root, "a/b/last");
        let changed = timeout(Duration::from_secs(5), watch.changed()).await;
        changed.expect("it is reported").expect("the watch stands");
        fs::remove_dir_all(root.join("a")).expect("it is removed");
    }
}
