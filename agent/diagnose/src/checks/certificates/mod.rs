//! Checks of keys and certificates. Of private keys nothing is looked at but where they are and who may read them.

mod ca;
mod dates;
mod modes;
mod read;

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use quake_model::facts::Unseen;
use quake_model::fault::Code;
use quake_model::phase::Phase;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "certificates.present",
        title: "the node's keys and certificates are there",
        severity: Severity::Critical,
        tags: &["credentials"],
        sources: &[Source::Files],
        because: &["iam.state-store", "config.store"],
        why: "the node needs them to authenticate at the API server",
        remedy: "restart the agent, which writes them; if the state store does not have them: kops update cluster --yes",
        judge: present,
    },
    Check {
        id: "certificates.dates",
        title: "every certificate is valid now, and for the next month",
        severity: Severity::Critical,
        tags: &["credentials", "tls"],
        sources: &[Source::Files],
        because: &["time.sync", "time.boot-clock"],
        why: "servers and clients refuse a certificate that is expired or not yet valid",
        remedy: "check the clock; issue the certificate again with kops, and restart the agent",
        judge: dates::judge,
    },
    Check {
        id: "certificates.authority",
        title: "the node's certificates are of the cluster's CA",
        severity: Severity::Critical,
        tags: &["credentials", "tls"],
        sources: &[Source::Files],
        because: &[],
        why: "an API server trusts only certificates of its CA; others are from an image, or from an earlier cluster of the same name",
        remedy: "remove the files of the image, and restart the agent, which writes the cluster's certificates",
        judge: ca::judge,
    },
    Check {
        id: "certificates.modes",
        title: "private keys are readable by root alone",
        severity: Severity::Warning,
        tags: &["credentials", "security"],
        sources: &[Source::Files],
        because: &[],
        why: "a process that reads a key can act as the node, or as the control plane",
        remedy: "run chmod 0600; issue keys again that others may have read",
        judge: modes::judge,
    },
];

/// Where the certificate of the cluster's CA is.
const CA: &str = "/srv/kubernetes/ca.crt";

fn present(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = node.expected()?;
    if node.role() == Some("bastion") {
        return Verdict::skip("a bastion has none");
    }
    if !node.has_done(Phase::Files) {
        return Verdict::skip("the boot has not come so far as to write them");
    }
    let mut wanted = Vec::new();
    if expected.is_of_legacy_kops() {
        wanted.push(CA);
        if node.is_control_plane() {
            wanted.push("/srv/kubernetes/server.cert");
            // Whoever captures a tree may have left keys out; a survey names them.
            if !node.survey().schema_version.is_empty() {
                wanted.push("/srv/kubernetes/server.key");
            }
        }
        let bootstraps = node
            .entry("/var/lib/kubelet/bootstrap-kubeconfig")?
            .is_some();
        if !bootstraps && !expected.kubeconfig.is_empty() {
            wanted.push(&expected.kubeconfig);
        }
    }
    if expected.is_of_current_kops() {
        // Which it has depends on its role and its network: those that the boot wrote.
        let steps = &node.record()?.steps;
        let was_written = |path: &&str| {
            steps
                .iter()
                .any(|done| done.step == format!("files:{path}"))
        };
        let known = [
            CA,
            "/srv/kubernetes/kubelet-server.crt",
            "/srv/kubernetes/kube-apiserver/server.crt",
            expected.kubeconfig.as_str(),
        ];
        wanted.extend(known.into_iter().filter(was_written));
    }
    if wanted.is_empty() {
        return Verdict::skip("nodes of this kops generation get them from the control plane");
    }
    let mut missing = Vec::new();
    for path in &wanted {
        if node.entry(path)?.is_none_or(|entry| entry.size == 0) {
            missing.push(*path);
        }
    }
    if missing.is_empty() {
        return Verdict::ok(wanted.join(", "));
    }
    Finding::new(
        format!("{} not there, or empty", are(&missing)),
        "systemctl restart quake-agent.service writes what the state store has; for what it lacks: kops update cluster --yes",
    )
    .coded(Code::CredentialsMissing)
    .fail()
}

fn are(paths: &[&str]) -> String {
    let verb = if paths.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", paths.join(", "))
}

#[cfg(test)]
mod tests;
