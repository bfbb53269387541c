//! Checks of the container runtime.

mod alive;
mod cdi;
mod config;
pub(super) mod configuration;
mod groups;
mod handlers;
mod mirrors;
mod others;
mod ports;
mod shims;
mod tags;
#[cfg(test)]
mod tests;
mod unloaded;

use super::check::{Check, Severity, Source};
use super::node::Node;
use quake_formats::journal::KnownLine;

/// Lines of the runtime's that are known, by the check that knows them.
pub(super) const KNOWN_LINES: &[(&str, &[KnownLine])] = &[("runtime.alive", alive::REASONS)];
use super::stage;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "runtime.config",
        title: "containerd's configuration is valid, and has the intended effect",
        severity: Severity::Critical,
        tags: &["containerd"],
        sources: &[Source::Files, Source::Runtime],
        because: &[],
        why: "containerd does not start with an invalid configuration, and ignores keys of another version",
        remedy: "fix this line, or let the agent write the file again: systemctl restart quake-agent.service",
        judge: config::judge,
    },
    Check {
        id: "runtime.alive",
        title: "the container runtime runs, stays up and answers",
        severity: Severity::Critical,
        tags: &["containerd", "docker"],
        sources: &[Source::Units, Source::Journals, Source::Runtime],
        because: &[
            "host.disk-space",
            "assets.binaries",
            "runtime.config",
            "agent.running",
            "boot.recorded",
            "host.modules",
            "host.cgroup",
            "host.disk-errors",
            "services.systemd",
            "host.disk-latency",
            "host.kernel",
            "host.limits",
            "host.noexec",
            "host.oom",
            "host.selinux",
            "host.apparmor",
            "services.drop-ins",
            "host.sysctl",
            "host.jobs",
            "host.packages",
            "host.mounts",
        ],
        why: "without a runtime kubelet does not start, and no pod runs",
        remedy: "read its journal: journalctl -b -u containerd.service (or docker.service); fix what it says, then restart it",
        judge: alive::judge,
    },
    Check {
        id: "runtime.cgroup-driver",
        title: "kubelet and the runtime use the same cgroup driver",
        severity: Severity::Critical,
        tags: &["containerd", "docker", "cgroup"],
        sources: &[Source::Files, Source::Journals],
        because: &["runtime.config"],
        why: "with different drivers kubelet refuses to start, or pods cannot be created, or are killed",
        remedy: "set both to systemd: SystemdCgroup = true in containerd's configuration, cgroupDriver: systemd for kubelet",
        judge: groups::judge,
    },
    Check {
        id: "runtime.shims",
        title: "containers end when they are asked to",
        severity: Severity::Critical,
        tags: &["containerd", "pods"],
        sources: &[Source::Journals],
        because: &[
            "host.disk-errors",
            "host.disk-latency",
            "host.kernel",
            "host.limits",
            "host.memory",
            "runtime.alive",
        ],
        why: "a pod whose shim hangs stays in Terminating, and kubelet's list of pods (PLEG) stands still",
        remedy: "find the shim and what it waits for; kill it if that is no disk",
        judge: shims::judge,
    },
    Check {
        id: "runtime.cdi",
        title: "the files that CDI gives containers are on the host, and of the driver that is loaded",
        severity: Severity::Critical,
        tags: &["containerd", "gpu", "pods"],
        sources: &[Source::Files, Source::Journals],
        because: &["host.packages", "host.jobs"],
        why: "no container that asks for the device starts, and the runtime alone says why",
        remedy: "write the specification anew after each change of the driver: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        judge: cdi::judge,
    },
    Check {
        id: "runtime.others",
        title: "no other container runtime runs beside kubelet's",
        severity: Severity::Warning,
        tags: &["containerd", "docker", "network"],
        sources: &[Source::Units],
        because: &[],
        why: "another runtime sets its own firewall rules and cgroups, and fills the disk with images that kubelet does not remove",
        remedy: "stop and disable the other runtime, or remove its package from the image",
        judge: others::judge,
    },
    Check {
        id: "runtime.mirrors",
        title: "containerd's registry settings are valid, and their hosts can be reached",
        severity: Severity::Warning,
        tags: &["containerd", "images"],
        sources: &[Source::Files, Source::Reach],
        because: &["runtime.config"],
        why: "else images are pulled from the wrong registry, or not at all",
        remedy: "fix this hosts.toml; containerd reads it at each pull, without a restart",
        judge: mirrors::judge,
    },
];

/// Whether the node's runtime is containerd; `None` while that is not known.
fn is_containerd(node: &Node<'_>) -> Option<bool> {
    let expected = stage::kubernetes(node).ok()?;
    Some(expected.runtime == "containerd")
}
