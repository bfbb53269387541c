//! Checks of kubelet.

mod alive;
mod bootstrap;
mod capacity;
mod certificate;
mod checkpoint;
mod config;
mod fields;
mod flags;
pub(super) mod kubeconfig;
mod labels;
mod pairs;
pub(super) mod reasons;
mod settings;
mod skew;
#[cfg(test)]
mod tests;

pub(super) use alive::judge as judge_kubelet;
pub(super) use config::cgroup_driver;
pub(super) use flags::flags;
pub use kubeconfig::{Kubeconfig, api_access};
pub(super) use pairs::{entry, quantity};

use super::check::{Check, Severity, Source};
use quake_formats::journal::KnownLine;

/// Lines of kubelet's that are known, by the check that knows them.
pub(super) const KNOWN_LINES: &[(&str, &[KnownLine])] = &[
    ("kubelet.alive", reasons::FATAL),
    ("kubelet.alive", reasons::AWAY),
    ("kubelet.bootstrap", bootstrap::REASONS),
];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "kubelet.config",
        title: "kubelet's version accepts its flags and its configuration",
        severity: Severity::Critical,
        tags: &["config"],
        sources: &[Source::Files],
        because: &[],
        why: "kubelet exits at once if it does not know a flag, or if a field has the wrong type",
        remedy: "remove this setting from the kubelet section of the cluster spec; then roll the group, or: systemctl restart quake-agent.service",
        judge: config::judge,
    },
    Check {
        id: "kubelet.settings",
        title: "kubelet's settings fit the node",
        severity: Severity::Critical,
        tags: &["config"],
        sources: &[
            Source::Files,
            Source::Listeners,
            Source::Network,
            Source::Journals,
        ],
        because: &["kubelet.config"],
        why: "kubelet runs with a setting that is valid and wrong, and nothing logs an error",
        remedy: "take the setting out of the kubelet section of the cluster spec; then roll the group",
        judge: settings::judge,
    },
    Check {
        id: "kubelet.labels",
        title: "kubelet's labels of zone and region are the instance's",
        severity: Severity::Warning,
        tags: &["config", "volumes"],
        sources: &[Source::Files, Source::Metadata],
        because: &["kubelet.config"],
        why: "a CSI driver that reports another zone than the label is not registered, and pods wait for volumes of the wrong zone",
        remedy: "take the label out of nodeLabels of the instance group (kops edit ig), then roll the group",
        judge: labels::judge,
    },
    Check {
        id: "kubelet.kubeconfig",
        title: "kubelet's kubeconfig is valid and names the cluster's API server",
        severity: Severity::Critical,
        tags: &["credentials"],
        sources: &[Source::Files],
        because: &["host.disk-space", "files.written"],
        why: "kubelet needs it to find the API server and to authenticate",
        remedy: "let the agent write it again: systemctl restart quake-agent.service; then: systemctl restart kubelet.service",
        judge: kubeconfig::judge,
    },
    Check {
        id: "kubelet.certificate",
        title: "kubelet's client certificate is valid and is this node's",
        severity: Severity::Critical,
        tags: &["credentials", "certificates"],
        sources: &[Source::Files],
        because: &["certificates.dates", "kubelet.kubeconfig"],
        why: "the API server identifies a node by its certificate: it refuses an expired one, and another node's may not change this node",
        remedy: "issue the keypair again with kops (kops rolling-update), or let kubelet request a new one: rm /var/lib/kubelet/pki/kubelet-client-*, then restart it",
        judge: certificate::judge,
    },
    Check {
        id: "kubelet.bootstrap",
        title: "kubelet received a certificate from the cluster",
        severity: Severity::Critical,
        tags: &["credentials"],
        sources: &[Source::Files, Source::Units, Source::Journals],
        because: &["kubelet.config"],
        why: "with TLS bootstrapping kubelet cannot register before its certificate is signed",
        remedy: "kubectl get csr shows the request; its approver must run in the cluster",
        judge: bootstrap::judge,
    },
    Check {
        id: "kubelet.alive",
        title: "kubelet runs, stays up and is healthy",
        severity: Severity::Critical,
        tags: &["units"],
        sources: &[Source::Units, Source::Journals, Source::Probes],
        because: &[
            "host.apparmor",
            "services.drop-ins",
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
            "host.sysctl",
            "host.jobs",
            "host.packages",
            "host.mounts",
        ],
        why: "kubelet runs every pod of the node, also those of the control plane",
        remedy: "read its journal: journalctl -b -u kubelet.service; fix what it says, then: systemctl restart kubelet.service",
        judge: alive::judge,
    },
    Check {
        id: "kubelet.skew",
        title: "the API server supports kubelet's version",
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
