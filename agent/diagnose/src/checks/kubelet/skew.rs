//! `kubelet.skew`: kubelet's version beside the API server's and the spec's.

use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::stage;
use quake_model::facts::Unseen;
use quake_model::spec::KubernetesVersion;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    let Some(object) = node.survey().node.get()? else {
        return Verdict::skip("the API server does not know the node");
    };
    let (kubelet, server) = (
        object.kubelet_version.as_str(),
        object.server_version.as_str(),
    );
    let (Some(of_kubelet), Some(of_server)) = (version(kubelet), version(server)) else {
        return Verdict::skip("the versions were not told");
    };
    let fix = "update the control plane first, then roll the nodes' groups: kops rolling-update cluster --yes";
    if of_kubelet.minor > of_server.minor {
        let summary = format!("kubelet {kubelet} is newer than the API server {server}");
        return Finding::new(summary, fix).warn();
    }
    // Three minor versions behind since 1.28, two before.
    let most = if of_server.at_least(1, 28) { 3 } else { 2 };
    if of_server.minor - of_kubelet.minor > most {
        let summary = format!(
            "kubelet {kubelet} is more than {most} minor versions behind the API server {server}"
        );
        return Finding::new(summary, fix).warn();
    }
    match stage::version(node) {
        Some(wanted) if wanted != of_kubelet => Finding::new(
            format!("kubelet {kubelet} runs, and the spec wants {wanted}"),
            "systemctl restart quake-agent.service places the pinned kubelet; where the image brings it, bake another",
        )
        .warn(),
        Some(_) | None => Verdict::ok(format!("kubelet {kubelet}, API server {server}")),
    }
}

fn version(text: &str) -> Option<KubernetesVersion> {
    text.parse().ok()
}
