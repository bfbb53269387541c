//! Container images that the cluster brings as archives, as those of a Kubernetes that is built by hand.

use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::Item;
use std::collections::BTreeSet;

/// The images of this node's processor; one that is listed twice is one.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let mut seen = BTreeSet::new();
    let images = context.config.images.iter();
    let images = images.filter(|image| seen.insert(image.archive.digest.to_string()));
    Ok(images.cloned().map(Item::Image).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    const HASH: &str = "8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a80";

    #[test]
    fn images_are_those_of_the_nodes_processor_each_once() {
        let image = |name: &str| {
            format!(
                "{{name: \"{name}\", sources: [\"https://a/{name}.tar.gz\"], hash: \"{HASH}\"}}"
            )
        };
        let (ours, other) = (image("kube-proxy"), image("other"));
        let keys = format!("images: {{amd64: [{ours}, {ours}], arm64: [{other}]}}\n");
        let items = Sample::worker(&keys).items(build);
        let [Item::Image(image)] = &items[..] else {
            panic!("{items:?}")
        };
        assert_eq!(image.name, "kube-proxy");
        assert_eq!(image.archive.urls, ["https://a/kube-proxy.tar.gz"]);
    }
}
