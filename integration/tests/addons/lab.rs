//! A cluster served over TLS, and a copy of the channel of one of kops' own that may be changed.

use quake_apisim::ApiServer;
use quake_integration::agent::{self, Ended};
use quake_integration::api_server::ApiStandIn;
use quake_integration::authority::Authority;
use quake_integration::skip::{conformance, unless_missing};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const CASES: [&str; 3] = ["minimal-1.35", "ha", "privatecalico"];

/// A cluster, and a copy of the channel of one of kops' own that may be changed.
pub(crate) struct Lab {
    pub(crate) server: ApiStandIn,
    folder: tempfile::TempDir,
    kubeconfig: PathBuf,
}

/// The folder of a case's channel.
pub(crate) fn channel_of(case: &Path) -> PathBuf {
    let mut folder = case.join("statestore");
    // One folder in another, down to the cluster's.
    while !folder.join("addons").is_dir() {
        let entries = fs::read_dir(&folder).expect("the data can be listed");
        let mut paths = entries.flatten().map(|entry| entry.path());
        folder = paths
            .find(|path| path.is_dir())
            .expect("there is a cluster");
    }
    folder.join("addons")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder of ours");
    for entry in fs::read_dir(from)
        .expect("the data can be listed")
        .flatten()
    {
        let (path, into) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &into);
        } else {
            let text = fs::read(&path).expect("the data can be read");
            fs::write(into, text).expect("a folder of ours");
        }
    }
}

/// `None`, with the reason printed, where something is missing here.
pub(crate) fn lab(case: &str, model: ApiServer) -> Option<Lab> {
    let cases = conformance("kops/cases")?;
    let authority = unless_missing(Authority::new())?;
    let folder = tempfile::tempdir().expect("a temporary directory");
    copy(
        &channel_of(&cases.join(case)),
        &folder.path().join("addons"),
    );
    let server = unless_missing(ApiStandIn::by_tls(model, authority))?;
    let client = server
        .client("/O=system:masters/CN=kops")
        .expect("a certificate");
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(&kubeconfig, server.kubeconfig(Some(&client))).expect("a folder of ours");
    Some(Lab {
        server,
        folder,
        kubeconfig,
    })
}

impl Lab {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("addons").join(name)
    }

    pub(crate) fn run(&self, verb: &[&str]) -> Ended {
        let channel = self.path("bootstrap-channel.yaml");
        let mut arguments = vec!["addons"];
        arguments.extend(verb);
        arguments.extend([
            "--kubeconfig",
            plain(&self.kubeconfig),
            "--channel",
            plain(&channel),
            "--output",
            "json",
        ]);
        agent::run(&arguments)
    }

    /// What was written since, and forgotten.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.server.cluster(|model| {
            let writes = model.journal().writes();
            model.clear_journal();
            writes
        })
    }

    /// Changes a file of the copy.
    pub(crate) fn edit(&self, name: &str, change: impl FnOnce(String) -> String) {
        let path = self.path(name);
        let text = fs::read_to_string(&path).expect("it is there");
        fs::write(path, change(text)).expect("a folder of ours");
    }

    pub(crate) fn has(&self, kind: &str, namespace: &str, name: &str) -> bool {
        self.server
            .cluster(|model| model.object(kind, namespace, name).is_some())
    }

    /// The annotations by which kops knows what is applied.
    pub(crate) fn noted(&self) -> Vec<String> {
        self.server.cluster(|model| {
            let found = model.object("Namespace", "", "kube-system");
            let noted = found.and_then(|found| found["metadata"]["annotations"].as_object());
            let keys = noted.into_iter().flat_map(|noted| noted.keys());
            keys.filter(|key| key.starts_with("addons.k8s.io/"))
                .cloned()
                .collect()
        })
    }
}

pub(crate) fn plain(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

pub(crate) fn model() -> ApiServer {
    ApiServer::new("v1.35.0")
}

impl Lab {
    /// How many add-ons the channel has, all of them applied.
    pub(crate) fn summary_of_list(&self) -> usize {
        let ended = self.run(&["list"]);
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        let listed: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        assert_eq!(listed["allApplied"], true, "{listed}");
        listed["addons"].as_array().expect("a list").len()
    }
}
