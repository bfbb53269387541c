//! `host.sysctl`: settings of the kernel that a node does not bear, as somebody's own files set them, or as they are.

mod overcommit;
mod reverse;
mod rows;
mod sealed;
mod setter;
mod without_ipv6;

pub(in crate::checks) use sealed::without_modprobe;

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::{kubelet_flag, runs_kubernetes};
use crate::checks::node::Node;
use quake_model::facts::{ActiveState, Unseen};
use rows::{OF_IPV6, ROWS, Row};
use setter::{Setter, setter};

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
    let grave = sealed::needed(node).map(|finding| (finding, sealed::KEY));
    let grave = grave.or_else(|| Some((overcommit::at_limit(node)?, overcommit::KEY)));
    let said = grave.as_ref().map(|(_, key)| *key);
    let has_v6 = kubelet_flag(node, "cluster-dns").is_some_and(|server| server.contains(':'));
    let rows = ROWS.iter().chain(has_v6.then_some(&OF_IPV6));
    let bad = rows.filter(|row| Some(row.key) != said).filter_map(|row| {
        let set = bad(node, row)?;
        let concerns = (row.concerns)(node);
        concerns.then(|| (set.of(row.key), row.what, set.remedy(row.key, row.better)))
    });
    let mut bad = bad.chain(reverse::strict(node));
    let is_grave = grave.is_some();
    let first = grave.map(|(finding, _)| finding).or_else(|| {
        let (setting, what, fix) = bad.next()?;
        Some(Finding::new(format!("{setting}: {what}"), fix))
    });
    let Some(finding) = first else {
        return match without_ipv6::refused(node) {
            Some(finding) => finding.warn(),
            None => Verdict::ok("none is known to do harm"),
        };
    };
    let finding = bad.fold(finding, |mut finding, (setting, what, fix)| {
        finding.fix = format!("{}; also: {fix}", finding.fix);
        finding.seen("also", format_args!("{setting}: {what}"))
    });
    match is_grave {
        true => finding.fail(),
        false => finding.warn(),
    }
}

/// The value of a setting, and who sets it.
struct Set {
    value: String,
    /// The file of sysctl.d that sets this value.
    file: Option<String>,
    /// The file that sets another value, and which: somebody set it after that was read.
    other: Option<(String, String)>,
    /// Who else is seen to set it.
    setter: Option<Setter>,
}

impl Set {
    /// A value that the kernel has now.
    fn running(node: &Node<'_>, key: &str, value: &str) -> Self {
        let is_same = |set: &str| set.split_whitespace().eq(value.split_whitespace());
        let in_files = in_files(node, key);
        let (file, other) = match in_files {
            Some((set, path)) if is_same(&set) => (Some(path), None),
            other => (None, other),
        };
        let setter = match file {
            Some(_) => None,
            None => setter(node, key, value),
        };
        // The kernel has tabs between numbers.
        let words: Vec<&str> = value.split_whitespace().collect();
        Self {
            value: words.join(" "),
            file,
            other,
            setter,
        }
    }

    fn of(&self, key: &str) -> String {
        let value = &self.value;
        if let Some(path) = &self.file {
            return format!("{path} sets {key} = {value}");
        }
        let by = self.setter.as_ref().map(|setter| &setter.name);
        match (by, &self.other) {
            (Some(by), Some((better, path))) => {
                format!("{key} is {value}, which {by} sets, though {path} sets {better}")
            }
            (Some(by), None) => format!("{key} is {value}, which {by} sets"),
            (None, Some((better, path))) => {
                format!("{key} is {value}, though {path} sets {better}: somebody set it since")
            }
            (None, None) => format!("{key} is {value}"),
        }
    }

    /// How the kernel loads modules again. It does not let it be taken back (admin-guide/sysctl/kernel, `modules_disabled`).
    fn without_sealing(&self, module: &str) -> String {
        let key = sealed::KEY;
        let undo = match (&self.file, &self.setter) {
            (Some(path), _) => format!("take {key} out of {path} (and out of what writes it)"),
            (None, Some(setter)) => setter.undo.clone(),
            (None, None) => format!(
                "grep -rn modules_disabled /etc /usr/local /usr/lib/sysctl.d shows what sets {key}: take that out"
            ),
        };
        let more = match module.is_empty() {
            true => String::new(),
            false => format!("{module}, "),
        };
        format!(
            "{undo}, then drain the node and reboot or replace it: the kernel does not take it back while it runs; where the setting is wanted, list {more}ip_set, xt_set, ipip, vxlan, br_netfilter and overlay in /etc/modules-load.d first"
        )
    }

    fn remedy(&self, key: &str, better: &str) -> String {
        if key == sealed::KEY {
            return self.without_sealing("");
        }
        match &self.file {
            Some(path) if key == "net.ipv4.ip_local_port_range" => format!(
                "take {key} out of {path}, then: sysctl -w {key}='{better}'; a connection keeps the port that it has: ss -tanp '( sport >= :10248 and sport <= :10260 )' shows whose it is: restart that program, often kubelet, or reboot"
            ),
            Some(path) => format!(
                "take {key} out of {path}, then: sysctl -w {key}='{better}'; restart the host where the kernel refuses it"
            ),
            None => self.set_anew(key, better),
        }
    }

    /// The remedy of a value that no file of sysctl.d sets.
    fn set_anew(&self, key: &str, better: &str) -> String {
        let better = self.other.as_ref().map_or(better, |(value, _)| value);
        let now = format!("sysctl -w {key}='{better}'");
        match (&self.setter, &self.other) {
            (Some(setter), _) => format!("{now}; {}", setter.undo),
            (None, Some(_)) => format!(
                "{now}; grep -rn {key} /usr/local /etc/rc.local /etc/cron* /etc/systemd/system, and the logs of pods that tune the host, show what sets it"
            ),
            (None, None) => format!(
                "{now}, and echo '{key} = {better}' >/etc/sysctl.d/99-zz-node.conf; grep -rn {key} /usr/lib/sysctl.d /usr/local/bin /etc/rc.local shows what sets it"
            ),
        }
    }
}

const SET_BY_KUBELET: &[&str] = &["vm.overcommit_memory", "vm.panic_on_oom"];

/// The value that the kernel has, where it is to be judged.
fn running<'a>(node: &Node<'a>, key: &str) -> Option<&'a str> {
    // kubelet sets these itself as it starts, or does not start and says so (`kubelet.alive`).
    let is_up = || {
        let unit = node.unit("kubelet.service").ok().flatten();
        unit.is_some_and(|unit| unit.active == ActiveState::Active)
    };
    if SET_BY_KUBELET.contains(&key) && !is_up() {
        return None;
    }
    node.sysctl(key).ok()?
}

/// A bad value: that of the kernel, else the one that files give it at the next boot.
fn bad(node: &Node<'_>, row: &Row) -> Option<Set> {
    if let Some(value) = running(node, row.key).filter(|value| (row.is_bad)(value)) {
        return Some(Set::running(node, row.key, value));
    }
    let (value, path) = in_files(node, row.key)?;
    (row.is_bad)(&value).then_some(Set {
        value,
        file: Some(path),
        other: None,
        setter: None,
    })
}

/// What files set a key to, else its value in the kernel.
fn value(node: &Node<'_>, key: &str) -> Option<String> {
    let in_files = in_files(node, key).map(|(value, _)| value);
    in_files.or_else(|| running(node, key).map(str::to_owned))
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
