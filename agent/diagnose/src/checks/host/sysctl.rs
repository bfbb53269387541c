//! `host.sysctl`: settings of the kernel that a node does not bear, as somebody's own files set them, or as they are.

mod reverse;
mod rows;
mod without_ipv6;

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::{kubelet_flag, runs_kubernetes};
use crate::checks::node::Node;
use quake_model::facts::Unseen;
use rows::{OF_IPV6, ROWS};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "host.sysctl",
    title: "no file gives the kernel a setting that breaks a node",
    severity: Severity::Warning,
    tags: &["kernel", "hardening"],
    sources: &[Source::Files, Source::Network, Source::Runtime],
    because: &[],
    why: "guides for hardening a host or for tuning a database set what breaks pods",
    remedy: "take the line out of the file in /etc/sysctl.d, then: sysctl --system",
    judge,
}];

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if !runs_kubernetes(node) {
        return Verdict::skip("the node is not known to run Kubernetes");
    }
    let has_v6 = kubelet_flag(node, "cluster-dns").is_some_and(|server| server.contains(':'));
    let rows = ROWS.iter().chain(has_v6.then_some(&OF_IPV6));
    let bad = rows.filter_map(|row| {
        let set = set(node, row.key)?;
        let is_bad = (row.is_bad)(&set.value) && (row.concerns)(node);
        is_bad.then(|| (set.of(row.key), row.what, set.remedy(row.key, row.better)))
    });
    let mut bad = bad.chain(reverse::strict(node));
    let Some((setting, what, fix)) = bad.next() else {
        return match without_ipv6::refused(node) {
            Some(finding) => finding.warn(),
            None => Verdict::ok("none is known to do harm"),
        };
    };
    let finding = Finding::new(format!("{setting}: {what}"), fix);
    bad.fold(finding, |mut finding, (setting, what, fix)| {
        finding.fix = format!("{}; also: {fix}", finding.fix);
        finding.seen("also", format_args!("{setting}: {what}"))
    })
    .warn()
}

/// The value of a setting, and the file that sets it; without one it is what the kernel has.
struct Set {
    value: String,
    file: Option<String>,
}

impl Set {
    fn of(&self, key: &str) -> String {
        match &self.file {
            Some(path) => format!("{path} sets {key} = {}", self.value),
            None => format!("{key} is {}", self.value),
        }
    }

    fn remedy(&self, key: &str, better: &str) -> String {
        match &self.file {
            // The kernel does not let it be taken back (admin-guide/sysctl/kernel, `modules_disabled`).
            Some(path) if key == "kernel.modules_disabled" => format!(
                "take {key} out of {path} (and out of what writes it), then drain the node and reboot or replace it: the kernel does not take it back while it runs; where the setting is wanted, list ip_set, xt_set, ipip, vxlan, br_netfilter and overlay in /etc/modules-load.d first"
            ),
            Some(path) if key == "net.ipv4.ip_local_port_range" => format!(
                "take {key} out of {path}, then: sysctl -w {key}='{better}'; a connection keeps the port that it has: ss -tanp '( sport >= :10248 and sport <= :10260 )' shows whose it is: restart that program, often kubelet, or reboot"
            ),
            Some(path) => format!(
                "take {key} out of {path}, then: sysctl -w {key}='{better}'; restart the host where the kernel refuses it"
            ),
            None => format!(
                "sysctl -w {key}='{better}', and echo '{key} = {better}' >/etc/sysctl.d/99-zz-node.conf; grep -rn {key} /usr/lib/sysctl.d /usr/local/bin /etc/rc.local shows what sets it"
            ),
        }
    }
}

const SET_BY_KUBELET: &[&str] = &["vm.overcommit_memory", "vm.panic_on_oom"];

/// What files set a key to, else its value in the kernel.
fn set(node: &Node<'_>, key: &str) -> Option<Set> {
    if let Some((value, path)) = in_files(node, key) {
        return Some(Set {
            value,
            file: Some(path),
        });
    }
    // kubelet sets these itself, or does not start and says so (`kubelet.alive`).
    if SET_BY_KUBELET.contains(&key) {
        return None;
    }
    let value = node.sysctl(key).ok()??;
    Some(Set {
        value: value.to_owned(),
        file: None,
    })
}

/// The value that files set last, and which (sysctl.d(5): by name; `/etc/sysctl.conf` comes last).
fn in_files(node: &Node<'_>, key: &str) -> Option<(String, String)> {
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

    #[test]
    fn a_value_that_no_file_sets_is_judged_as_the_kernel_has_it() {
        let mut node = Sample::worker();
        let live = "/proc/sys/net/ipv4/ip_local_port_range";
        node.text("/proc/sys/kernel/osrelease", "6.1.0\n");
        node.text(live, "0\t65535\n");
        node.assert(
            "host.sysctl",
            Status::Warn,
            "sysctl -w net.ipv4.ip_local_port_range='32768 60999', and echo",
        );
        node.text(live, "61000\t61999\n");
        node.assert("host.sysctl", Status::Warn, "no port left");
        node.text(live, "32768\t60999\n");
        node.assert("host.sysctl", Status::Ok, "none is known");
    }

    #[test]
    fn node_ports_are_no_ports_of_connections_unless_they_are_reserved() {
        let mut node = Sample::worker();
        let path = "/etc/sysctl.d/90-tuning.conf";
        let range = "net.ipv4.ip_local_port_range = 15000 65000\n";
        node.text(path, range);
        node.assert("host.sysctl", Status::Warn, "ports of Services");
        let reserved = "net.ipv4.ip_local_reserved_ports = 30000-32767\n";
        node.text(path, &format!("{range}{reserved}"));
        node.assert("host.sysctl", Status::Ok, "none is known");
    }

    #[test]
    fn a_setting_that_another_check_reports_is_not_reported_twice() {
        let mut node = Sample::worker();
        node.text("/etc/sysctl.d/99-zz.conf", "net.ipv4.ip_forward = 0\n");
        node.assert("host.sysctl", Status::Warn, "next sysctl --system");
        node.text("/proc/sys/net/ipv4/ip_forward", "0\n");
        node.assert("host.sysctl", Status::Ok, "none is known");
    }
}
