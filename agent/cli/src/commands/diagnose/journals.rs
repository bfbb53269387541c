//! Which journals a diagnosis reads, and how much of them.

/// Units whose journals are read.
pub(super) const JOURNALS: &[&str] = &[
    "quake-agent.service",
    "kubelet.service",
    "containerd.service",
    "docker.service",
    "kops-configuration.service",
    "protokube.service",
    "etcd.service",
    "chrony.service",
    "chronyd.service",
    "systemd-timesyncd.service",
    "systemd-networkd.service",
    "systemd-resolved.service",
    "systemd-udevd.service",
    "systemd-oomd.service",
    "NetworkManager.service",
    "fapolicyd.service",
    "logrotate.service",
    "earlyoom.service",
    "cloud-init.service",
    "cloud-final.service",
];

/// How many lines of a journal are read: a start that fails says why within these, and errors that repeat show.
pub(super) const LINES: usize = 300;
