//! Memory of the host that is broken: the processor reports it, and the kernel ends what uses it.

use super::kernel_log;
use crate::checks::check::Finding;
use crate::checks::node::Node;
use std::collections::BTreeSet;

/// How the kernel says that a page of memory is broken, and that it took the page out of use or ended who used it
/// (`mm/memory-failure.c`, `arch/x86/kernel/cpu/mce/core.c`).
const BROKEN: &[&str] = &["Memory failure: 0x", "Uncorrected hardware memory error"];

/// How it names whom it ended: `Sending SIGBUS to etcd:2944 due to hardware memory corruption`.
const ENDED: &str = " due to hardware memory corruption";

/// The finding where pages are broken: programs end at random, whatever they run, until the instance has another host.
pub(super) fn broken_memory(node: &Node<'_>) -> Option<Finding> {
    const MOST: usize = 6;
    let lines = kernel_log::lines(node, BROKEN).ok()?;
    let last = lines.last()?;
    let page = |line: &str| {
        let (_, rest) = line.split_once(BROKEN[0])?;
        Some(rest.split(':').next()?.to_owned())
    };
    let pages: BTreeSet<String> = lines.iter().filter_map(|line| page(line)).collect();
    let ended: BTreeSet<&str> = lines.iter().filter_map(|line| ended(line)).collect();
    let shown: Vec<&str> = ended.iter().take(MOST).copied().collect();
    let whom = match shown.is_empty() {
        true => String::new(),
        false => format!(
            "; the kernel ended {}, which used them (SIGBUS)",
            shown.join(", ")
        ),
    };
    Some(
        Finding::new(
            format!(
                "the memory of this instance's host is broken: the processor reports uncorrected errors (pages: {}){whom}",
                pages.len().max(1)
            ),
            "move the instance to another host: drain it and replace it: kops delete instance <instance-id> --yes (with --cloudonly where the API server is down); a reboot stays on the same host; look at etcd's backup first on a control plane; aws ec2 describe-instance-status --instance-ids <instance-id> shows whether AWS plans to retire it; report it to AWS; no program or configuration is at fault",
        )
        .seen("kernel log", last),
    )
}

/// The program that was ended.
fn ended(line: &str) -> Option<&str> {
    let (before, _) = line.split_once(ENDED)?;
    let word = before.rsplit(' ').next()?;
    Some(word.rsplit_once(':').map_or(word, |(name, _)| name))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::Seen;

    #[test]
    fn pages_that_are_broken_and_whom_they_ended_are_named() {
        let mut node = Sample::worker();
        let line = "Memory failure: 0x1a3f42: Sending SIGBUS to etcd:2944 due to hardware memory corruption";
        let other = "Memory failure: 0x1a3f47: recovery action for dirty LRU page: Recovered";
        node.text("/proc/sys/kernel/osrelease", "6.1.0-28\n");
        node.survey.kernel_log = Seen::Yes(vec![line.to_owned(), other.to_owned()]);
        node.assert(
            "host.kernel",
            Status::Fail,
            "(pages: 2); the kernel ended etcd",
        );
    }
}
