//! Settings of the kernel that do harm, one row each.

use super::value;
use crate::checks::node::Node;

/// A setting, which values do harm, what they do, and which value to set. Sources: Linux, Documentation/admin-guide/sysctl
/// and Documentation/networking/ip-sysctl.
pub(super) struct Row {
    pub(super) key: &'static str,
    pub(super) is_bad: fn(&str) -> bool,
    /// Whether it does harm on this node.
    pub(super) concerns: fn(&Node<'_>) -> bool,
    pub(super) what: &'static str,
    pub(super) better: &'static str,
}

fn always(_: &Node<'_>) -> bool {
    true
}

fn is_one(value: &str) -> bool {
    value == "1"
}

fn is_zero(value: &str) -> bool {
    value == "0"
}

/// The first port behind those of kubelet and the control plane (10248 to 10259).
const BEHIND_CONTROL_PLANE: u32 = 10_300;
/// The last of the node ports of Services (kube-apiserver, `--service-node-port-range`).
const LAST_OF_NODE_PORTS: u32 = 32_767;

/// Whether a range has fewer ports than a busy proxy needs to one server. The kernel's own has 28,232.
fn has_few_ports(value: &str) -> bool {
    const FEWEST: u32 = 8_000;
    let mut words = value.split_whitespace().map(str::parse::<u32>);
    match (words.next(), words.next()) {
        (Some(Ok(first)), Some(Ok(last))) => last.saturating_sub(first) < FEWEST,
        _ => false,
    }
}

/// The first port of a range.
fn first(range: &str) -> Option<u32> {
    range.split_whitespace().next()?.parse().ok()
}

/// Whether no port is kept for programs that ask for it (ip-sysctl, `ip_local_reserved_ports`).
fn reserves_nothing(node: &Node<'_>) -> bool {
    let reserved = value(node, "net.ipv4.ip_local_reserved_ports");
    reserved.is_none_or(|ports| ports.is_empty())
}

/// Whether the host forwards now: where it does not, `net.settings` says so.
fn forwards(node: &Node<'_>) -> bool {
    node.sysctl("net.ipv4.ip_forward").ok().flatten() != Some("0")
}

pub(super) const ROWS: &[Row] = &[
    Row {
        key: "user.max_user_namespaces",
        is_bad: is_zero,
        concerns: always,
        what: "no user namespace can be made, which pods with hostUsers: false and rootless tools need",
        better: "28633",
    },
    Row {
        key: "user.max_net_namespaces",
        is_bad: is_zero,
        concerns: always,
        what: "no pod gets a network of its own",
        better: "28633",
    },
    Row {
        key: "user.max_pid_namespaces",
        is_bad: is_zero,
        concerns: always,
        what: "no container starts",
        better: "28633",
    },
    Row {
        key: "user.max_mnt_namespaces",
        is_bad: is_zero,
        concerns: always,
        what: "no container starts",
        better: "28633",
    },
    Row {
        key: "kernel.modules_disabled",
        is_bad: is_one,
        concerns: always,
        what: "no module can be loaded until the next boot: no overlay, no br_netfilter, no iptables",
        better: "0",
    },
    Row {
        key: "vm.overcommit_memory",
        is_bad: |value| value == "2",
        concerns: always,
        what: "programs in Go and Java cannot reserve memory, and kubelet with protectKernelDefaults does not start",
        better: "1",
    },
    Row {
        key: "net.ipv4.tcp_tw_recycle",
        is_bad: is_one,
        concerns: always,
        what: "connections from behind a NAT, such as those of pods, are dropped at random",
        better: "0",
    },
    Row {
        key: "net.ipv4.ip_local_port_range",
        is_bad: |value| first(value).is_some_and(|first| first < BEHIND_CONTROL_PLANE),
        concerns: always,
        what: "connections take the ports of kubelet and the control plane (10248 to 10259), which then cannot listen",
        better: "32768 60999",
    },
    Row {
        key: "net.ipv4.ip_local_port_range",
        is_bad: has_few_ports,
        concerns: always,
        what: "a program of the host network has no port left for one more connection (cannot assign requested address), so proxies and ingresses fail under load",
        better: "32768 60999",
    },
    Row {
        key: "vm.panic_on_oom",
        is_bad: |value| value == "1" || value == "2",
        concerns: always,
        what: "the host restarts where the kernel would kill one process",
        better: "0",
    },
    Row {
        key: "net.ipv4.conf.all.forwarding",
        is_bad: is_zero,
        concerns: always,
        what: "the node does not forward packets of pods",
        better: "1",
    },
    Row {
        key: "net.ipv4.conf.default.forwarding",
        is_bad: is_zero,
        concerns: always,
        what: "links of new pods do not forward packets",
        better: "1",
    },
    Row {
        key: "fs.may_detach_mounts",
        is_bad: is_zero,
        concerns: always,
        what: "pods stay in Terminating: device or resource busy",
        better: "1",
    },
    // kubernetes/kubernetes issue 6342
    Row {
        key: "net.ipv4.ip_local_port_range",
        is_bad: |value| {
            let within = BEHIND_CONTROL_PLANE..=LAST_OF_NODE_PORTS;
            first(value).is_some_and(|first| within.contains(&first))
        },
        concerns: reserves_nothing,
        what: "connections take ports of Services (node ports 30000 to 32767), and a Service that gets one does not answer on this node",
        better: "32768 60999",
    },
    // aws/amazon-vpc-cni-k8s issue 744
    Row {
        key: "net.ipv4.ip_forward",
        is_bad: is_zero,
        concerns: forwards,
        what: "the node forwards packets of pods until the next sysctl --system or reboot, and then none",
        better: "1",
    },
    Row {
        key: "kernel.hung_task_panic",
        is_bad: is_one,
        concerns: always,
        what: "the host restarts where a volume or an NFS server does not answer for 120 seconds",
        better: "0",
    },
    Row {
        key: "kernel.panic_on_warn",
        is_bad: is_one,
        concerns: always,
        what: "the host restarts at each warning of the kernel, and drivers and packet filters log some",
        better: "0",
    },
    // cep.dev, oom-killer-network-outage-serial-console
    Row {
        key: "vm.oom_dump_tasks",
        is_bad: is_one,
        concerns: prints_tasks,
        what: "at each OOM kill the kernel prints all processes to the serial console with interrupts off: the network is away for minutes, and the node is NotReady",
        better: "0",
    },
    // kube-proxy sets these two as it starts, and a file sets them again at the next sysctl --system.
    Row {
        key: "net.netfilter.nf_conntrack_max",
        is_bad: |value| is_below(value, 32_768),
        concerns: always,
        what: "new connections of pods are dropped once there are so many (nf_conntrack: table full)",
        better: "262144",
    },
    Row {
        key: "net.netfilter.nf_conntrack_tcp_timeout_established",
        is_bad: |value| is_below(value, 600),
        concerns: always,
        what: "connections that are idle for so many seconds lose their translation, and hang or are reset",
        better: "86400",
    },
    Row {
        key: "net.ipv4.neigh.default.gc_thresh3",
        is_bad: |value| is_below(value, 512),
        concerns: always,
        what: "the host keeps so few neighbours that packets to pods and nodes are dropped (neighbour table overflow)",
        better: "8192",
    },
    Row {
        key: "vm.max_map_count",
        is_bad: |value| is_below(value, 65_530),
        concerns: always,
        what: "programs with many mappings (Java, Elasticsearch, Go with large heaps) cannot allocate memory",
        better: "262144",
    },
    Row {
        key: "vm.min_free_kbytes",
        is_bad: |value| !is_below(value, 1 << 20) && value.parse::<u64>().is_ok(),
        concerns: always,
        what: "the kernel keeps so much memory from programs that it kills some although memory is free",
        better: "67584",
    },
    // opencontainers/runc, libcontainer/keys: each container has a session keyring, most of them root's.
    Row {
        key: "kernel.keys.root_maxkeys",
        is_bad: |value| is_below(value, 1_000),
        concerns: always,
        what: "containers do not start: unable to create session key, disk quota exceeded",
        better: "1000000",
    },
    Row {
        key: "kernel.keys.maxkeys",
        is_bad: |value| is_below(value, 200),
        concerns: always,
        what: "containers of one user do not start: unable to create session key, disk quota exceeded",
        better: "2000",
    },
    Row {
        key: "fs.nr_open",
        is_bad: |value| is_below(value, 1_048_576),
        concerns: always,
        what: "units with LimitNOFILE=1048576, such as containerd, do not start: Failed at step LIMITS",
        better: "1048576",
    },
];

/// Whether a number is smaller.
fn is_below(value: &str, least: u64) -> bool {
    value.parse().is_ok_and(|value: u64| value < least)
}

/// Whether the kernel killed processes for want of memory, and writes to a serial console: it prints a line of each process
/// there with interrupts off.
fn prints_tasks(node: &Node<'_>) -> bool {
    const LOST: &[&str] = &[
        "NETDEV WATCHDOG",
        "completed on time",
        "rcu_sched",
        "soft lockup",
    ];
    let console = node.text("/proc/cmdline").ok().flatten();
    let is_serial = console.is_some_and(|line| line.contains("console=ttyS"));
    let log = node.survey().kernel_log.ok().map_or(&[][..], Vec::as_slice);
    let has = |words: &str| log.iter().any(|line| line.contains(words));
    is_serial && has("oom-kill:") && LOST.iter().any(|words| has(words))
}

/// What an IPv6 cluster does not bear.
pub(super) const OF_IPV6: Row = Row {
    key: "net.ipv6.conf.all.disable_ipv6",
    is_bad: is_one,
    concerns: always,
    what: "the host has no IPv6, and the cluster's addresses are of IPv6",
    better: "0",
};
