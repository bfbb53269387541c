//! A kernel that loads no module any more (`kernel.modules_disabled`, Linux, Documentation/admin-guide/sysctl/kernel), and what
//! asks for one in vain.

use super::Set;
use crate::checks::check::Finding;
use crate::checks::host::forbidden::{OF_XTABLES, extension_in};
use crate::checks::host::modules::is_loaded;
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;

pub(super) const KEY: &str = "kernel.modules_disabled";

/// Whether the kernel refuses modprobe now.
pub(in crate::checks) fn is_sealed(node: &Node<'_>) -> bool {
    node.sysctl(KEY).ok().flatten() == Some("1")
}

/// A remedy that would load a module, with what comes before that.
pub(in crate::checks) fn without_modprobe(fix: &str, node: &Node<'_>) -> Option<String> {
    let loads = fix.contains("modprobe ") && !fix.contains(KEY);
    (loads && is_sealed(node)).then(|| {
        format!(
            "{fix}; but {KEY} is 1, so that the kernel refuses modprobe, and a package of modules does not help until then: first follow the remedy of host.sysctl and reboot the node"
        )
    })
}

/// The finding where a program needs a module that is not loaded, and the kernel loads none.
pub(super) fn needed(node: &Node<'_>) -> Option<Finding> {
    if !is_sealed(node) {
        return None;
    }
    let (module, who, line) = asked_for(node)?;
    let set = Set::running(node, KEY, "1");
    let finding = Finding::new(
        format!(
            "{}: the kernel loads no module until the next boot, and {who} needs {module}, which is not loaded",
            set.of(KEY)
        ),
        set.without_sealing(&module),
    );
    Some(finding.seen(KEY, "1").seen("log", shorten(line, 300)))
}

/// The module that a program asked for last and that is not loaded, who it was, and the line.
fn asked_for<'a>(node: &Node<'a>) -> Option<(String, String, &'a str)> {
    let lacks = |line: &&'a String| {
        let module = module_of(line)?;
        let is_there = |name: &String| is_loaded(node, name).unwrap_or(true);
        let is_lacking = !any_of(line, &module).iter().any(is_there);
        (is_lacking && is_late(line, node)).then_some((module, line.as_str()))
    };
    let mut pods = node.pods();
    let of_pods = pods.find_map(|pod| {
        let mut lines = pod.log.iter().rev();
        let (module, line) = lines.find_map(|line| lacks(&line))?;
        let who = format!("{} of {}/{}", pod.container, pod.namespace, pod.name);
        Some((module, who, line))
    });
    let of_units = || {
        let mut journals = node.survey().journals.ok()?.iter();
        journals.find_map(|(unit, lines)| {
            let mut lines = lines.iter().rev();
            let (module, line) = lines.find_map(|line| lacks(&line))?;
            Some((module, unit.clone(), line))
        })
    };
    of_pods.or_else(of_units)
}

/// The module that a line says to be missing: of an extension of iptables (libxtables), of a filesystem (libmount), or of
/// modprobe itself.
fn module_of(line: &str) -> Option<String> {
    let between = |from: &str, to: &str| {
        let (_, rest) = line.split_once(from)?;
        let (name, _) = rest.split_once(to)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        (!name.is_empty() && name.chars().all(is_name)).then_some(name)
    };
    if let Some(name) = extension_in(line) {
        return Some(format!("xt_{name}"));
    }
    let name = between("unknown filesystem type '", "'")
        .or_else(|| between("could not insert '", "': Operation not permitted"))?;
    Some(name.replace('-', "_"))
}

/// The modules of which each is the one that a line says to be missing: older extensions of iptables are `ipt_` and `ip6t_`.
fn any_of(line: &str, module: &str) -> Vec<String> {
    let extension = module.strip_prefix("xt_");
    match extension.filter(|_| line.contains("Extension ")) {
        Some(name) => {
            let names = OF_XTABLES.iter().map(|prefix| format!("{prefix}{name}"));
            names.collect()
        }
        None => vec![module.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::module_of;
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    #[test]
    fn lines_name_the_module_that_is_missing() {
        for (line, module) in [
            (
                "Warning: Extension recent revision 0 not supported, missing kernel module?",
                Some("xt_recent"),
            ),
            ("mount: /x: unknown filesystem type 'xfs'.", Some("xfs")),
            (
                "modprobe: ERROR: could not insert 'nf-tables': Operation not permitted",
                Some("nf_tables"),
            ),
            ("Extension recent is fine", None),
        ] {
            assert_eq!(module_of(line).as_deref(), module, "{line}");
        }
    }

    #[test]
    fn a_running_kernel_that_loads_no_module_is_why_one_is_missing() {
        let mut node = Sample::worker();
        node.text("/proc/sys/kernel/osrelease", "6.1.0\n");
        node.text("/proc/modules", "overlay 1 0 - Live 0x0\n");
        let line = "Warning: Extension recent revision 0 not supported, missing kernel module?";
        node.pod("kube-proxy", "running").log = vec![line.to_owned()];
        node.assert("host.sysctl", Status::Ok, "none is known");
        node.text("/proc/sys/kernel/modules_disabled", "1\n");
        node.assert("host.sysctl", Status::Fail, "needs xt_recent");
        node.text(
            "/etc/systemd/system/late.service",
            "[Service]\nExecStart=/usr/sbin/sysctl -w kernel.modules_disabled=1\n",
        );
        node.text(
            "/etc/systemd/system/late.timer",
            "[Timer]\nOnBootSec=15min\n",
        );
        node.assert("host.sysctl", Status::Fail, "which late.service sets");
        node.assert(
            "host.sysctl",
            Status::Fail,
            "systemctl disable --now late.timer",
        );
        for module in ["xt_recent", "ipt_recent", "ip6t_recent"] {
            node.text("/proc/modules", &format!("{module} 1 0 - Live 0x0\n"));
            node.assert("host.sysctl", Status::Warn, "kernel.modules_disabled is 1");
        }
    }
}
