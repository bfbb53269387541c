//! Checks of the pod network's configuration.

mod addresses;
mod autodetected;
mod config;
mod configuration;
mod conflicting;
mod encryption;
mod ipamd;
mod killed;
mod plugins;
mod ready;
mod stale;
#[cfg(test)]
mod tests;

pub(super) use configuration::{DIRECTORY, pod_range};
pub(super) use ready::broken;

use super::check::{Check, Severity, Source};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "cni.addresses",
        title: "the pod network has addresses for new pods",
        severity: Severity::Critical,
        tags: &["network", "pods", "capacity"],
        sources: &[Source::Journals, Source::Runtime],
        because: &[],
        why: "a pod without an address stays in ContainerCreating",
        remedy: "find out which limit is reached: the subnet's, the instance type's, or that of the network's own pool",
        judge: addresses::judge,
    },
    Check {
        id: "cni.ready",
        title: "the pod of the CNI network on this node runs",
        severity: Severity::Critical,
        tags: &["network", "pods"],
        sources: &[Source::Files, Source::Runtime, Source::Journals],
        because: &[
            "runtime.alive",
            "images.pull",
            "kubelet.alive",
            "apiserver.alive",
            "apiserver.webhooks",
            "node.registered",
            "host.noexec",
            "net.settings",
            "host.modules",
            "net.api-server",
            "net.managers",
            "net.ranges",
            "host.sysctl",
            "host.firewall",
            "host.jobs",
            "runtime.others",
            "cni.addresses",
        ],
        why: "if a DaemonSet installs the network, pods get no address until its pod runs on the node",
        remedy: "kubectl -n kube-system get pods -o wide; check the network's pod on this node, and its init containers",
        judge: ready::judge,
    },
    Check {
        id: "cni.stale",
        title: "no CNI configuration of another network is in the directory",
        severity: Severity::Critical,
        tags: &["network"],
        sources: &[Source::Files],
        because: &[],
        why: "the runtime uses the first file by name; a file of another network gives pods wrong addresses",
        remedy: "remove this file, then delete the pods that started with it",
        judge: stale::judge,
    },
    Check {
        id: "cni.config",
        title: "the runtime finds a configuration of the pod network that it can read",
        severity: Severity::Critical,
        tags: &["network"],
        sources: &[Source::Files],
        because: &[
            "host.disk-space",
            "runtime.config",
            "runtime.alive",
            "images.pull",
            "kubelet.alive",
            "apiserver.alive",
            "apiserver.webhooks",
            "node.registered",
            "cni.ready",
            "cni.stale",
            "files.written",
            "host.noexec",
        ],
        why: "without one the node stays NotReady (NetworkPluginNotReady), and no pod gets an address",
        remedy: "where the agent writes it: systemctl restart quake-agent.service; else look at the DaemonSet that does",
        judge: config::judge,
    },
    Check {
        id: "cni.plugins",
        title: "every plugin that the network's configuration names can be run",
        severity: Severity::Critical,
        tags: &["network"],
        sources: &[Source::Files],
        because: &[
            "cni.stale",
            "cni.ready",
            "assets.binaries",
            "host.noexec",
            "files.written",
            "host.jobs",
        ],
        why: "a pod whose network plugin is missing stays in ContainerCreating",
        remedy: "systemctl restart quake-agent.service places the plugins of the pinned archive; others are brought by the network's DaemonSet",
        judge: plugins::judge,
    },
];
