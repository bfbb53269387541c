//! What a pod's manifest says, as far as more than one part of a plan asks.

use quake_formats::yaml::Yaml;

/// The lists of containers in a pod's spec.
const LISTS: [&str; 2] = ["initContainers", "containers"];

/// The containers of a pod, by its `spec`: those that run first come first.
pub(crate) fn containers(spec: &Yaml) -> impl Iterator<Item = &Yaml> {
    LISTS.iter().flat_map(|list| spec.items_of(list))
}
