//! A node as it is compared: its files, its units, and rows of everything else, each with one value.

use super::iam_calls::iam_calls;
use super::words;
use quake_model::item::{File, Item, Source, Unit};
use quake_model::spec::{NodeSpec, Runtime};
use quake_model::step::{Contents, Visibility};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// A program's flag.
    Flag,
    /// A value of a program's configuration file.
    Setting,
    /// A setting of the kernel.
    Sysctl,
    Module,
    Package,
    Image,
    /// A file that is downloaded.
    Asset,
    /// A certificate that is ordered: who signs it, and for whom.
    Certificate,
    User,
    /// A name in `/etc/hosts`.
    HostRecord,
    /// A volume that is mounted.
    Volume,
    /// A call to AWS that the node makes, and what it reaches.
    IamCall,
    /// An add-on of the cluster, by what tells its versions apart.
    Addon,
    /// What the node is, such as its runtime.
    Fact,
}

/// Values by what they are about and by their names.
pub(super) type Rows = BTreeMap<(Aspect, String), String>;

/// A file, a directory or a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileView {
    pub(super) kind: FileKind,
    pub(super) mode: u32,
    pub(super) owner: String,
    pub(super) visibility: Visibility,
    pub(super) content: Content,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    File,
    Directory,
    Link,
    /// A file of the asset store.
    Program,
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Bytes(Contents),
    /// What it is made of, where the bytes are made on the node: a certificate, a program, a link.
    Made(String),
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct NodeView {
    pub(super) files: BTreeMap<String, FileView>,
    pub(super) units: BTreeMap<String, Unit>,
    pub(super) rows: Rows,
}

impl NodeView {
    /// The node of a spec with its items.
    pub(super) fn new(spec: &NodeSpec) -> Self {
        let mut view = Self::default();
        spec.items.iter().for_each(|item| view.add(item));
        for asset in &spec.assets {
            let from = asset.urls.first().map_or("", String::as_str);
            let value = format!("{} {from}", asset.digest);
            view.put(Aspect::Asset, &asset.name, value);
        }
        for image in &spec.images {
            let digest = image.archive.digest.to_string();
            view.put(Aspect::Image, &image.name, digest);
        }
        view.add_facts(spec);
        for (call, reach) in iam_calls(spec) {
            view.put(Aspect::IamCall, &call, reach);
        }
        let found = words::rows(&view);
        view.rows.extend(found);
        view
    }

    /// The value of a row.
    pub(super) fn row(&self, aspect: Aspect, name: &str) -> Option<&str> {
        self.rows
            .get(&(aspect, name.to_owned()))
            .map(String::as_str)
    }

    /// The rows of one kind.
    pub(super) fn rows_of(&self, aspect: Aspect) -> impl Iterator<Item = (&str, &str)> {
        let rows = self.rows.iter().filter(move |((of, _), _)| *of == aspect);
        rows.map(|((_, name), value)| (name.as_str(), value.as_str()))
    }

    /// The text of a file that may be shown.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let file = self.files.get(path)?;
        match (&file.content, file.visibility) {
            (Content::Bytes(bytes), Visibility::Plain) => {
                Some(String::from_utf8_lossy(&bytes.0).into_owned())
            }
            (Content::Bytes(_), Visibility::Secret) | (Content::Made(_), _) => None,
        }
    }

    /// The kind and the version of a document, and nothing else; so also of a file that may not be shown.
    pub(super) fn kind_of(&self, path: &str) -> Option<(String, String)> {
        let Content::Bytes(bytes) = &self.files.get(path)?.content else {
            return None;
        };
        let text = std::str::from_utf8(&bytes.0).ok()?;
        let value = |key: &str| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
            Some(value.trim().trim_matches('"').to_owned())
        };
        Some((value("kind")?, value("apiVersion")?))
    }

    fn put(&mut self, aspect: Aspect, name: &str, value: impl Into<String>) {
        self.rows.insert((aspect, name.to_owned()), value.into());
    }

    fn add(&mut self, item: &Item) {
        match item {
            Item::File(file) => drop(self.files.insert(file.path.clone(), view_of(file))),
            Item::Directory(directory) => {
                let owner = format!("{}:{}", directory.owner.user, directory.owner.group);
                let path = directory.path.trim_end_matches('/').to_owned();
                let view = made(FileKind::Directory, directory.mode, String::new());
                self.files.insert(path, FileView { owner, ..view });
            }
            Item::Link(link) => {
                let view = made(FileKind::Link, 0o777, link.target.clone());
                self.files.insert(link.path.clone(), view);
            }
            Item::Program(place) => {
                let member = place.member.as_deref().unwrap_or_default();
                let what = format!("{} {member}", place.asset);
                let view = made(FileKind::Program, place.mode, what);
                self.files.insert(place.path.clone(), view);
            }
            Item::Unit(unit) => {
                if let Some(file) = &unit.file {
                    let plain = File::plain(&file.path, file.text.clone());
                    self.files.insert(file.path.clone(), view_of(&plain));
                }
                self.units.insert(unit.name.clone(), unit.clone());
            }
            _ => self.add_row(item),
        }
    }

    fn add_row(&mut self, item: &Item) {
        match item {
            Item::Package(package) => {
                let need = json(&package.need);
                self.put(Aspect::Package, &package.name, need);
            }
            Item::PackageSource(source) => {
                let lines = source.lines.join("; ");
                self.put(Aspect::Package, &format!("source {}", source.name), lines);
            }
            Item::User(user) => self.put(Aspect::User, &user.name, user.uid.to_string()),
            Item::Module(module) => {
                let need = json(&module.need);
                self.put(Aspect::Module, &module.name, need);
            }
            Item::Sysctl(sysctl) => self.put(Aspect::Sysctl, &sysctl.key, sysctl.value.clone()),
            Item::Certificate(order) => self.put(Aspect::Certificate, &order.name, json(order)),
            Item::HostRecord(record) => {
                self.put(Aspect::HostRecord, &record.name, record.address.clone());
            }
            Item::Image(image) => {
                let digest = image.archive.digest.to_string();
                self.put(Aspect::Image, &image.name, digest);
            }
            Item::PulledImage { name } => self.put(Aspect::Image, name, "pulled ahead"),
            Item::Volume(volume) => self.put(Aspect::Volume, &volume.path, json(volume)),
            _ => {}
        }
    }

    /// What the node is, whatever its files are called.
    fn add_facts(&mut self, spec: &NodeSpec) {
        let runtime = match &spec.runtime {
            Runtime::Docker(docker) => ("docker", docker.version.clone()),
            Runtime::Containerd { version } => ("containerd", version.clone()),
        };
        let version = runtime.1.unwrap_or_default();
        self.put(
            Aspect::Fact,
            "runtime",
            format!("{} {version}", runtime.0).trim_end(),
        );
        self.put(Aspect::Fact, "kubernetes", spec.kubernetes.to_string());
        self.put(Aspect::Fact, "role", spec.role.name());
        for etcd in &spec.etcd {
            let name = format!("etcd {}", etcd.name);
            self.put(Aspect::Fact, &name, etcd.version.clone());
        }
        for (label, value) in &spec.kubelet.labels {
            self.put(Aspect::Fact, &format!("label {label}"), value.clone());
        }
        for taint in &spec.kubelet.taints {
            self.put(Aspect::Fact, &format!("taint {taint}"), "set");
        }
    }
}

fn view_of(file: &File) -> FileView {
    let content = match &file.source {
        Source::Bytes(bytes) => Content::Bytes(bytes.clone()),
        // The order of the certificate is part of it: whoever signs another one, or for somebody else, changes the file.
        Source::Issued { .. } | Source::Kubeconfig(_) => Content::Made(json(&file.source)),
    };
    FileView {
        kind: FileKind::File,
        mode: file.mode,
        owner: format!("{}:{}", file.owner.user, file.owner.group),
        visibility: file.visibility,
        content,
    }
}

fn made(kind: FileKind, mode: u32, what: String) -> FileView {
    FileView {
        kind,
        mode,
        owner: "root:root".to_owned(),
        visibility: Visibility::Plain,
        content: Content::Made(what),
    }
}

/// A value in one line.
fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    // A bare word needs no quotes.
    text.trim_matches('"').to_owned()
}
