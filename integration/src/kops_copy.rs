//! Copies of state stores that kops' own tests make.

use crate::agent::{self, Ended};
use crate::http::{Reply, Server};
use crate::skip::conformance;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Clusters of different minors, layouts and networks.
pub const CLUSTERS: [&str; 6] = [
    "minimal-1.32",
    "minimal-1.34",
    "minimal-1.35",
    "ha",
    "privatecalico",
    "minimal-dns-none",
];

/// What a copy of a state store is a copy of.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    Buckets,
    Bucket,
    /// The cluster's directory alone, under another name.
    Cluster,
}

/// Every shape.
pub const SHAPES: [Shape; 3] = [Shape::Buckets, Shape::Bucket, Shape::Cluster];

/// A copy of a cluster's state store.
pub struct Copied {
    folder: TempDir,
    case: PathBuf,
    /// The store, as it is named on the command line.
    pub store: String,
    pub base: PathBuf,
    pub cluster: String,
}

impl Copied {
    /// A copy of this shape; `None`, with the reason printed, where the data is not here.
    pub fn new(case: &str, shape: Shape) -> Option<Self> {
        let case = conformance("kops/cases")?.join(case);
        let original = bases(&case.join("statestore")).remove(0);
        let parts: Vec<_> = original.iter().rev().take(2).collect();
        let (cluster, bucket) = (parts[0].to_owned(), parts[1].to_owned());
        let folder = tempfile::tempdir().expect("a temporary directory");
        let at = folder.path();
        let (store, base) = match shape {
            Shape::Buckets => (at.join("copy"), at.join("copy").join(bucket).join(&cluster)),
            Shape::Bucket => (at.join("copy"), at.join("copy").join(&cluster)),
            Shape::Cluster => (at.join("renamed"), at.join("renamed")),
        };
        copy(&original, &base);
        Some(Self {
            store: plain(&store),
            base,
            cluster: cluster.to_string_lossy().into_owned(),
            case,
            folder,
        })
    }

    /// The instance groups, with the names of their roles' directories.
    pub fn groups(&self) -> Vec<(String, String)> {
        let mut groups = Vec::new();
        for role in names(&self.base.join("igconfig")) {
            let found = names(&self.base.join("igconfig").join(&role));
            groups.extend(found.into_iter().map(|group| (role.clone(), group)));
        }
        groups
    }

    /// Has the assets of all nodes be those of a mirror.
    pub fn point_at(&self, mirror: &Server) {
        for (role, group) in self.groups() {
            let file = self.base.join("igconfig").join(role).join(group);
            let file = file.join("nodeupconfig.yaml");
            let text = fs::read_to_string(&file).expect("the file is there");
            let lines = text.lines().map(|line| match line.split_once("@https://") {
                Some((digest, url)) => {
                    let path = url.split_once('/').map_or("", |(_, path)| path);
                    format!("{digest}@{}/{path}\n", mirror.base())
                }
                None => format!("{line}\n"),
            });
            fs::write(&file, lines.collect::<String>()).expect("a directory of ours");
        }
    }

    /// A path beside the store.
    pub fn at(&self, name: &str) -> String {
        plain(&self.folder.path().join(name))
    }

    /// The `kube_env.yaml` of a recorded boot.
    pub fn kube_env(&self, group: &str) -> String {
        plain(&self.case.join("boot").join(group).join("kube_env.yaml"))
    }

    /// The cluster's volumes, as the AWS CLI describes them.
    pub fn volumes(&self) -> String {
        let text = fs::read(self.case.join("volumes.json")).expect("the file is there");
        let known: Value = serde_json::from_slice(&text).expect("it is JSON");
        let known = known.as_array().expect("a list").iter().enumerate();
        let volumes = known.map(|(number, volume)| {
            let tags = volume["tags"].as_object().into_iter().flatten();
            let tags = tags.map(|(key, value)| json!({ "Key": key, "Value": value }));
            json!({
                "VolumeId": format!("vol-{number:017x}"),
                "AvailabilityZone": volume["availability_zone"],
                "Size": 20,
                "State": "available",
                "Encrypted": true,
                "CreateTime": "2026-11-02T00:00:00Z",
                "Attachments": [],
                "Tags": tags.collect::<Vec<_>>(),
            })
        });
        let described = json!({ "Volumes": volumes.collect::<Vec<_>>() });
        let file = self.at("volumes.json");
        fs::write(&file, described.to_string()).expect("a directory of ours");
        file
    }
}

/// Serves the stand-ins of all release files in this directory by the paths of their URLs.
pub fn mirror(assets: PathBuf) -> Server {
    Server::start(move |request| {
        let path = request.path().trim_start_matches('/').to_owned();
        match fs::read(assets.join(path)) {
            Ok(bytes) => Reply::new(200, bytes),
            Err(_) => Reply::new(404, ""),
        }
    })
    .expect("loopback has a free port")
}

/// The name of the first member of etcd, as the tags of the volumes in this file have it, and its volume of `main`.
pub fn first_member(volumes: &str) -> (String, String) {
    let text = fs::read(volumes).expect("it was written");
    let known: Value = serde_json::from_slice(&text).expect("it is JSON");
    let volumes = known["Volumes"].as_array().expect("a list").iter();
    let mut members = volumes.filter_map(|volume| {
        let tags = volume["Tags"].as_array()?.iter();
        let mut main = tags.filter(|tag| tag["Key"] == "k8s.io/etcd/main");
        let (member, _) = main.next()?["Value"].as_str()?.split_once('/')?;
        Some((member.to_owned(), volume["VolumeId"].as_str()?.to_owned()))
    });
    members.next().expect("etcd has a member")
}

/// Runs the agent; it must end so.
pub fn run(words: &[&str], status: i32) -> Ended {
    let ended = agent::run(words);
    assert_eq!(ended.status, status, "{words:?}\n{}", ended.text());
    ended
}

/// The directories of clusters in a directory of buckets, sorted.
fn bases(store: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for bucket in names(store) {
        let clusters = names(&store.join(&bucket));
        found.extend(clusters.iter().map(|name| store.join(&bucket).join(name)));
    }
    found.retain(|base| base.join("cluster-completed.spec").is_file());
    found
}

/// The names of the directories in a directory, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the directory can be listed");
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Copies a directory with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory of ours");
    let entries = fs::read_dir(from).expect("the data can be listed");
    for entry in entries.flatten() {
        let (path, into) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &into),
            false => {
                let bytes = fs::read(&path).expect("the data can be read");
                fs::write(into, bytes).expect("a directory of ours");
            }
        }
    }
}

/// A path as text.
pub fn plain(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}
