//! Huge pages: memory that the kernel keeps for programs that ask for them (Linux, Documentation/admin-guide/mm/hugetlbpage.rst).

use crate::checks::check::{Certainty, Finding};
use crate::checks::meminfo;
use crate::checks::named::setter;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;

const KIB_PER_MIB: u64 = 1024;
const KEY: &str = "vm.nr_hugepages";

/// The finding where huge pages that nobody uses take much of the memory.
pub(super) fn idle(node: &Node<'_>, text: &str, total: u64) -> Option<Finding> {
    /// A larger share of the memory than this is no accident.
    const SHARE: u64 = 4;
    let (free, size) = (
        meminfo::number(text, "HugePages_Free")?,
        meminfo::number(text, "Hugepagesize")?,
    );
    let idle = free * size;
    if idle <= total / SHARE {
        return None;
    }
    let named = setter(&format!("sysctl -w {KEY}=0"), &node.survey().texts);
    let named = named.map_or(String::new(), |named| format!(" ({named})"));
    Some(Finding::new(
        format!(
            "{} of {} MiB of memory are reserved as huge pages that nothing uses{named}",
            idle / KIB_PER_MIB,
            total / KIB_PER_MIB
        ),
        format!(
            "sysctl -w {KEY}=0 gives them back; take {KEY} out of its file in /etc/sysctl.d (or hugepages= out of the kernel's command line); then: systemctl restart kubelet.service"
        ),
    ))
}

/// How a program ends that touches a page which it was promised and does not get: 128 and the number of SIGBUS.
const BUS_ERROR: i32 = 135;

/// The finding of a container that maps huge pages, which this host has and which its pod may not use: without a limit of
/// `hugepages-2Mi` kubelet sets the limit of its control group to zero.
pub(super) fn denied(node: &Node<'_>, text: &str) -> Option<Finding> {
    let all = meminfo::number(text, "HugePages_Total").filter(|all| *all > 0)?;
    let (pod, line) = node.pods().find_map(|pod| {
        let mut lines = pod.log.iter().rev();
        let line = lines.find(|line| line.contains("Bus error"));
        let is_so = pod.exit_code == Some(BUS_ERROR) || line.is_some();
        is_so.then_some((pod, line))
    })?;
    let (namespace, name, container) = (&pod.namespace, &pod.name, &pod.container);
    let named = setter(&format!("sysctl -w {KEY}=0"), &node.survey().texts);
    let named = named.map_or(String::new(), |named| format!(" ({named})"));
    let finding = Finding::new(
        format!(
            "{container} of {namespace}/{name} ends with a bus error: this host has {all} huge pages{named}, it takes them, and its pod has no limit for them"
        ),
        format!(
            "give the pod resources.limits hugepages-2Mi (such as 512Mi, beside a request of memory); or turn them off in the program (PostgreSQL: huge_pages = off, which initdb has to know, too); or, where no program of this node wants them: sysctl -w {KEY}=0, take {KEY} out of its file in /etc/sysctl.d, and systemctl restart kubelet.service; more memory does not help"
        ),
    );
    let finding = finding.by(Certainty::Likely);
    Some(match line {
        Some(line) => finding.seen("log", shorten(line, 300)),
        None => finding.seen("exit code", BUS_ERROR),
    })
}
