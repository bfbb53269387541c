//! Images that the node will surely need, known before kubelet asks for them: those of its static pods, and the one of every
//! pod's sandbox.

use crate::builders::layout::CONTAINERD_CONFIG;
use crate::pod::{containers, static_pods};
use quake_formats::yaml::Yaml;
use quake_model::item::File;
use quake_model::spec::NodeSpec;
use std::collections::BTreeSet;

/// The names of these images, each once, the sandbox's first: no pod runs without it.
pub fn early_images(spec: &NodeSpec) -> Vec<String> {
    // It names the sandbox's image where the cluster's spec does.
    let runtime = spec.file_at(CONTAINERD_CONFIG).and_then(File::text);
    let sandbox = runtime.and_then(|text| sandbox_of(&text));
    let pods = static_pods(spec).flat_map(|pod| images_of(&pod));
    let mut seen = BTreeSet::new();
    let names = sandbox.into_iter().chain(pods);
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// `sandbox_image = "…"` up to containerd 1.7, `sandbox = "…"` from 2.0.
fn sandbox_of(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        let is_sandbox = ["sandbox_image", "sandbox"].contains(&key.trim());
        let name = value.trim().strip_prefix('"')?.strip_suffix('"')?;
        (is_sandbox && !name.is_empty()).then(|| name.to_owned())
    })
}

fn images_of(pod: &Yaml) -> Vec<String> {
    let images = pod.get("spec").into_iter().flat_map(containers);
    let images = images.filter_map(|container| container.text_of("image"));
    images.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_formats::yaml::parse;

    #[test]
    fn the_sandboxes_image_is_read_in_the_words_of_each_version() {
        let old = "[plugins.\"io.containerd.grpc.v1.cri\"]\n  sandbox_image = \"r/pause:3.9\"\n";
        assert_eq!(sandbox_of(old).as_deref(), Some("r/pause:3.9"));
        let new = "[plugins.x.pinned_images]\nsandbox = \"r/pause:3.10\"\n";
        assert_eq!(sandbox_of(new).as_deref(), Some("r/pause:3.10"));
        assert_eq!(sandbox_of("sandbox = \"\"\nsandboxer = \"shim\"\n"), None);
    }

    #[test]
    fn a_static_pods_images_are_those_of_all_its_containers() {
        let manifest =
            "spec:\n  initContainers: [{image: a}]\n  containers: [{image: b}, {name: none}]\n";
        let images = |text: &str| images_of(&parse("p.manifest", text).expect("it is YAML"));
        assert_eq!(images(manifest), ["a", "b"]);
        assert_eq!(images("metadata: {}"), [""; 0]);
    }
}
