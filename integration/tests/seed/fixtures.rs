//! A state store, a mirror of its nodes' assets, and what is done with both.

use quake_integration::agent::{self, Ended};
use quake_integration::http::{Reply, Server};
use quake_integration::node::{Mirrored, kube_env, write_state_store};
use quake_integration::store::wrong_in_store;
use serde_json::Value;
use std::fs::{File, FileTimes};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const STORE: &str = "var/lib/quake-agent/store";

/// A state store whose nodes' assets a mirror serves.
pub(crate) struct Fixture {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) files: Mirrored,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("the directory is ours");
        std::fs::create_dir(folder.path().join("state")).expect("the directory is ours");
        write_state_store(&folder.path().join("state")).expect("the directory is ours");
        let files = Mirrored::programs().expect("the directory is ours");
        Self { folder, files }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        plain(&self.folder.path().join(name)).to_owned()
    }

    pub(crate) fn mirror(&self) -> Server {
        let files = self.files.clone();
        Server::start(move |request| match files.at(request.path()) {
            Some(bytes) => Reply::new(200, bytes),
            None => Reply::new(404, ""),
        })
        .expect("the directory is ours")
    }

    /// Has the node's assets be those of this mirror; returns their pins.
    pub(crate) fn pin(&self, mirror: &Server) -> Vec<String> {
        let pins = self.files.pins(&mirror.base());
        self.pin_only(&pins);
        pins
    }

    pub(crate) fn pin_only(&self, pins: &[String]) {
        let text = kube_env("control-plane", pins);
        std::fs::write(self.path("state/kube_env.yaml"), text).expect("the directory is ours");
    }

    pub(crate) fn seed(&self, root: &str) -> Value {
        let state = self.path("state");
        let ended = agent::run(&[
            "seed",
            "build",
            "--state-store",
            &state,
            "--instance-group",
            "control-plane",
            "--root",
            root,
            "--output",
            "json",
        ]);
        assert_eq!(ended.status, 0, "{}", ended.text());
        ended.summary()
    }

    pub(crate) fn boot(&self, root: &str) -> Ended {
        let state = self.path("state");
        agent::run(&[
            "rehearse",
            &state,
            "--root",
            root,
            "--assets",
            "fetch",
            "--exit-when-ready",
            "--output",
            "json",
            "--listen",
            "off",
            "--deadline",
            "20s",
        ])
    }

    pub(crate) fn becomes_ready(&self, root: &str) {
        let ended = self.boot(root);
        assert_eq!(ended.status, 0, "{}", ended.text());
        assert_eq!(ended.summary()["result"], "ready");
        assert_eq!(wrong_in_store(Path::new(root)), Vec::<String>::new());
    }
}

pub(crate) fn plain(path: &Path) -> &str {
    path.to_str()
        .expect("a temporary directory has a plain name")
}

pub(crate) fn outcomes(summary: &Value, outcome: &str) -> usize {
    let assets = summary["assets"].as_array().cloned().unwrap_or_default();
    assets.iter().filter(|it| it["outcome"] == outcome).count()
}

/// Copies a whole root as an image builder may: the same times, other inodes.
pub(crate) fn copy(from: &str, to: &str) {
    let status = Command::new("cp")
        .args(["-a", from, to])
        .status()
        .expect("the directory is ours");
    assert!(status.success());
}

/// What of the mirror's files was asked for since `before` requests.
pub(crate) fn requests(mirror: &Server, before: usize) -> Vec<String> {
    let seen = mirror.seen().into_iter().skip(before);
    let mut paths: Vec<String> = seen.map(|it| it.path().to_owned()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Flips one bit in the middle of a file and puts its time of writing back.
pub(crate) fn flip(path: &Path) {
    let modified = path
        .metadata()
        .and_then(|it| it.modified())
        .expect("the directory is ours");
    let at = path.metadata().expect("the directory is ours").len() / 2;
    let file = File::options()
        .read(true)
        .write(true)
        .open(path)
        .expect("the directory is ours");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at)
        .expect("the directory is ours");
    file.write_all_at(&[byte[0] ^ 1], at)
        .expect("the directory is ours");
    file.set_times(FileTimes::new().set_modified(modified))
        .expect("the directory is ours");
}

/// The store's files that hold bytes of assets.
pub(crate) fn kept_files(root: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(root).join(STORE).join("sha256")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)
            .expect("the directory is ours")
            .flatten()
        {
            let path = entry.path();
            let is_note = path
                .extension()
                .is_some_and(|it| it == "json" || it == "stamp");
            if path.is_dir() {
                folders.push(path);
            } else if !is_note {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
