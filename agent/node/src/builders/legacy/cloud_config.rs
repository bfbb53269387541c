//! The cloud provider's configuration, which kubelet, the API server and the controllers read.

use super::layout;
use quake_model::item::{File, Item};
use quake_model::spec::NodeSpec;

/// The file; it is there even if the spec says nothing, for static pods may mount it.
pub(crate) fn items(spec: &NodeSpec) -> Vec<Item> {
    let mut text = String::from("[global]\n");
    for (name, value) in spec.cloud_config.iter().flatten() {
        text.push_str(&format!("{name} = {value}\n"));
    }
    vec![Item::File(File::plain(layout::CLOUD_CONFIG, text))]
}
