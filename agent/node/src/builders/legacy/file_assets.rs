//! Files the cluster spec asks for.

use super::layout;
use quake_model::item::{File, Item, Source};
use quake_model::spec::NodeSpec;
use std::collections::BTreeSet;

/// The files, in the spec's order; of two for one path the first counts, which is the instance group's.
///
/// Their contents may be passwords, so they are readable by root and its group alone, and never shown.
pub(crate) fn items(spec: &NodeSpec) -> Vec<Item> {
    let mut seen = BTreeSet::new();
    let mut items = Vec::new();
    for asset in &spec.file_assets {
        let path = if asset.path.is_empty() {
            format!("{}/assets/{}", layout::SRV_KUBERNETES, asset.name)
        } else {
            asset.path.clone()
        };
        if seen.insert(path.clone()) {
            let mode = if asset.content.contains("PRIVATE KEY-----") {
                0o400
            } else {
                0o440
            };
            items.push(Item::File(
                File::secret(&path, Source::bytes(asset.content.as_str())).mode(mode),
            ));
        }
    }
    items
}
