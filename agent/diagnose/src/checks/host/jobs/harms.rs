//! Commands in jobs that do harm to a node, by what they do.

/// A kind of harm.
pub(super) struct Harm {
    /// One of these commands, each as words that the line has.
    commands: &'static [&'static [&'static str]],
    /// With one of these objects; any, where there is none.
    pub(super) objects: &'static [&'static str],
    /// What the command does, after the path of its file.
    pub(super) does: &'static str,
    /// How what it did is undone.
    pub(super) fix: &'static str,
}

impl Harm {
    /// Whether a line has it.
    pub(super) fn is_in(&self, line: &str) -> bool {
        let has = |words: &[&str]| words.iter().all(|word| line.contains(word));
        let is_on = self.objects.is_empty() || self.objects.iter().any(|it| line.contains(it));
        is_on && self.commands.iter().any(|words| has(words))
    }
}

/// What turning swap on does.
pub(super) const SWAP: &str = "turns swap on, and kubelet does not start where it is";

const SERVICES: &[&str] = &[
    "kubelet",
    "containerd",
    "docker",
    "quake-agent",
    "systemd-networkd",
    "chrony",
];

const DIRECTORIES: &[&str] = &[
    "/var/lib/kubelet",
    "/var/lib/containerd",
    "/var/lib/docker",
    "/var/lib/cni",
    "/var/lib/calico",
    "/var/lib/etcd",
    "/var/lib/quake-agent",
    "/var/log/pods",
    "/var/log/containers",
    "/etc/cni",
    "/opt/cni",
    "/etc/kubernetes",
    "/srv/kubernetes",
    "/run/containerd",
    "/mnt/master-vol",
];

/// Commands that remove files, or what is in them.
const REMOVALS: &[&[&str]] = &[
    &["rm -"],
    &["-delete"],
    &["-exec rm"],
    &["truncate"],
    &["rsync", "--delete"],
];

/// Lines of systemd-tmpfiles that remove what the node needs.
pub(super) const TIDIED: Harm = Harm {
    commands: &[],
    objects: DIRECTORIES,
    does: "lets systemd-tmpfiles remove files of the node",
    fix: "systemctl restart quake-agent.service writes the agent's files again",
};

pub(super) const HARMS: &[Harm] = &[
    Harm {
        commands: &[
            &["iptables -F"],
            &["iptables --flush"],
            &["iptables -t nat -F"],
            &["iptables -t filter -F"],
            &["iptables -X"],
            &["nft flush ruleset"],
            &["iptables-restore <"],
            &["iptables-restore /"],
        ],
        objects: &[],
        does: "removes all rules of the packet filter, those of kube-proxy and the pod network too",
        fix: "restart kube-proxy's pod and the pod network's, which make their rules anew; load rules of your own with iptables-restore --noflush",
    },
    Harm {
        commands: &[
            &["iptables -P FORWARD DROP"],
            &["iptables -P INPUT DROP"],
            &["policy drop"],
        ],
        objects: &[],
        does: "lets the packet filter drop what no rule names, packets of pods too",
        fix: "iptables -P FORWARD ACCEPT; iptables -P INPUT ACCEPT; use security groups",
    },
    Harm {
        commands: &[
            &["docker system prune"],
            &["docker image prune"],
            &["docker container prune"],
            &["docker rmi"],
            // A unit of one container removes that one by its name.
            &["docker rm ", "$("],
            &["docker stop", "$("],
            &["docker kill", "$("],
            &["xargs", "docker rm"],
            &["xargs", "docker stop"],
            &["crictl rmi"],
            &["crictl rm "],
            &["crictl rmp"],
            &["crictl stopp"],
            &["ctr", "images rm"],
            &["ctr", "images prune"],
            &["nerdctl", "prune"],
        ],
        objects: &[],
        does: "removes containers and images beside kubelet, which removes them itself when the disk fills up",
        fix: "kubelet's imageGCHighThresholdPercent does the same; images that only the seed or a private registry has must come again: systemctl restart quake-agent.service",
    },
    Harm {
        commands: &[
            &["systemctl restart"],
            &["systemctl stop"],
            &["systemctl try-restart"],
            &["systemctl kill"],
            &["systemctl mask"],
            &["systemctl disable"],
            &["service", " restart"],
            &["service", " stop"],
            &["pkill"],
            &["killall"],
        ],
        objects: SERVICES,
        does: "stops or restarts a service of the node",
        fix: "systemctl start the service again, and look in its journal how often the job runs",
    },
    Harm {
        commands: &[&["pkill"], &["killall"], &["kill -9"]],
        objects: &["etcd", "kube", "runc", "shim"],
        does: "kills processes of the node",
        fix: "kubelet and systemd start them again once the job is gone",
    },
    Harm {
        commands: REMOVALS,
        // Logs of containers are below `/var/lib/docker/containers`.
        objects: &[
            "/var/lib/containerd",
            "/var/lib/docker/overlay2",
            "/var/lib/docker/image",
        ],
        does: "removes files of the container runtime, which does not know of it: images and containers miss parts",
        fix: "drain the node; systemctl stop kubelet.service; crictl rmp -fa; systemctl stop containerd.service (docker.service); remove what is in its directory, and reboot: every image is pulled again; kubelet removes unused images itself as the disk fills up",
    },
    Harm {
        commands: REMOVALS,
        objects: DIRECTORIES,
        does: "removes directories of the node",
        fix: "systemctl restart quake-agent.service writes the agent's files again; restart kubelet.service and the runtime after it",
    },
    Harm {
        commands: &[
            &["find / ", "-delete"],
            &["find / ", "rm "],
            &["find /var ", "-delete"],
            &["find /var ", "rm "],
            &["find /var/lib ", "-delete"],
            &["find /etc ", "-delete"],
            &["tmpwatch", "/var"],
        ],
        objects: &[],
        does: "removes old files, those of kubelet, the runtime and etcd too",
        fix: "systemctl restart quake-agent.service writes the agent's files again; give the job single directories",
    },
    Harm {
        commands: &[
            &["chmod -R"],
            &["chown -R"],
            &["setfacl -R"],
            &["restorecon -R"],
        ],
        objects: &[
            "/var/lib/",
            "/etc/kubernetes",
            "/srv/kubernetes",
            "/opt/cni",
            "/mnt/master-vol",
            " /etc",
            " /var",
        ],
        does: "changes owners or modes of the node's files",
        fix: "systemctl restart quake-agent.service sets those of its own files; programs in /opt/cni/bin need 0755, keys 0600; the healthcheck of kube-apiserver runs as user 10012: chown -R 10012 /etc/kubernetes/kube-apiserver-healthcheck/secrets, chmod 0755 on the directories above it",
    },
    Harm {
        commands: &[&["swapon"], &["fallocate", "swap"], &["mkswap"]],
        objects: &[],
        does: SWAP,
        fix: "swapoff -a",
    },
    Harm {
        commands: &[&["sysctl -w"], &["> /proc/sys/"], &[">/proc/sys/"]],
        objects: &[
            "ip_forward=0",
            "ip_forward = 0",
            "ip_forward 0",
            "rp_filter=1",
            "bridge-nf-call-iptables=0",
            "net/ipv4/ip_forward",
        ],
        does: "turns off what pods' packets need",
        fix: "sysctl --system sets the node's own values again",
    },
    Harm {
        commands: &[
            &["ip route flush"],
            &["ip route del"],
            &["ip r del"],
            &["route del"],
            &["ip rule flush"],
            &["ip rule del"],
            &["ip link del"],
            &["ip addr flush"],
            &["ifdown"],
            &["dhclient -r"],
            &["nmcli", "down"],
            &["netplan apply"],
            &["ip neigh flush"],
        ],
        objects: &[],
        does: "removes routes, rules or addresses, those of pods too",
        fix: "restart the pod network's pod, which makes its routes anew; networkctl renew the interface for the host's",
    },
    Harm {
        commands: &[
            &["date -s"],
            &["date --set"],
            &["hwclock"],
            &["timedatectl set-time"],
            &["ntpdate"],
            &["rdate"],
        ],
        objects: &[],
        does: "sets the clock beside the time service",
        fix: "chronyc makestep; let chrony alone keep the time (server 169.254.169.123)",
    },
    Harm {
        commands: &[
            &["hostnamectl set-hostname"],
            &["hostnamectl hostname"],
            &["hostname -F"],
            &["> /etc/hostname"],
            &[">/etc/hostname"],
        ],
        objects: &[],
        does: "changes the host's name, by which kubelet and its certificate know the node",
        fix: "hostnamectl set-hostname with the instance's private DNS name; systemctl restart kubelet.service",
    },
    Harm {
        commands: &[
            &["> /etc/resolv.conf"],
            &[">/etc/resolv.conf"],
            &[" /etc/resolv.conf"],
            &["> /etc/hosts"],
            &[">/etc/hosts"],
        ],
        objects: &[
            "echo", "cp ", "mv ", "ln ", "cat ", "tee ", "printf", "chattr", "sed -i",
        ],
        does: "writes name servers or names of its own",
        fix: "ln -sf /run/systemd/resolve/resolv.conf /etc/resolv.conf where systemd-resolved runs, else nameserver 169.254.169.253",
    },
    Harm {
        commands: &[
            &["chattr +i"],
            &["mount -o remount,ro"],
            &["mount -o remount,noexec"],
            &["mount --make-private"],
            &["mount --make-rprivate"],
        ],
        objects: &[],
        does: "keeps files or mounts from being changed or seen",
        fix: "chattr -i the file; mount -o remount,rw,exec; mount --make-rshared /",
    },
    Harm {
        commands: &[&["modprobe -r"], &["rmmod"]],
        objects: &[
            "overlay",
            "br_netfilter",
            "nf_",
            "ip_",
            "xt_",
            "vxlan",
            "veth",
            "iptable",
        ],
        does: "unloads modules that pods need",
        fix: "modprobe overlay br_netfilter; sysctl --system; restart kube-proxy's pod",
    },
    Harm {
        commands: &[
            &["setenforce 1"],
            &["ufw enable"],
            &["ufw --force enable"],
            &["firewall-cmd"],
            &["systemctl start firewalld"],
            &["systemctl enable --now firewalld"],
            &["aa-enforce"],
        ],
        objects: &[],
        does: "turns on a guard that does not know pods",
        fix: "setenforce 0, ufw disable, or systemctl disable --now firewalld; then restart kube-proxy's pod",
    },
    Harm {
        commands: &[
            &["apt-get", "upgrade"],
            &["apt-get", "autoremove"],
            &["apt ", "upgrade"],
            &["yum", "-y", "update"],
            &["yum", "-y", "upgrade"],
            &["dnf", "-y", "update"],
            &["dnf", "-y", "upgrade"],
            &["unattended-upgrade"],
        ],
        objects: &[],
        does: "upgrades packages on a running node: the runtime, the kernel's modules and systemd among them",
        fix: "apt-mark hold containerd.io containerd runc docker-ce (dnf versionlock), and upgrade by new images and a rolling update",
    },
    Harm {
        commands: &[
            &["shutdown -r"],
            &["/sbin/reboot"],
            &["systemctl reboot"],
            &[" root reboot"],
            &["init 6"],
            &["&& reboot"],
        ],
        objects: &[],
        does: "restarts the host without a drain",
        fix: "drain first, by kured or kops rolling-update cluster",
    },
    Harm {
        commands: &[&["drop_caches"]],
        objects: &[],
        does: "empties the page cache, so that every program reads its files anew",
        fix: "nothing needs it: the kernel gives the cache back by itself",
    },
    Harm {
        commands: &[
            &["kubectl delete node"],
            &["kubectl drain"],
            &["kubectl cordon"],
            &["kubectl taint"],
        ],
        objects: &[],
        does: "takes the node out of its cluster",
        fix: "kubectl uncordon the node; systemctl restart kubelet.service registers one that was deleted",
    },
];
