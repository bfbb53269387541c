//! Checks of kubelet.

mod alive;
mod bootstrap;
mod capacity;
mod certificate;
mod config;
mod fields;
mod flags;
mod kubeconfig;
pub(super) mod reasons;
mod skew;
#[cfg(test)]
mod tests;

pub(super) use config::cgroup_driver;
pub(super) use flags::flags;
pub use kubeconfig::api_access;

use super::check::{Check, Severity, Source};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "kubelet.config",
        title: "kubelet's flags and its configuration are ones that its version takes",
        severity: Severity::Critical,
        tags: &["config"],
        sources: &[Source::Files],
        because: &[],
        why: "kubelet ends at once on a flag that it does not know, or on a field of the wrong kind",
        remedy: "take out what is named, in the cluster spec's kubelet section; then roll the group, or: systemctl restart quake-agent.service",
        judge: config::judge,
    },
    Check {
        id: "kubelet.kubeconfig",
        title: "kubelet's kubeconfig can be read and leads to the cluster's API server",
        severity: Severity::Critical,
        tags: &["credentials"],
        sources: &[Source::Files],
        because: &["host.disk-space", "files.written"],
        why: "with it kubelet finds its API server and proves who it is",
        remedy: "let the agent write it anew: systemctl restart quake-agent.service; then: systemctl restart kubelet.service",
        judge: kubeconfig::judge,
    },
    Check {
        id: "kubelet.certificate",
        title: "kubelet's client certificate is valid and is this node's",
        severity: Severity::Critical,
        tags: &["credentials", "certificates"],
        sources: &[Source::Files],
        because: &["certificates.dates", "kubelet.kubeconfig"],
        why: "the API server knows a node by its certificate: one that is over is refused, one of another node may not change this one",
        remedy: "write the keypair anew with the cluster's tool (kops rolling-update), or let kubelet ask for another: rm /var/lib/kubelet/pki/kubelet-client-*, then restart it",
        judge: certificate::judge,
    },
    Check {
        id: "kubelet.bootstrap",
        title: "kubelet got a certificate from the cluster",
        severity: Severity::Critical,
        tags: &["credentials"],
        sources: &[Source::Files, Source::Units, Source::Journals],
        because: &["kubelet.config"],
        why: "a kubelet that asks the cluster for its certificate cannot register before that is signed",
        remedy: "kubectl get csr shows the request; its approver must run in the cluster",
        judge: bootstrap::judge,
    },
    Check {
        id: "kubelet.alive",
        title: "kubelet is up, stays up and says that it is well",
        severity: Severity::Critical,
        tags: &["units"],
        sources: &[Source::Units, Source::Journals, Source::Probes],
        because: &[
            "host.disk-space",
            "assets.binaries",
            "certificates.present",
            "certificates.dates",
            "runtime.config",
            "runtime.alive",
            "runtime.cgroup-driver",
            "kubelet.config",
            "kubelet.kubeconfig",
            "kubelet.certificate",
            "kubelet.bootstrap",
            "agent.running",
            "boot.recorded",
            "certificates.authority",
            "host.swap",
            "host.cgroup",
            "net.ports",
            "files.written",
            "dns.names",
            "host.disk-errors",
            "host.disk-latency",
            "host.hostname",
            "host.limits",
            "host.noexec",
            "host.oom",
            "host.selinux",
            "iam.describe-instances",
            "net.proxy",
            "time.sync",
        ],
        why: "kubelet runs every pod of the node, those of the control plane among them",
        remedy: "read its journal: journalctl -b -u kubelet.service; fix what it says, then: systemctl restart kubelet.service",
        judge: alive::judge,
    },
    Check {
        id: "kubelet.skew",
        title: "kubelet's version is one that the API server works with",
        severity: Severity::Warning,
        tags: &["versions"],
        sources: &[Source::Node, Source::Files],
        because: &[],
        why: "a kubelet newer than its API server, or much older, is not supported: pods may be lost or fields ignored",
        remedy: "update the control plane first, then roll the nodes' groups (kops rolling-update cluster --yes)",
        judge: skew::judge,
    },
    Check {
        id: "kubelet.max-pods",
        title: "the node has an address for every pod that it may run",
        severity: Severity::Warning,
        tags: &["network"],
        sources: &[Source::Files, Source::Node],
        because: &[],
        why: "pods beyond the node's addresses stay in ContainerCreating",
        remedy: "lower kubelet.maxPods in the cluster spec, or give nodes a larger range",
        judge: capacity::judge,
    },
];
