//! Faulty versions, one row each: which, what happens, and what to do.

use crate::checks::node::Node;

/// How sure the harm is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Harm {
    /// Who has the version has the harm, or will have it on a day that is known.
    Sure,
    /// It comes about only under some load, or has a fix in packages whose version does not show it.
    Risk,
}

/// A fault of some versions of a program.
pub(super) struct Fault {
    pub(super) program: &'static str,
    /// Ranges of versions: the first with the fault, and the first without.
    pub(super) bad: &'static [(&'static str, &'static str)],
    pub(super) harm: Harm,
    /// Whether it concerns this node.
    pub(super) concerns: fn(&Node<'_>) -> bool,
    pub(super) what: &'static str,
    pub(super) fix: &'static str,
}

fn always(_: &Node<'_>) -> bool {
    true
}

/// Whether another member of an etcd cluster runs 3.6 already.
fn has_newer_etcd(node: &Node<'_>) -> bool {
    let mut members = node.survey().etcd.ok().into_iter().flatten();
    members.any(|member| {
        let status = member.status.as_ref();
        status.is_some_and(|status| status.version.starts_with("3.6."))
    })
}

/// Whether the kernel counts the kernel's own memory by control group.
fn counts_kernel_memory(node: &Node<'_>) -> bool {
    let line = node.text("/proc/cmdline").ok().flatten();
    !line.is_some_and(|line| line.contains("cgroup.memory=nokmem"))
}

/// Whether Services are made of rules that track connections.
fn tracks_connections(node: &Node<'_>) -> bool {
    let manifests = node.list("/etc/kubernetes/manifests");
    manifests
        .iter()
        .any(|(name, _)| name.starts_with("kube-proxy"))
}

pub(super) const ROWS: &[Fault] = &[
    // kubernetes/kops docs/advisories/etcd-manager-certificate-expiration
    Fault {
        program: "etcd-manager",
        bad: &[("3.0.0", "3.0.20200428")],
        harm: Harm::Sure,
        concerns: always,
        what: "certificates of etcd end a year after the volume was new, and it does not renew them: the API server then loses etcd",
        fix: "set spec.etcdClusters[].manager.image to kopeio/etcd-manager:3.0.20200531 or newer in kops edit cluster (kops 1.15.3 and newer has it), then: kops update cluster --yes, and roll the control planes one by one",
    },
    // etcd.io/blog/2025/zombie_members_upgrade
    Fault {
        program: "etcd",
        bad: &[("3.5.0", "3.5.26")],
        harm: Harm::Sure,
        concerns: has_newer_etcd,
        what: "another member runs 3.6 already: members that were removed long ago come back in 3.6, and the cluster loses its quorum",
        fix: "take a backup; set the version of etcdClusters back to 3.5.26 or newer, and let all members run it before 3.6; etcdctl member list shows members that are none: etcdctl member remove ID",
    },
    // etcd-io/etcd issues 13766 and 14685 (Documentation/postmortems/v3.5-data-inconsistency.md)
    Fault {
        program: "etcd",
        bad: &[("3.5.0", "3.5.6")],
        harm: Harm::Risk,
        concerns: always,
        what: "members may hold different data after etcd was killed (3.5.0 to 3.5.2), or killed as it defragmented (up to 3.5.5)",
        fix: "etcdctl endpoint hashkv --cluster: all hashes of one revision are the same; remove a member that differs, with its data, and add it again; then set version: 3.5.26 or newer in etcdClusters of kops edit cluster, and roll the control planes",
    },
    // containerd/containerd issue 10036
    Fault {
        program: "containerd",
        bad: &[("1.6.29", "1.6.31"), ("1.7.14", "1.7.15")],
        harm: Harm::Risk,
        concerns: always,
        what: "exec and exec probes hang at random, and probes that time out restart healthy containers",
        fix: "install containerd 1.7.15, 1.6.31 or newer: containerd.version in kops edit cluster, then roll the group; until then use httpGet or tcpSocket probes",
    },
    // containerd/containerd pull request 13483
    Fault {
        program: "containerd",
        bad: &[("2.3.0", "2.3.2")],
        harm: Harm::Risk,
        concerns: always,
        what: "where runc create is slow, a question for the state waits behind it and times out after 2 seconds, and the new container is removed",
        fix: "install containerd 2.3.2 or newer: containerd.version in kops edit cluster, then roll the group",
    },
    // opencontainers/runc issue 4971
    Fault {
        program: "runc",
        bad: &[("1.2.8", "1.2.9"), ("1.3.3", "1.3.4")],
        harm: Harm::Risk,
        concerns: always,
        what: "a tmpfs at a path that the image lacks gets mode 0755 in place of 1777: containers that do not run as root get permission denied there",
        fix: "install runc 1.3.4, 1.2.9 or newer (containerd.runc.version in kops edit cluster), then roll the group; until then give the mount a mode, or make its directory in the image",
    },
    // kubernetes/kubernetes issue 61937
    Fault {
        program: "Linux",
        bad: &[("3.10", "4.0")],
        harm: Harm::Risk,
        concerns: counts_kernel_memory,
        what: "memory of control groups leaks as pods come and go: after weeks no pod starts (no space left on device, cannot allocate memory)",
        fix: "use an image with a newer kernel; until then cgroup.memory=nokmem in GRUB_CMDLINE_LINUX, grub2-mkconfig -o /boot/grub2/grub.cfg, and reboot",
    },
    // kubernetes/kubernetes issue 67577 (Linux commits 512ac999d275 and de53fd7aedb1)
    Fault {
        program: "Linux",
        bad: &[("4.18", "4.19.84"), ("5.0", "5.3.9")],
        harm: Harm::Risk,
        concerns: always,
        what: "pods far below their CPU limit are throttled, so that they answer late and probes time out",
        fix: "use an image with Linux 4.19.84, 5.4 or newer; until then spec.kubelet.cpuCFSQuota: false in kops edit cluster, or no CPU limits; nr_throttled in cpu.stat of the pod's control group counts it",
    },
    // kubernetes/kubernetes issue 56903, weaveworks/weave issue 3287
    Fault {
        program: "Linux",
        bad: &[("0.0", "5.0")],
        harm: Harm::Risk,
        concerns: tracks_connections,
        what: "two lookups of one socket race in the table of connections: lookups of pods take 5 seconds at random",
        fix: "use an image with Linux 5.0 or newer; until then turn node-local-dns on (kubeDNS.nodeLocalDNS.enabled: true), or dnsConfig options single-request-reopen of the pods; conntrack -S shows insert_failed",
    },
];
