//! Which journals a diagnosis reads and how much of them, and which units and filesystems it looks at.

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
    "auditd.service",
    "cloud-init.service",
    "cloud-final.service",
];

/// How many lines of a journal are read: a start that fails says why within these, and errors that repeat show.
pub(super) const LINES: usize = 300;

/// Units that are looked at on any node; those of hooks come from their files.
pub(super) const UNITS: &[&str] = &[
    "quake-agent.service",
    "kubelet.service",
    "containerd.service",
    "docker.service",
    "docker.socket",
    "kops-configuration.service",
    "protokube.service",
    "systemd-resolved.service",
    "systemd-timesyncd.service",
    "chrony.service",
    "chronyd.service",
    "firewalld.service",
    "ufw.service",
    "NetworkManager.service",
    "nm-cloud-setup.service",
    "nm-cloud-setup.timer",
    "systemd-networkd.service",
    "multipathd.service",
    "amazon-efs-mount-watchdog.service",
    "tmp.mount",
    "rescue.target",
    "emergency.target",
];

/// Where a node's filesystems are that fill up.
pub(super) const SPACES: &[&str] = &[
    "/",
    "/var",
    "/var/lib/quake-agent",
    "/var/lib/containerd",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/log",
    "/var/log/audit",
    "/run",
    "/tmp",
    "/dev/shm",
];
