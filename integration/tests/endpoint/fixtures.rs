//! A boot that waits until a test lets it go on.

use quake_integration::agent::{self, Running};
use quake_integration::http::{Endpoint, Reply, Server, get};
use quake_integration::node::{Mirrored, kube_env, write_state_store};
use quake_integration::waiting::wait_until;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// A boot of the example's workers that waits for a mirror which answers 503 until it is opened.
pub(crate) struct Waiting {
    pub(crate) folder: TempDir,
    pub(crate) open: Arc<AtomicBool>,
    _mirror: Server,
    pub(crate) running: Running,
    pub(crate) tcp: Endpoint,
    pub(crate) unix: Endpoint,
}

impl Waiting {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let files = Mirrored::programs().expect("this machine has programs");
        let open = Arc::new(AtomicBool::new(false));
        let (is_open, served) = (Arc::clone(&open), files.clone());
        let mirror = Server::start(move |request| match served.at(request.path()) {
            _ if !is_open.load(Ordering::SeqCst) => Reply::new(503, "closed"),
            Some(bytes) => Reply::new(200, bytes),
            None => Reply::new(404, ""),
        })
        .expect("loopback has a free port");
        let store = folder.path().join("store");
        write_state_store(&store).expect("the state store is written");
        let text = kube_env("workers", &files.pins(&mirror.base()));
        std::fs::write(store.join("kube_env.yaml"), text).expect("the directory is ours");
        let root = folder.path().join("root");
        let arguments = [
            "rehearse",
            plain(&store),
            "--root",
            plain(&root),
            "--assets",
            "fetch",
            "--listen",
            "127.0.0.1:0",
        ];
        let mut running = Running::start(agent::command(&arguments));
        let address = running
            .wait_for("readiness: http://")
            .expect("the endpoint is announced");
        let address = address.split('/').next().and_then(|text| text.parse().ok());
        let tcp = Endpoint::Tcp(address.expect("an address is announced"));
        let unix = Endpoint::Unix(root.join("run/quake-agent/quake-agent.sock"));
        Self {
            folder,
            open,
            _mirror: mirror,
            running,
            tcp,
            unix,
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.root().join("run/quake-agent/quake-agent.sock")
    }

    /// Waits until the boot waits for the mirror.
    pub(crate) fn until_it_waits(&self) -> String {
        let mut text = String::new();
        let waits = wait_until(Duration::from_secs(20), || {
            text = get(&self.tcp, "/readyz?verbose")
                .map(|answer| answer.text())
                .unwrap_or_default();
            text.contains("[-]assets failed: assets.unreachable")
        });
        assert!(waits, "{text}{}", self.running.stdout());
        text
    }

    /// Opens the mirror and waits until the node is ready.
    pub(crate) fn until_it_is_ready(&mut self) {
        self.open.store(true, Ordering::SeqCst);
        let ready = wait_until(Duration::from_secs(40), || {
            get(&self.tcp, "/readyz").is_ok_and(|answer| answer.status == 200)
        });
        assert!(ready, "{}", self.running.stdout());
        self.running
            .wait_for("serving http://")
            .expect("it stays after it is ready");
    }
}

pub(crate) fn plain(path: &Path) -> &str {
    path.to_str()
        .expect("a temporary directory has a plain name")
}

pub(crate) fn status(endpoint: &Endpoint, path: &str) -> u16 {
    get(endpoint, path).map_or(0, |answer| answer.status)
}
