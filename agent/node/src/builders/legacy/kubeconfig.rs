//! Kubeconfigs of the node's components: which server, which CA, which client certificate.

use super::layout;
use crate::plan_inputs::Credentials;
use crate::steps::kubeconfig_of;
use quake_formats::yaml_text;
use quake_model::item::{File, Item, Source};
use quake_model::spec::NodeSpec;

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
    let files = wanted.into_iter().filter_map(|(user, path)| {
        let text = kubeconfig(spec, credentials, user)?;
        Some(File::secret(&path, Source::bytes(text)).mode(0o400))
    });
    files.map(Item::File).collect()
}

/// The kubeconfig of `user`; `None` while its keypair or the cluster's CA is not known.
fn kubeconfig(spec: &NodeSpec, credentials: &Credentials, user: &str) -> Option<String> {
    let ca = credentials.keypairs.get("ca")?;
    let keypair = credentials.keypairs.get(user)?;
    let key = keypair.key.as_ref()?.expose();
    let [certificate, key] = [&keypair.certificate, key];
    let document = kubeconfig_of(user, &server(spec), &ca.certificate, [certificate, key]);
    Some(yaml_text::document(&document))
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
