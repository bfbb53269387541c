//! Tasks that the kernel says are hung, and what they wait for by the stack that it shows.

use crate::checks::node::Node;

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A server of NFS.
    Nfs,
    /// The kernel's lock for network namespaces.
    Namespaces,
    /// Anything else, which is a disk most often.
    Other,
}

/// A task that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wait<'a> {
    pub(super) kind: Kind,
    /// The line that says so.
    pub(super) line: &'a str,
}

impl Wait<'_> {
    /// The name of the task.
    pub(super) fn task(&self) -> &str {
        let name = self
            .line
            .split_once("task ")
            .map_or(self.line, |(_, rest)| rest);
        name.split(':').next().unwrap_or(name)
    }
}

/// How the kernel says that a task hangs (kernel/hung_task.c).
const HUNG: &str = "blocked for more than";

/// How many lines a stack has at most.
const STACK: usize = 40;

const OF_NFS: &[&str] = &["[nfs", "[sunrpc]", "rpc_wait_bit_killable", "nfs_"];
const OF_NAMESPACES: &[&str] = &[
    "copy_net_ns",
    "cleanup_net",
    "unregister_netdevice",
    "netdev_run_todo",
];

/// The tasks that the kernel's log calls hung.
pub(super) fn waits<'a>(node: &Node<'a>) -> Vec<Wait<'a>> {
    let log = node.survey().kernel_log.ok().map_or(&[][..], Vec::as_slice);
    let hung = log
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains(HUNG));
    let kind_of = |at: usize| {
        let rest = log[at + 1..].iter().take(STACK);
        let stack: Vec<&String> = rest.take_while(|line| !line.contains(HUNG)).collect();
        let has = |words: &[&str]| {
            let mut lines = stack.iter();
            lines.any(|line| words.iter().any(|word| line.contains(word)))
        };
        match (has(OF_NFS), has(OF_NAMESPACES)) {
            (true, _) => Kind::Nfs,
            (false, true) => Kind::Namespaces,
            (false, false) => Kind::Other,
        }
    };
    let waits = hung.map(|(at, line)| Wait {
        kind: kind_of(at),
        line,
    });
    waits.collect()
}
