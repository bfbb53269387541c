//! What a pod's manifest says, as far as more than one part of a plan asks.

use quake_formats::yaml::{Yaml, parse_bytes};
use quake_model::item::{File, Source};
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
    manifests.filter_map(read)
}

fn read(manifest: &File) -> Option<Yaml> {
    match &manifest.source {
        Source::Bytes(contents) => parse_bytes(&manifest.path, &contents.0).ok(),
        Source::Issued { .. } | Source::Kubeconfig(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_that_cannot_be_read_is_left_out() {
        let manifest = |text: &str| File::plain("/etc/kubernetes/manifests/p.manifest", text);
        assert_eq!(read(&manifest("spec: [")), None);
        assert!(read(&manifest("metadata: {}")).is_some());
    }
}
