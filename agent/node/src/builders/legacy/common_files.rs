//! Files of no single component: the cloud provider's configuration, the proxy variables of the node's services (static pods carry
//! them themselves), and what the cluster spec asks for.

use super::layout;
use super::pod::variable;
use crate::lint::holds_key;
use quake_formats::flags::double_quoted;
use quake_model::item::{File, Item, Source};
use quake_model::spec::NodeSpec;
use serde_json::Value;
use std::collections::BTreeSet;

/// The cloud provider's configuration, which kubelet, the API server and the controllers read.
///
/// It is there even if the spec says nothing, for static pods may mount it.
pub(crate) fn cloud_config(spec: &NodeSpec) -> Item {
    let mut text = String::from("[global]\n");
    for (name, value) in spec.cloud_config.iter().flatten() {
        text.push_str(&format!("{name} = {value}\n"));
    }
    Item::File(File::plain(layout::CLOUD_CONFIG, text))
}

/// Where the proxy variables of the node's services are; `None` where the spec has none.
pub(super) fn proxy_file(spec: &NodeSpec) -> Option<&'static str> {
    (!spec.proxy.is_empty()).then_some(layout::PROXY_ENVIRONMENT)
}

/// The file of proxy variables, where the spec has any.
pub(crate) fn proxy_environment(spec: &NodeSpec) -> Option<Item> {
    let path = proxy_file(spec)?;
    let lines = spec.proxy.iter();
    let lines = lines.map(|(name, value)| format!("{name}={}\n", double_quoted(value)));
    let text: String = lines.collect();
    // A proxy's URL may hold a password, so only systemd, which is root, reads it.
    Some(Item::File(File::secret(path, Source::bytes(text))))
}

/// The proxy variables of a static pod, sorted by name.
pub(crate) fn proxy_variables(spec: &NodeSpec) -> Vec<Value> {
    let proxy = spec.proxy.iter();
    proxy.map(|(name, value)| variable(name, value)).collect()
}

/// The files, in the spec's order; of two for one path the first counts, which is the instance group's.
///
/// Their contents may be passwords, so they are readable by root and its group alone, and never shown.
pub(crate) fn file_assets(spec: &NodeSpec) -> Vec<Item> {
    let mut seen = BTreeSet::new();
    let mut items = Vec::new();
    for asset in &spec.file_assets {
        let path = match asset.path.as_str() {
            "" => layout::srv(&format!("assets/{}", asset.name)),
            path => path.to_owned(),
        };
        if seen.insert(path.clone()) {
            let mode = match holds_key(&asset.content) {
                true => 0o400,
                false => 0o440,
            };
            let file = File::secret(&path, Source::bytes(asset.content.as_str()));
            items.push(Item::File(file.mode(mode)));
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preview::sample::node;
    use quake_model::spec::FileAsset;

    #[test]
    fn a_file_with_a_private_key_is_for_root_alone() {
        let mut spec = node("1.15.0");
        for (content, wanted) in [
            ("    client-key-data: AAAA\n", 0o400),
            ("-----BEGIN PRIVATE KEY-----\nMIIE\n", 0o400),
            ("a: 1\n", 0o440),
        ] {
            spec.file_assets = vec![FileAsset {
                name: "x".to_owned(),
                path: "/etc/x".to_owned(),
                content: content.to_owned(),
            }];
            let items = file_assets(&spec);
            let [Item::File(file)] = items.as_slice() else {
                panic!("{items:?}");
            };
            assert_eq!(file.mode, wanted, "{content}");
        }
    }
}
