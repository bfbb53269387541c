//! What the CLI makes of the clusters of kops' tests, as edits of a configuration of the corpus.

use serde_json::{Value, json};

/// Sets what is at a path, such as `a.b`.
fn set(document: &mut Value, path: &str, value: Value) {
    *at(document, path) = value;
}

fn at<'a>(document: &'a mut Value, path: &str) -> &'a mut Value {
    let keys = path.split('.');
    keys.fold(document, |section, key| &mut section[key])
}

/// Replaces `from` in every text of the document.
fn replace(document: &mut Value, from: &str, to: &str) {
    match document {
        Value::String(text) => *text = text.replace(from, to),
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, from, to)),
        Value::Object(map) => map.values_mut().for_each(|value| replace(value, from, to)),
        _ => {}
    }
}

/// kubenet, whose routes are the cloud's.
pub(super) fn minimal(document: &mut Value) {
    set(
        document,
        "ControlPlaneConfig.KubeControllerManager.configureCloudRoutes",
        true.into(),
    );
}

/// The same with images whose names say a processor.
pub(super) fn side_loaded(document: &mut Value) {
    minimal(document);
    for section in ["APIServerConfig", "ControlPlaneConfig"] {
        let images = &mut document[section];
        replace(images, ":v1.35.0-alpha.1", "-amd64:v1.35.0");
    }
}

pub(super) fn containerd(document: &mut Value) {
    set(document, "UsesKubenet", true.into());
    set(document, "containerdConfig.version", "2.3.4".into());
    set(
        document,
        "containerdConfig.sandboxImage",
        "registry.k8s.io/pause:3.10.1".into(),
    );
}

pub(super) fn containerd_v3(document: &mut Value) {
    containerd(document);
    set(document, "containerdConfig.version", "2.1.6".into());
    set(document, "containerdConfig.selinuxEnabled", true.into());
    set(document, "containerdConfig.nri", json!({"enabled": true}));
    set(
        document,
        "containerdConfig.configAdditions",
        json!({
            "plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.test-handler.test_str": "test",
        }),
    );
    set(
        document,
        "containerdConfig.registryMirrors",
        json!({"docker.io": ["https://registry-1.docker.io"]}),
    );
}

pub(super) fn containerd_skipped(document: &mut Value) {
    containerd(document);
    set(document, "containerdConfig.skipInstall", true.into());
}
