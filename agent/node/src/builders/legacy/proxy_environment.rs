//! Proxy variables of the node's services, as a file that units read. Static pods carry them themselves.

use super::layout;
use quake_formats::flags::double_quoted;
use quake_model::item::{File, Item, Source};
use quake_model::spec::NodeSpec;

/// The file of proxy variables, where the spec has any.
pub(crate) fn items(spec: &NodeSpec) -> Vec<Item> {
    if spec.proxy.is_empty() {
        return Vec::new();
    }
    let text: String = spec
        .proxy
        .iter()
        .map(|(name, value)| format!("{name}={}\n", double_quoted(value)))
        .collect();
    // A proxy's URL may hold a password, so only systemd, which is root, reads it.
    let file = File::secret(layout::PROXY_ENVIRONMENT, Source::bytes(text));
    vec![Item::File(file)]
}

/// The proxy variables of a static pod, sorted by name.
pub(crate) fn variables(spec: &NodeSpec) -> Vec<(String, String)> {
    spec.proxy
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
