//! Strict accounting of memory (`vm.overcommit_memory = 2`) whose limit is reached: programs get no memory although much is free
//! (Linux, Documentation/mm/overcommit-accounting.rst).

use super::Set;
use crate::checks::check::Finding;
use crate::checks::host::kernel_log;
use crate::checks::meminfo::{FILE, number};
use crate::checks::node::Node;
use quake_formats::yaml::shorten;

pub(super) const KEY: &str = "vm.overcommit_memory";

/// A share of the limit beyond which it is as good as reached.
const NEAR: u64 = 95;

/// What the kernel and programs say that did not get memory.
const REFUSED: &[&str] = &["annot allocate memory", "errno=12", "no enough memory"];

/// The finding where the host itself has no more to reserve, whatever set it so.
pub(super) fn at_limit(node: &Node<'_>) -> Option<Finding> {
    if node.sysctl(KEY).ok()?? != "2" {
        return None;
    }
    let memory = node.text(FILE).ok()??;
    let (limit, used) = (
        number(memory, "CommitLimit")?,
        number(memory, "Committed_AS")?,
    );
    if used.saturating_mul(100) < limit.saturating_mul(NEAR) {
        return None;
    }
    let set = Set::running(node, KEY, "2");
    let available = number(memory, "MemAvailable").unwrap_or_default();
    let finding = Finding::new(
        format!(
            "{}: programs have reserved {} of the {} MiB that they may (Committed_AS and CommitLimit), so none is started and none gets memory, although {} MiB are available",
            set.of(KEY),
            used >> 10,
            limit >> 10,
            available >> 10
        ),
        format!(
            "{}; more memory or a restart of the runtime does not fix it",
            set.remedy(KEY, "1")
        ),
    );
    let finding = finding.seen(KEY, "2");
    Some(match refusal(node) {
        Some(line) => finding.seen("log", shorten(line, 300)),
        None => finding,
    })
}

/// The last line that says that memory was refused.
fn refusal<'a>(node: &Node<'a>) -> Option<&'a str> {
    let of_kernel = kernel_log::lines(node, &["no enough memory for the allocation"]);
    let of_kernel = of_kernel.ok().and_then(|lines| lines.last().copied());
    let says = |line: &&String| REFUSED.iter().any(|words| line.contains(words));
    let units = ["containerd.service", "kubelet.service"].iter();
    let mut journals = units.flat_map(|unit| node.journal(unit).iter().rev());
    of_kernel.or_else(|| journals.find(says).map(String::as_str))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    fn node(used: &str) -> Sample {
        let mut node = Sample::worker();
        node.text("/proc/sys/kernel/osrelease", "6.1.0\n");
        node.text("/proc/sys/vm/overcommit_memory", "2\n");
        let text = format!(
            "MemTotal: 8000000 kB\nMemAvailable: 4620412 kB\nCommitLimit: 6385696 kB\nCommitted_AS: {used} kB\n"
        );
        node.text("/proc/meminfo", &text);
        node.text(
            "/etc/sysctl.d/99-k8s-general.conf",
            "vm.overcommit_memory = 1\n",
        );
        node
    }

    #[test]
    fn what_programs_reserved_reaches_the_limit_although_memory_is_free() {
        let id = "host.sysctl";
        node("6382544").assert(id, Status::Fail, "although 4512 MiB are available");
        node("6382544").assert(
            id,
            Status::Fail,
            "though /etc/sysctl.d/99-k8s-general.conf sets 1",
        );
        node("6382544").assert(id, Status::Fail, "sysctl -w vm.overcommit_memory='1'");
        node("3000000").assert(id, Status::Warn, "vm.overcommit_memory is 2, though");
    }

    #[test]
    fn the_pod_that_set_it_is_named() {
        let mut node = node("6382544");
        node.pod("tuning", "running").log = vec!["vm.overcommit_memory = 2".to_owned()];
        node.assert(
            "host.sysctl",
            Status::Fail,
            "out of what makes the pod kube-system/tuning",
        );
    }
}
