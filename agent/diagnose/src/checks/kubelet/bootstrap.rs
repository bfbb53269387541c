//! `kubelet.bootstrap`: a kubelet that asks the cluster for its certificate.

use super::flags;
use crate::checks::check::{Finding, Verdict};
use crate::checks::from_journal::from_journal;
use crate::checks::node::Node;
use crate::checks::stage;
use quake_formats::journal::{KnownLine, latest};
use quake_model::facts::Unseen;
use quake_model::phase::Phase;

pub(super) const REASONS: &[KnownLine] = &[
    KnownLine {
        parts: &["certificate signing request", "denied"],
        means: "the cluster denied its request",
        fix: "kubectl get csr; kubectl describe csr names who denied it; the node's name and addresses must be those that the approver expects",
    },
    KnownLine {
        parts: &["cannot create resource \"certificatesigningrequests\""],
        means: "its token may not ask for a certificate",
        fix: "bind the ClusterRole system:node-bootstrapper to the group system:bootstrappers",
    },
    KnownLine {
        parts: &["bootstrap", "Unauthorized"],
        means: "its token is not accepted",
        fix: "tokens end after a while: write a new one with the cluster's tool, then: systemctl restart kubelet.service",
    },
    KnownLine {
        parts: &["failed to run Kubelet: cannot create certificate signing request"],
        means: "it could not ask for a certificate",
        fix: "the line's end says why: the API server's name, its address, or the token",
    },
    KnownLine {
        parts: &["certificate signing request", "not approved"],
        means: "nobody approved its request",
        fix: "kubectl get csr; kubectl certificate approve the one that this node asked for; the approver (kube-controller-manager, kops-controller) must run",
    },
    KnownLine {
        parts: &["Waiting for client certificate to be issued"],
        means: "nobody approved its request",
        fix: "kubectl get csr; kubectl certificate approve the one that this node asked for; the approver (kube-controller-manager, kops-controller) must run",
    },
];

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    let flags = flags(node)?;
    let Some(token) = flags.get("bootstrap-kubeconfig") else {
        return Verdict::skip("kubelet's certificate comes from the state store");
    };
    stage::begun(node, Phase::Services)?;
    if node.entry(&expected.kubeconfig)?.is_some() {
        return Verdict::ok("kubelet wrote its kubeconfig");
    }
    if let Some(reason) = latest(node.journal("kubelet.service"), REASONS) {
        return from_journal(&reason, "kubelet has no certificate").fail();
    }
    let unit = node.unit("kubelet.service")?;
    let waits = unit.is_some_and(|unit| unit.sub_state == "start-pre");
    let is_looked_at = token == "/var/lib/kubelet/bootstrap-kubeconfig";
    if is_looked_at && node.entry(token)?.is_none() {
        return Finding::new(
            format!("kubelet waits for {token}, which the node authorizer brings"),
            "look at the node authorizer's server in the cluster, and at its client on this node: journalctl -b -u node-authorizer.service",
        )
        .seen("unit", if waits { "waits before its start" } else { "does not wait" })
        .fail();
    }
    Finding::new(
        "kubelet has no kubeconfig yet",
        "kubectl get csr shows whether its request came, and waits for an approval",
    )
    .warn()
}
