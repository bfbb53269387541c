//! Kubeconfigs of the node's components: which server, which CA, which client certificate.

use super::layout;
use crate::plan_inputs::{Credentials, Keypair};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_formats::yaml_text;
use quake_model::item::{File, Item, Source};
use quake_model::spec::NodeSpec;
use serde_json::{Value, json};

/// The kubeconfigs of this node, of those whose keypair is known.
pub(crate) fn items(spec: &NodeSpec, credentials: &Credentials) -> Vec<Item> {
    let mut wanted = vec![("kubelet", spec.kubelet.kubeconfig_path.clone())];
    if spec.kube_proxy.is_some() {
        wanted.push(("kube-proxy", layout::kubeconfig("kube-proxy")));
    }
    if spec.control_plane.is_some() {
        for component in ["kube-controller-manager", "kube-scheduler"] {
            wanted.push((component, layout::kubeconfig(component)));
        }
        wanted.push(("kubecfg", layout::kubeconfig("kubectl")));
        wanted.push(("kops", layout::kubeconfig("kops")));
    }
    wanted
        .into_iter()
        .filter_map(|(user, path)| {
            let text = kubeconfig(spec, credentials, user)?;
            Some(Item::File(
                File::secret(&path, Source::bytes(text)).mode(0o400),
            ))
        })
        .collect()
}

/// The kubeconfig of `user`; `None` while its keypair or the cluster's CA is not known.
fn kubeconfig(spec: &NodeSpec, credentials: &Credentials, user: &str) -> Option<String> {
    let ca = credentials.keypairs.get("ca")?;
    let keypair = credentials.keypairs.get(user)?;
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "local",
            "cluster": {
                "certificate-authority-data": STANDARD.encode(&ca.certificate),
                "server": server(spec),
            },
        }],
        "users": [{"name": user, "user": client(keypair)?}],
        "contexts": [{
            "name": "service-account-context",
            "context": {"cluster": "local", "user": user},
        }],
        "current-context": "service-account-context",
    });
    Some(yaml_text::document(&document))
}

fn client(keypair: &Keypair) -> Option<Value> {
    let key = keypair.key.as_ref()?;
    Some(json!({
        "client-certificate-data": STANDARD.encode(&keypair.certificate),
        "client-key-data": STANDARD.encode(key.expose()),
    }))
}

/// The API server as this node's components see it.
///
/// A control plane asks its own API server, so that it needs no name service to come up; since 1.6 over TLS,
/// so that the insecure port can be turned off.
pub(crate) fn server(spec: &NodeSpec) -> String {
    match &spec.control_plane {
        Some(_) if spec.kubernetes.at_least(1, 6) => "https://127.0.0.1".to_owned(),
        Some(_) => "http://127.0.0.1:8080".to_owned(),
        None => format!("https://api.internal.{}", spec.cluster),
    }
}
