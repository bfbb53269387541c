//! The cloud provider's configuration, which kubelet, the API server and the controllers read.

use super::layout;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, WriteFile};

/// The file; it is there even if the spec says nothing, for static pods may mount it.
pub(crate) fn items(spec: &NodeSpec) -> Vec<Item> {
    let mut text = String::from("[global]\n");
    for (name, value) in spec.cloud_config.iter().flatten() {
        text.push_str(&format!("{name} = {value}\n"));
    }
    vec![Action::WriteFile(WriteFile::plain(
        layout::CLOUD_CONFIG,
        0o644,
        text,
    ))]
}
