//! A cluster, and a copy of the channel of one of kops' own that may be changed.

use crate::server::Server;
use quake_apisim::ApiServer;
use quake_integration::agent::{self, Ended, Running};
use quake_integration::skip::conformance;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A cluster, and a copy of the channel of one of kops' own that may be changed.
pub(crate) struct Lab {
    pub(crate) server: Server,
    folder: tempfile::TempDir,
}

/// The directory of a case's channel.
fn channel_of(case: &Path) -> PathBuf {
    let mut folder = case.join("statestore");
    // One directory in another, down to the cluster's.
    while !folder.join("addons").is_dir() {
        let entries = fs::read_dir(&folder).expect("the data can be listed");
        let mut paths = entries.flatten().map(|entry| entry.path());
        folder = paths
            .find(|path| path.is_dir())
            .expect("there is a cluster");
    }
    folder.join("addons")
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory of ours");
    for entry in fs::read_dir(from)
        .expect("the data can be listed")
        .flatten()
    {
        let (path, into) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &into);
        } else {
            let text = fs::read(&path).expect("the data can be read");
            fs::write(into, text).expect("a directory of ours");
        }
    }
}

impl Lab {
    /// With the stand-in of an API server; `None`, with the reason printed, where something is missing here.
    pub(crate) fn with_stand_in(case: &str, model: ApiServer) -> Option<Self> {
        Self::new(case, || Server::stand_in(model))
    }

    /// With a kube-apiserver; `None` as above.
    pub(crate) fn with_kube_apiserver(case: &str) -> Option<Self> {
        Self::new(case, Server::real)
    }

    fn new(case: &str, server: impl FnOnce() -> Option<Server>) -> Option<Self> {
        let cases = conformance("kops/cases")?;
        let lab = Self {
            server: server()?,
            folder: tempfile::tempdir().expect("a temporary directory"),
        };
        copy(&channel_of(&cases.join(case)), &lab.at("addons"));
        fs::write(lab.kubeconfig(), lab.server.kubeconfig()).expect("a directory of ours");
        Some(lab)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.at("kubeconfig")
    }

    fn words(&self, verb: &[&str]) -> Vec<String> {
        let plain = |path: PathBuf| path.to_string_lossy().into_owned();
        let channel = plain(self.at("addons/bootstrap-channel.yaml"));
        let place = [
            "--kubeconfig".to_owned(),
            plain(self.kubeconfig()),
            "--channel".to_owned(),
            channel,
        ];
        let words = std::iter::once("addons").chain(verb.iter().copied());
        words.map(str::to_owned).chain(place).collect()
    }

    /// Runs the command as a person does.
    pub(crate) fn say(&self, verb: &[&str]) -> Ended {
        agent::run(&self.words(verb))
    }

    /// Runs the command as a program does.
    pub(crate) fn run(&self, verb: &[&str]) -> Ended {
        self.say(&[verb, &["--output", "json"]].concat())
    }

    /// Starts the command.
    pub(crate) fn start(&self, verb: &[&str]) -> Running {
        Running::start(agent::command(&self.words(verb)))
    }

    /// What the command tells; it must end so.
    pub(crate) fn reported(&self, verb: &[&str], status: i32) -> Value {
        let ended = self.run(verb);
        assert_eq!(ended.status, status, "{verb:?}\n{}", ended.text());
        ended.summary()
    }

    /// Changes a file of the copy.
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        self.change(name, |text| {
            assert!(text.contains(from), "{name} has no {from}");
            text.replacen(from, to, 1)
        });
    }

    /// Changes a file of the copy, as a whole.
    pub(crate) fn change(&self, name: &str, change: impl FnOnce(String) -> String) {
        let path = self.at("addons").join(name);
        let text = fs::read_to_string(&path).expect("it is there");
        fs::write(path, change(text)).expect("a directory of ours");
    }

    /// The annotations by which kops knows what is applied.
    pub(crate) fn noted(&self) -> Vec<String> {
        let found = self.server.get("/api/v1/namespaces/kube-system");
        let found = found.expect("every cluster has it");
        let noted = found["metadata"]["annotations"].as_object();
        let keys = noted.into_iter().flat_map(|noted| noted.keys());
        keys.filter(|key| key.starts_with("addons.k8s.io/"))
            .cloned()
            .collect()
    }

    pub(crate) fn has(&self, resource: &str, name: &str) -> bool {
        let path = format!("/apis/apps/v1/namespaces/kube-system/{resource}/{name}");
        self.server.get(&path).is_some()
    }
}

/// Over all add-ons.
pub(crate) fn sum(reported: &Value, of: &str) -> u64 {
    let addons = reported["addons"].as_array().expect("a list of add-ons");
    addons.iter().filter_map(|addon| addon[of].as_u64()).sum()
}
