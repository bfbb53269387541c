//! `host.sysctl`: settings of the kernel that somebody's own files set, and that a node does not bear.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::{kubelet_flag, runs_kubernetes};
use crate::checks::node::Node;
use quake_model::facts::Unseen;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "host.sysctl",
    title: "no file gives the kernel a setting that breaks a node",
    severity: Severity::Warning,
    tags: &["kernel", "hardening"],
    sources: &[Source::Files],
    because: &[],
    why: "guides for hardening a host or for tuning a database set what breaks pods",
    remedy: "take the line out of the file in /etc/sysctl.d, then: sysctl --system",
    judge,
}];

/// A setting, which values do harm, what they do, and which value to set. Sources: Linux, Documentation/admin-guide/sysctl
/// and Documentation/networking/ip-sysctl.
struct Row {
    key: &'static str,
    is_bad: fn(&str) -> bool,
    what: &'static str,
    better: &'static str,
}

fn is_one(value: &str) -> bool {
    value == "1"
}

fn is_zero(value: &str) -> bool {
    value == "0"
}

const ROWS: &[Row] = &[
    Row {
        key: "user.max_user_namespaces",
        is_bad: is_zero,
        what: "no user namespace can be made, which pods with hostUsers: false and rootless tools need",
        better: "28633",
    },
    Row {
        key: "user.max_net_namespaces",
        is_bad: is_zero,
        what: "no pod gets a network of its own",
        better: "28633",
    },
    Row {
        key: "user.max_pid_namespaces",
        is_bad: is_zero,
        what: "no container starts",
        better: "28633",
    },
    Row {
        key: "user.max_mnt_namespaces",
        is_bad: is_zero,
        what: "no container starts",
        better: "28633",
    },
    Row {
        key: "kernel.modules_disabled",
        is_bad: is_one,
        what: "no module can be loaded until the next boot: no overlay, no br_netfilter, no iptables",
        better: "0",
    },
    Row {
        key: "vm.overcommit_memory",
        is_bad: |value| value == "2",
        what: "programs in Go and Java cannot reserve memory, and kubelet with protectKernelDefaults does not start",
        better: "1",
    },
    Row {
        key: "net.ipv4.tcp_tw_recycle",
        is_bad: is_one,
        what: "connections from behind a NAT, such as those of pods, are dropped at random",
        better: "0",
    },
    Row {
        key: "net.ipv4.ip_local_port_range",
        is_bad: |value| {
            let first = value.split_whitespace().next();
            first
                .and_then(|first| first.parse::<u32>().ok())
                .is_some_and(|first| first < 10_300)
        },
        what: "connections take the ports of kubelet and the control plane (10248 to 10259), which then cannot listen",
        better: "32768 60999",
    },
    Row {
        key: "vm.panic_on_oom",
        is_bad: |value| value == "1" || value == "2",
        what: "the host restarts where the kernel would kill one process",
        better: "0",
    },
    Row {
        key: "net.ipv4.conf.all.forwarding",
        is_bad: is_zero,
        what: "the node does not forward packets of pods",
        better: "1",
    },
    Row {
        key: "net.ipv4.conf.default.forwarding",
        is_bad: is_zero,
        what: "links of new pods do not forward packets",
        better: "1",
    },
    Row {
        key: "fs.may_detach_mounts",
        is_bad: is_zero,
        what: "pods stay in Terminating: device or resource busy",
        better: "1",
    },
];

/// What an IPv6 cluster does not bear.
const OF_IPV6: Row = Row {
    key: "net.ipv6.conf.all.disable_ipv6",
    is_bad: is_one,
    what: "the host has no IPv6, and the cluster's addresses are of IPv6",
    better: "0",
};

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if !runs_kubernetes(node) {
        return Verdict::skip("the node is not known to run Kubernetes");
    }
    let has_v6 = kubelet_flag(node, "cluster-dns").is_some_and(|server| server.contains(':'));
    let rows = ROWS.iter().chain(has_v6.then_some(&OF_IPV6));
    let mut bad = rows.filter_map(|row| {
        let (value, path) = set(node, row.key)?;
        (row.is_bad)(&value).then_some((row, value, path))
    });
    let Some((row, value, path)) = bad.next() else {
        return Verdict::ok("none is known to do harm");
    };
    let finding = Finding::new(
        format!("{path} sets {} = {value}: {}", row.key, row.what),
        format!(
            "take {0} out of {path}, then: sysctl -w {0}='{1}'; restart the host where the kernel refuses it",
            row.key, row.better
        ),
    );
    bad.fold(finding, |finding, (row, value, path)| {
        finding.seen(
            "also",
            format_args!("{path}: {} = {value}: {}", row.key, row.what),
        )
    })
    .warn()
}

/// The value that files set last, and which (sysctl.d(5): by name; `/etc/sysctl.conf` comes last).
fn set(node: &Node<'_>, key: &str) -> Option<(String, String)> {
    let texts = node.survey().texts.iter();
    let mut files: Vec<(&String, &String)> = texts
        .filter(|(path, _)| path.starts_with("/etc/sysctl.d/") || *path == "/etc/sysctl.conf")
        .filter_map(|(path, text)| Some((path, text.ok()?)))
        .collect();
    files.sort_by_key(|(path, _)| (*path == "/etc/sysctl.conf", *path));
    files.into_iter().rev().find_map(|(path, text)| {
        let mut lines = text.lines().rev().map(str::trim);
        let value = lines.find_map(|line| {
            let (name, value) = line.trim_start_matches('-').split_once('=')?;
            (name.trim().replace('/', ".") == key).then(|| value.trim().to_owned())
        })?;
        Some((value, path.clone()))
    })
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    #[test]
    fn the_last_file_that_sets_a_harmful_value_is_named() {
        let mut node = Sample::worker();
        node.text("/etc/sysctl.d/50-db.conf", "vm.overcommit_memory=2\n");
        node.assert(
            "host.sysctl",
            Status::Warn,
            "50-db.conf sets vm.overcommit_memory = 2",
        );
        node.text("/etc/sysctl.d/99-k8s.conf", "vm.overcommit_memory = 1\n");
        node.assert("host.sysctl", Status::Ok, "none is known");
    }

    #[test]
    fn ports_of_kubelet_are_no_ports_of_connections() {
        let mut node = Sample::worker();
        node.text(
            "/etc/sysctl.conf",
            "net.ipv4.ip_local_port_range = 1024 65535\n",
        );
        node.assert("host.sysctl", Status::Warn, "10248");
    }
}
