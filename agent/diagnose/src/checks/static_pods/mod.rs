//! Checks of the pods that kubelet runs from files.

mod admitted;
mod denied;
mod flags;
mod harms;
mod issuer;
mod manifest;
mod manifests;
mod named_files;
pub(super) mod reasons;
mod running;
#[cfg(test)]
mod tests;

pub(super) use admitted::refused;
pub(super) use manifest::images;
pub(super) use running::{containers_of, known_in, trouble_of};

use super::check::{Check, Severity, Source};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "staticpods.manifests",
    title: "every static pod has one manifest that kubelet can read, and the files that it names",
    severity: Severity::Critical,
    tags: &["pods", "control-plane"],
    sources: &[Source::Files],
    because: &["host.disk-space", "files.written"],
    why: "kubelet runs what is in these files and nothing else: a file that it cannot read is a component that does not run",
    remedy: "systemctl restart quake-agent.service writes the agent's own anew; keep copies outside of the directory, for kubelet runs them too",
    judge: manifests::judge,
}];

/// It stands before the check of what runs: a pod that does not start may not start by this.
pub(super) const FLAGS: &[Check] = &[Check {
    id: "staticpods.flags",
    title: "no flag or volume of a static pod does harm",
    severity: Severity::Warning,
    tags: &["pods", "control-plane"],
    sources: &[Source::Files, Source::Runtime],
    because: &["staticpods.manifests"],
    why: "the component accepts such a setting, and fails or fills the disk by it later",
    remedy: "correct it in the cluster spec (kops edit cluster), then roll the control planes",
    judge: flags::judge,
}];

/// It stands after etcd's own check: without etcd the API server ends again and again.
pub(super) const RUNNING: &[Check] = &[Check {
    id: "staticpods.running",
    title: "every static pod runs and stays up",
    severity: Severity::Critical,
    tags: &["pods", "control-plane"],
    sources: &[Source::Runtime],
    because: &[
        "apiserver.clients",
        "runtime.alive",
        "runtime.cgroup-driver",
        "images.pull",
        "kubelet.alive",
        "certificates.dates",
        "certificates.present",
        "staticpods.manifests",
        "etcd.pods",
        "etcd.alive",
        "host.oom",
        "net.ports",
        "net.iptables",
        "certificates.authority",
        "etcd.data",
        "volumes.mounted",
        "volumes.space",
        "host.disk-space",
        "host.noexec",
        "assets.binaries",
        "host.sysctl",
        "host.jobs",
        "net.ranges",
        "kubelet.settings",
        "host.modules",
    ],
    why: "they are the control plane; on a worker kube-proxy makes services reachable",
    remedy: "tail -n 50 /var/log/pods/kube-system_*/*/*.log, or the component's own log in /var/log",
    judge: running::judge,
}];
