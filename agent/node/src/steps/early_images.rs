//! Images that the node will surely need, known before kubelet asks for them: those of its static pods, and the one of every
//! pod's sandbox.

use super::conditions::manifests;
use crate::pod::containers;
use quake_formats::yaml;
use quake_model::item::{File, Item, Source};
use quake_model::spec::NodeSpec;

/// containerd's configuration, which names the sandbox's image where the cluster's spec does.
const CONTAINERD: &str = "/etc/containerd/config.toml";

/// The names of these images, each once, the sandbox's first: no pod runs without it.
pub fn early_images(spec: &NodeSpec) -> Vec<String> {
    let sandbox = spec.items.iter().filter_map(|item| match item {
        Item::File(file) if file.path == CONTAINERD => sandbox_of(text_of(file)?),
        _ => None,
    });
    let mut names: Vec<String> = Vec::new();
    for name in sandbox.chain(manifests(spec).flat_map(images_of)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn text_of(file: &File) -> Option<&str> {
    match &file.source {
        Source::Bytes(contents) => std::str::from_utf8(&contents.0).ok(),
        _ => None,
    }
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

/// Kubelet takes no manifest that cannot be read, and so it pulls nothing for it.
fn images_of(file: &File) -> Vec<String> {
    let document = text_of(file).and_then(|text| yaml::parse(&file.path, text).ok());
    let spec = document.as_ref().and_then(|document| document.get("spec"));
    let images = spec.into_iter().flat_map(containers);
    let images = images.filter_map(|container| container.text_of("image"));
    images.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let file = |text: &str| File::plain("/etc/kubernetes/manifests/p.manifest", text);
        assert_eq!(images_of(&file(manifest)), ["a", "b"]);
        assert_eq!(images_of(&file("spec: [")), [""; 0]);
        assert_eq!(images_of(&file("metadata: {}")), [""; 0]);
    }
}
