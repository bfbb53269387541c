//! The files that a survey looks at. Keys are looked at only from outside.

use quake_model::facts::{WantedFile, WantedPart};

const fn text(path: &'static str) -> WantedFile {
    WantedFile {
        path,
        part: WantedPart::Text(256 << 10),
    }
}

const fn entry(path: &'static str) -> WantedFile {
    WantedFile {
        path,
        part: WantedPart::Entry,
    }
}

/// Whether a survey looks at a path.
pub(super) fn is_wanted(path: &str) -> bool {
    WANTED.iter().any(|wanted| fits(wanted.path, path))
}

fn fits(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut parts) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), parts.next()) {
            (None, None) => return true,
            (Some(wanted), Some(part)) if part_fits(wanted, part) => {}
            _ => return false,
        }
    }
}

/// Whether a part of a path fits a part of a pattern, which has one `*` at most.
fn part_fits(pattern: &str, part: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == part,
        Some((before, after)) => {
            let rest = part.strip_prefix(before);
            rest.is_some_and(|rest| rest.len() >= after.len() && rest.ends_with(after))
        }
    }
}

/// What a survey looks at.
pub const WANTED: &[WantedFile] = &[
    // The kernel and what it counts.
    text("/proc/cmdline"),
    text("/proc/cpuinfo"),
    text("/proc/filesystems"),
    text("/proc/loadavg"),
    text("/proc/meminfo"),
    text("/proc/modules"),
    text("/proc/mdstat"),
    text("/proc/net/dev"),
    text("/proc/net/route"),
    text("/proc/net/ipv6_route"),
    text("/proc/net/tcp"),
    text("/proc/net/tcp6"),
    text("/proc/pressure/io"),
    text("/proc/pressure/memory"),
    text("/proc/self/mountinfo"),
    text("/proc/stat"),
    text("/proc/swaps"),
    text("/proc/uptime"),
    text("/proc/version"),
    text("/proc/vmstat"),
    text("/proc/sys/fs/file-max"),
    text("/proc/sys/fs/file-nr"),
    text("/proc/sys/fs/inotify/max_user_instances"),
    text("/proc/sys/fs/inotify/max_user_watches"),
    text("/proc/sys/kernel/hostname"),
    text("/proc/sys/kernel/osrelease"),
    text("/proc/sys/kernel/panic"),
    text("/proc/sys/kernel/panic_on_oops"),
    text("/proc/sys/kernel/pid_max"),
    text("/proc/sys/kernel/threads-max"),
    text("/proc/sys/crypto/fips_enabled"),
    text("/proc/sys/net/bridge/bridge-nf-call-ip6tables"),
    text("/proc/sys/net/bridge/bridge-nf-call-iptables"),
    text("/proc/sys/net/ipv4/ip_forward"),
    text("/proc/sys/net/ipv4/conf/all/rp_filter"),
    text("/proc/sys/net/ipv4/ip_local_port_range"),
    text("/proc/sys/net/ipv6/conf/all/forwarding"),
    text("/proc/sys/net/ipv6/conf/*/accept_ra"),
    text("/proc/sys/net/netfilter/nf_conntrack_count"),
    text("/proc/sys/net/netfilter/nf_conntrack_max"),
    text("/proc/sys/vm/overcommit_memory"),
    text("/proc/sys/vm/panic_on_oom"),
    text("/sys/class/net/*/address"),
    text("/sys/class/net/*/carrier"),
    text("/sys/class/net/*/mtu"),
    text("/sys/class/net/*/operstate"),
    text("/sys/fs/cgroup/cgroup.controllers"),
    entry("/sys/fs/cgroup/memory"),
    text("/sys/fs/selinux/enforce"),
    text("/sys/module/apparmor/parameters/enabled"),
    text("/sys/devices/virtual/dmi/id/board_asset_tag"),
    // What the running kernel may load.
    entry("/lib/modules/*"),
    entry("/usr/lib/modules/*"),
    // The operating system.
    text("/etc/os-release"),
    text("/usr/lib/os-release"),
    text("/etc/hostname"),
    text("/etc/hosts"),
    text("/etc/machine-id"),
    text("/etc/nsswitch.conf"),
    text("/etc/resolv.conf"),
    text("/run/systemd/resolve/resolv.conf"),
    text("/etc/modules-load.d/*"),
    text("/etc/sysctl.d/*"),
    text("/etc/selinux/config"),
    text("/etc/environment"),
    text("/etc/sysctl.conf"),
    text("/etc/ufw/ufw.conf"),
    text("/etc/systemd/logind.conf"),
    text("/etc/systemd/logind.conf.d/*"),
    text("/usr/lib/systemd/logind.conf.d/*"),
    text("/etc/systemd/system/*.service"),
    text("/etc/systemd/system/*.timer"),
    entry("/etc/systemd/system/*.wants/*"),
    text("/etc/systemd/system/*.service.d/*.conf"),
    text("/etc/chrony/chrony.conf"),
    text("/etc/chrony.conf"),
    text("/etc/systemd/timesyncd.conf"),
    entry("/sbin/iptables"),
    entry("/usr/sbin/iptables"),
    entry("/etc/alternatives/iptables"),
    entry("/etc/alternatives/ip6tables"),
    entry("/usr/sbin/mkfs.ext4"),
    entry("/sbin/mkfs.ext4"),
    entry("/usr/bin/mkfs.ext4"),
    // The runtime and the pod network.
    text("/etc/containerd/config.toml"),
    text("/etc/containerd/conf.d/*.toml"),
    text("/etc/containerd/certs.d/*/hosts.toml"),
    text("/etc/containerd/cni.conflist.template"),
    text("/etc/crictl.yaml"),
    entry("/etc/docker/daemon.json"),
    entry("/run/containerd/containerd.sock"),
    entry("/run/docker.sock"),
    entry("/var/run/docker.sock"),
    text("/etc/cni/net.d/*"),
    entry("/opt/cni/bin"),
    entry("/opt/cni/bin/*"),
    entry("/usr/bin/containerd"),
    entry("/usr/local/bin/containerd"),
    entry("/usr/sbin/runc"),
    entry("/usr/bin/runc"),
    entry("/usr/local/bin/runc"),
    entry("/usr/local/sbin/runc"),
    entry("/usr/bin/docker"),
    entry("/usr/bin/dockerd"),
    entry("/usr/local/bin/dockerd"),
    // Kubernetes.
    text("/etc/sysconfig/kubelet"),
    text("/etc/default/kubelet"),
    text("/etc/sysconfig/docker"),
    text("/etc/sysconfig/containerd"),
    entry("/etc/sysconfig/quake-agent-proxy"),
    text("/etc/kubernetes/cloud.config"),
    text("/etc/kubernetes/manifests/*"),
    text("/var/lib/kubelet/config.yaml"),
    text("/var/lib/kubelet/kubelet.conf"),
    text("/var/lib/kubelet/kubeconfig"),
    text("/var/lib/kube-proxy/kubeconfig"),
    text("/var/lib/kube-controller-manager/kubeconfig"),
    text("/var/lib/kube-scheduler/kubeconfig"),
    text("/var/lib/kube-router/kubeconfig"),
    text("/var/lib/kops/kubeconfig"),
    text("/var/lib/kubelet/cpu_manager_state"),
    entry("/var/lib/kubelet/bootstrap-kubeconfig"),
    entry("/var/lib/kubelet/pki/*"),
    text("/var/lib/kubelet/pki/kubelet.crt"),
    text("/var/lib/kubelet/pki/kubelet-client-current.pem"),
    text("/srv/kubernetes/*.crt"),
    text("/srv/kubernetes/kubelet-api.pem"),
    text("/srv/kubernetes/*.cert"),
    text("/srv/kubernetes/*/*.crt"),
    text("/etc/kubernetes/pki/*/*.crt"),
    // Control planes of kops 1.32 and newer.
    text("/etc/kubernetes/kops-controller/*.crt"),
    text("/etc/kubernetes/kube-apiserver-healthcheck/secrets/*.crt"),
    entry("/etc/kubernetes/kops-controller/*"),
    entry("/etc/kubernetes/kube-apiserver-healthcheck/secrets/*"),
    entry("/var/lib/quake-agent/certificates/*"),
    text("/usr/lib/systemd/system/kubelet.service"),
    text("/usr/lib/systemd/system/containerd.service"),
    entry("/opt/bin/kubelet"),
    entry("/srv/kubernetes/*"),
    entry("/srv/kubernetes/*/*"),
    entry("/etc/kubernetes/pki/*/*"),
    entry("/usr/local/bin/kubelet"),
    entry("/usr/local/bin/kubectl"),
    entry("/usr/bin/kubelet"),
    entry("/var/lib/kubelet"),
    entry("/var/lib/kube-controller-manager/kubeconfig"),
    entry("/var/lib/kube-proxy/kubeconfig"),
    entry("/var/lib/kube-scheduler/kubeconfig"),
    entry("/mnt/*"),
    entry("/mnt/*/var/etcd"),
    entry("/mnt/*/var/etcd/*"),
    entry("/mnt/*/var/etcd/*/*"),
    entry("/mnt/*/var/etcd/*/member/*"),
    entry("/mnt/*/var/etcd/*/member/snap/*"),
    entry("/mnt/*/*"),
    text("/mnt/*/.quake-agent/volume.json"),
    entry("/mnt/*/data/*"),
    entry("/mnt/*/data/*/member/*"),
    entry("/mnt/*/data/*/member/snap/*"),
    entry("/mnt/*/data/*/*"),
    entry("/mnt/*/data/*/*/member/*"),
    // The same where the root is read-only: etcd-manager mounts below another directory there.
    entry("/mnt/disks/*/state"),
    text("/mnt/disks/*/.quake-agent/volume.json"),
    entry("/mnt/disks/*/data/*"),
    entry("/mnt/disks/*/data/*/*"),
    entry("/mnt/disks/*/data/*/member/*"),
    entry("/mnt/disks/*/data/*/member/snap/*"),
    // The agent itself.
    entry("/usr/local/bin/quake-agent"),
    entry("/usr/bin/quake-agent"),
    entry("/var/lib/quake-agent/*"),
    entry("/var/lib/quake-agent/store/*"),
    entry("/var/lib/quake-agent/store/*/*"),
    entry("/var/lib/quake-agent/store/*/*/manifest.json"),
    text("/var/lib/quake-agent/store/sets/*.json"),
    text("/var/lib/quake-agent/volumes.json"),
    entry("/run/quake-agent/*"),
    entry("/var/lib/quake-agent/boots/*"),
    text("/run/cloud-init/status.json"),
    text("/run/cloud-init/result.json"),
    entry("/var/lib/cloud/instance"),
];

#[cfg(test)]
mod tests {
    use super::is_wanted;

    #[test]
    fn a_star_stands_for_a_part_of_one_name() {
        for (path, wanted) in [
            ("/etc/cni/net.d/10-x.conf", true),
            ("/etc/cni/net.d/a/b", false),
            ("/etc/containerd/certs.d/docker.io/hosts.toml", true),
            ("/etc/systemd/system/kubelet.service", true),
            ("/etc/systemd/system/kubelet.socket", false),
        ] {
            assert_eq!(is_wanted(path), wanted, "{path}");
        }
    }
}
