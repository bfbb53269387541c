//! What a pod's manifest says, as far as more than one part of a plan asks.

use quake_formats::yaml::{Yaml, parse_bytes};
use quake_model::item::Source;
use quake_model::spec::NodeSpec;

/// Where kubelet reads the pods that it runs by itself.
const MANIFESTS: &str = "/etc/kubernetes/manifests/";

/// The lists of containers in a pod's spec.
const LISTS: [&str; 2] = ["initContainers", "containers"];

/// The containers of a pod, by its `spec`: those that run first come first.
pub(crate) fn containers(spec: &Yaml) -> impl Iterator<Item = &Yaml> {
    LISTS.iter().flat_map(|list| spec.items_of(list))
}

/// The static pods of the node. kubelet runs no pod whose manifest cannot be read, and so it is left out.
pub(crate) fn static_pods(spec: &NodeSpec) -> impl Iterator<Item = Yaml> {
    let manifests = spec.files().filter(|file| file.path.starts_with(MANIFESTS));
    manifests.filter_map(|file| match &file.source {
        Source::Bytes(contents) => parse_bytes(&file.path, &contents.0).ok(),
        Source::Issued { .. } | Source::Kubeconfig(_) => None,
    })
}
