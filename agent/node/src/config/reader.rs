//! What the documents of every kops generation say alike, and the faults where they do not.

use quake_formats::yaml::Yaml;
use quake_model::fault::{Code, Fault};
use quake_model::location::{Location, LocationError};
use quake_model::spec::{Component, Flag, Role};
use std::collections::BTreeMap;

/// A fault for a key that a document must have, at the document's start.
pub(super) fn missing(source: &str, root: &Yaml, path: &str) -> Fault {
    let summary = format!("{path} is not given");
    root.fault(source, Code::ConfigMissingKey, summary)
        .seen("path", path)
}

/// The texts of the list at `key`.
pub(super) fn texts(parent: &Yaml, key: &str) -> Vec<String> {
    let items = parent.items_of(key).iter();
    items.filter_map(Yaml::text).map(str::to_owned).collect()
}

/// The texts of a map, by their keys.
pub(super) fn text_map(map: &Yaml) -> BTreeMap<String, String> {
    let entries = map.entries().iter();
    entries
        .filter_map(|(key, value)| Some((key.name.clone(), value.text()?.to_owned())))
        .collect()
}

/// The map of texts at `key`; what has no text is empty, as Go reads it.
pub(super) fn texts_by_key(parent: &Yaml, key: &str) -> BTreeMap<String, String> {
    let entries = parent.get(key).map_or(&[][..], Yaml::entries).iter();
    let text = |value: &Yaml| value.text().unwrap_or_default().to_owned();
    entries
        .map(|(key, value)| (key.name.clone(), text(value)))
        .collect()
}

/// The location that a node names.
pub(super) fn location(source: &str, node: &Yaml) -> Result<Location, Fault> {
    let text = node.text().unwrap_or_default();
    text.parse().map_err(|error: LocationError| {
        node.fault(source, Code::ConfigLocationUnusable, error.to_string())
    })
}

/// The role at `key` of `parent`, which is at `path` of the document and is called as `named` knows.
pub(super) fn role(
    source: &str,
    (parent, key, path): (&Yaml, &str, &str),
    named: fn(&str) -> Option<Role>,
) -> Result<Role, Fault> {
    let node = parent
        .get(key)
        .ok_or_else(|| missing(source, parent, path))?;
    let text = node.text().unwrap_or_default();
    named(text).ok_or_else(|| {
        let summary = format!("{text:?} is not a role of an instance group");
        node.fault(source, Code::ConfigUnknownRole, summary)
            .seen("path", path)
    })
}

/// The component that a section describes; without an image where it names none.
pub(super) fn component(section: &Yaml, flags: Vec<Flag>) -> Component {
    let text = |key: &str| section.text_of(key).map(str::to_owned);
    Component {
        image: text("image").unwrap_or_default(),
        flags,
        cpu_request: text("cpuRequest"),
        cpu_limit: text("cpuLimit"),
        memory_request: text("memoryRequest"),
        memory_limit: text("memoryLimit"),
    }
}

/// Where kubelet's kubeconfig is, and the directory of its static pods: by its section, or where kops has them.
pub(super) fn kubelet_paths(section: &Yaml) -> (String, String) {
    let path = |key, default| section.text_of(key).unwrap_or(default);
    let kubeconfig = path("kubeconfigPath", "/var/lib/kubelet/kubeconfig");
    let manifests = path("podManifestPath", "/etc/kubernetes/manifests");
    // A slash at its end is sound, and no part of any path made of it.
    let manifests = manifests.trim_end_matches('/');
    (kubeconfig.to_owned(), manifests.to_owned())
}
