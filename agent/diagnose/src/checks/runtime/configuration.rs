//! containerd's configuration as it takes effect: the file, what it imports, and which of its sections count.

use crate::checks::node::Node;
use quake_formats::syntax::{self, Misread};
use quake_model::facts::Unseen;
use quake_model::pattern::matches_path;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// containerd's configuration.
pub(in crate::checks) const CONFIG: &str = "/etc/containerd/config.toml";

/// The sections of the plugin that serves kubelet, by the version of the format: what runs containers, and what has
/// images. The first two versions have both in one.
const SECTIONS: [(&str, &str); 3] = [
    ("cri", "cri"),
    ("io.containerd.grpc.v1.cri", "io.containerd.grpc.v1.cri"),
    (
        "io.containerd.cri.v1.runtime",
        "io.containerd.cri.v1.images",
    ),
];

/// A configuration with what it imports.
#[derive(Debug)]
pub(in crate::checks) struct Configuration<'a> {
    /// The file and its imports in the order in which they are read.
    pub(super) documents: Vec<(&'a str, Value)>,
    /// The version of its format.
    pub(super) version: i64,
}

/// What came of reading a configuration.
#[derive(Debug)]
pub(in crate::checks) enum Reading<'a> {
    /// There is none, and containerd runs with its defaults.
    Absent,
    /// A file of it is no TOML: its path, its text, and what is wrong with it.
    Broken(&'a str, &'a str, Misread),
    Read(Configuration<'a>),
}

/// Reads containerd's configuration.
///
/// # Errors
///
/// As the file when it cannot be looked at.
pub(in crate::checks) fn read<'a>(node: &Node<'a>) -> Result<Reading<'a>, Unseen> {
    let Some(text) = node.text(CONFIG)? else {
        return Ok(Reading::Absent);
    };
    let main = match syntax::toml(text) {
        Ok(main) => main,
        Err(misread) => return Ok(Reading::Broken(CONFIG, text, misread)),
    };
    // Without the key it is the first version.
    let version = main.get("version").and_then(Value::as_i64).unwrap_or(1);
    let mut documents = Vec::new();
    for (path, text) in imported(node, &main) {
        match syntax::toml(text) {
            Ok(document) => documents.push((path, document)),
            Err(misread) => return Ok(Reading::Broken(path, text, misread)),
        }
    }
    documents.insert(0, (CONFIG, main));
    Ok(Reading::Read(Configuration { documents, version }))
}

/// The files that are imported, of those that were looked at, sorted as containerd's globbing sorts them.
fn imported<'a>(node: &Node<'a>, main: &Value) -> BTreeMap<&'a str, &'a str> {
    let patterns = main.get("imports").and_then(Value::as_array);
    let patterns: Vec<String> = patterns
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|pattern| match pattern.starts_with('/') {
            true => pattern.to_owned(),
            false => format!("/etc/containerd/{pattern}"),
        })
        .collect();
    let texts = node.survey().texts.iter();
    texts
        .filter(|(path, _)| *path != CONFIG)
        .filter(|(path, _)| patterns.iter().any(|pattern| matches_path(pattern, path)))
        .filter_map(|(path, text)| Some((path.as_str(), text.ok()?.as_str())))
        .collect()
}

impl Configuration<'_> {
    /// The files that have a section of plugins, in the order in which they are read; the last one's counts.
    pub(super) fn holders(&self, section: &str) -> Vec<(&str, &Value)> {
        let documents = self.documents.iter();
        documents
            .filter_map(|(path, document)| Some((*path, document.get("plugins")?.get(section)?)))
            .collect()
    }

    /// The names of all sections of plugins.
    pub(super) fn sections(&self) -> impl Iterator<Item = (&str, &str)> {
        self.documents.iter().flat_map(|(path, document)| {
            let plugins = document.get("plugins").and_then(Value::as_object);
            let names = plugins.into_iter().flat_map(Map::keys);
            names.map(move |name| (*path, name.as_str()))
        })
    }

    /// The plugins that are turned off.
    pub(super) fn disabled(&self) -> impl Iterator<Item = &str> {
        let lists = self.documents.iter();
        lists
            .filter_map(|(_, document)| document.get("disabled_plugins")?.as_array())
            .flatten()
            .filter_map(Value::as_str)
    }

    /// The names of the sections that count for kubelet: of what runs containers, and of what has images.
    pub(super) fn section_names(&self) -> (&'static str, &'static str) {
        let index = usize::try_from(self.version.clamp(1, 3) - 1).unwrap_or(0);
        SECTIONS[index]
    }

    fn last(&self, section: &str) -> Option<&Value> {
        self.holders(section).last().map(|(_, value)| *value)
    }

    fn runtime(&self) -> Option<&Value> {
        self.last(self.section_names().0)
    }

    fn images(&self) -> Option<&Value> {
        self.last(self.section_names().1)
    }

    /// Whether containers' control groups are made through systemd.
    pub(in crate::checks) fn systemd_groups(&self) -> bool {
        let truth = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
        let Some(runtime) = self.runtime() else {
            return false;
        };
        let containerd = runtime.get("containerd");
        let name = containerd
            .and_then(|section| section.get("default_runtime_name")?.as_str())
            .unwrap_or("runc");
        let options =
            containerd.and_then(|section| section.get("runtimes")?.get(name)?.get("options"));
        truth(options.and_then(|options| options.get("SystemdCgroup")))
            || truth(runtime.get("systemd_cgroup"))
    }

    /// What keeps images' layers, where it is set.
    pub(super) fn snapshotter(&self) -> Option<&str> {
        let of_containerd = self
            .runtime()
            .and_then(|runtime| runtime.get("containerd")?.get("snapshotter"));
        let of_images = self.images().and_then(|images| images.get("snapshotter"));
        of_images.or(of_containerd)?.as_str()
    }

    /// Snapshotters that are programs of their own.
    pub(super) fn proxied(&self) -> impl Iterator<Item = &str> {
        let tables = self.documents.iter();
        tables
            .filter_map(|(_, document)| document.get("proxy_plugins")?.as_object())
            .flat_map(Map::keys)
            .map(String::as_str)
    }

    /// The image that every pod needs, where it is set.
    pub(in crate::checks) fn sandbox_image(&self) -> Option<&str> {
        let images = self.images()?;
        let pinned = images
            .get("pinned_images")
            .and_then(|pinned| pinned.get("sandbox"));
        pinned.or_else(|| images.get("sandbox_image"))?.as_str()
    }

    /// The section about registries.
    pub(super) fn registry(&self) -> Option<&Value> {
        self.images()?.get("registry")
    }

    /// The template that containerd writes the pod network's configuration from, where it has one.
    pub(in crate::checks) fn network_template(&self) -> Option<&str> {
        let template = self.runtime()?.get("cni")?.get("conf_template")?.as_str()?;
        (!template.is_empty()).then_some(template)
    }

    /// Where containerd listens, where that is set.
    pub(super) fn socket(&self) -> Option<&str> {
        let documents = self.documents.iter().rev();
        let mut set = documents.filter_map(|(_, it)| it.get("grpc")?.get("address")?.as_str());
        set.next()
    }

    /// The directory of the pod network's configuration, where it is set.
    pub(in crate::checks) fn network_directory(&self) -> Option<&str> {
        self.runtime()?.get("cni")?.get("conf_dir")?.as_str()
    }
}
