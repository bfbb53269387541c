//! The files that kubelet runs pods from, as kubelet reads them: every file but those that begin with a dot, whatever
//! they end in.

use crate::checks::node::Node;
use quake_formats::syntax::{self, Misread};
use quake_formats::yaml::Yaml;
use quake_model::facts::{EntryKind, Unseen};

/// Where a survey looks at manifests.
pub(super) const DIRECTORY: &str = "/etc/kubernetes/manifests";

/// A file of the directory.
pub(super) struct Manifest<'a> {
    /// Its name in the directory.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    /// What is in it, or where it is no YAML.
    pub(super) document: Result<Yaml, Misread>,
}

/// The files that kubelet reads, sorted by their names.
///
/// # Errors
///
/// As the files when they cannot be read.
pub(super) fn manifests<'a>(node: &Node<'a>) -> Result<Vec<Manifest<'a>>, Unseen> {
    if let Some(why) = node.survey().unreadable.get(DIRECTORY) {
        return Err(Unseen::Failed(format!("{DIRECTORY}: {why}")));
    }
    let mut found = Vec::new();
    for (name, entry) in node.list(DIRECTORY) {
        let is_file = matches!(entry.kind, EntryKind::File | EntryKind::Link);
        if !is_file || name.starts_with('.') {
            continue;
        }
        if let Some(text) = node.text(&format!("{DIRECTORY}/{name}"))? {
            let document = syntax::yaml(text);
            found.push(Manifest {
                name,
                text,
                document,
            });
        }
    }
    Ok(found)
}

impl Manifest<'_> {
    /// Its path.
    pub(super) fn path(&self) -> String {
        format!("{DIRECTORY}/{}", self.name)
    }

    /// What its pod is made of, where it can be read.
    pub(super) fn spec(&self) -> Option<&Yaml> {
        self.document.as_ref().ok()?.get("spec")
    }

    /// The pod's namespace and name, where it is a pod.
    pub(super) fn pod(&self) -> Option<(&str, &str)> {
        let document = self.document.as_ref().ok()?;
        if document.text_of("kind") != Some("Pod") {
            return None;
        }
        let metadata = document.get("metadata")?;
        let namespace = metadata.text_of("namespace").unwrap_or("default");
        Some((namespace, metadata.text_of("name")?))
    }

    /// The host's paths in it, each with the kind that it is to have, and with the line where it stands.
    pub(super) fn host_paths(&self) -> Vec<(&str, &str, usize)> {
        let volumes = self
            .spec()
            .map_or(&[][..], |spec| spec.items_of("volumes"))
            .iter();
        volumes
            .filter_map(|volume| {
                let host = volume.get("hostPath")?;
                let kind = host.text_of("type").unwrap_or_default();
                Some((host.text_of("path")?, kind, host.line))
            })
            .collect()
    }
}

/// The words of a container's command line. Older versions of kops have them within a line for a shell.
pub(super) fn words(container: &Yaml) -> impl Iterator<Item = &str> {
    let texts = ["command", "args"].into_iter();
    let texts = texts.flat_map(|key| container.items_of(key));
    texts.filter_map(Yaml::text).flat_map(str::split_whitespace)
}

/// The images of all manifests that can be read, each once.
///
/// # Errors
///
/// As the files when they cannot be read.
pub(in crate::checks) fn images(node: &Node<'_>) -> Result<Vec<String>, Unseen> {
    let manifests = manifests(node)?;
    let mut images: Vec<String> = manifests
        .iter()
        .filter_map(Manifest::spec)
        .flat_map(|spec| {
            spec.items_of("initContainers")
                .iter()
                .chain(spec.items_of("containers"))
        })
        .filter_map(|container| container.text_of("image").map(str::to_owned))
        .collect();
    images.sort();
    images.dedup();
    Ok(images)
}
