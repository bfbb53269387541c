//! Tasks that the kernel says are hung, and what they wait for by the stack that it shows.

use crate::checks::node::Node;

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The answer of a program that looks at every file before it may be opened (fanotify(7)).
    Scanner,
    /// A server of NFS.
    Nfs,
    /// The program behind a file system in user space.
    Fuse,
    /// The kernel's audit, which takes no more records.
    Audit,
    /// The kernel's lock for network namespaces.
    Namespaces,
    /// A disk.
    Disk,
    /// A task that holds a processor and does not give it back.
    Lockup,
    /// The stack does not say, or there is none.
    Unknown,
}

impl Kind {
    /// Whether a lock of the kernel itself is waited for, which no disk and no server holds.
    pub(super) fn is_of_kernel(self) -> bool {
        matches!(self, Self::Audit | Self::Namespaces | Self::Lockup)
    }
}

/// A task that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wait<'a> {
    pub(super) kind: Kind,
    /// The line that says so.
    pub(super) line: &'a str,
    /// The function of the kernel that it waits in, where the stack shows one.
    pub(super) function: Option<&'a str>,
}

impl<'a> Wait<'a> {
    /// The name of the task: `runc:[2:INIT]` of `INFO: task runc:[2:INIT]:41377 blocked for more than`.
    pub(super) fn task(&self) -> &'a str {
        let (_, rest) = self.line.split_once("task ").unwrap_or(("", self.line));
        let name = rest.split_once(" blocked").map_or(rest, |(name, _)| name);
        name.rsplit_once(':').map_or(name, |(name, _)| name)
    }
}

/// How the kernel says that a task hangs (kernel/hung_task.c).
const HUNG: &str = "blocked for more than";

/// How the kernel says that a task does not give a processor back (kernel/watchdog.c).
pub(super) const LOCKUP: &str = "BUG: soft lockup";

/// How many lines a stack has at most.
const STACK: usize = 40;

/// What a function of a stack ends with.
const FRAME: &str = "+0x";

/// What names the work of a kworker, which says what it waits for where it shows no stack.
const QUEUE: &str = "Workqueue: ";

/// What stands in a stack of each kind. Of several that fit the first counts: what waits for a scanner does so as it opens a
/// file of a disk.
const STACKS: &[(Kind, &[&str])] = &[
    (
        Kind::Scanner,
        &[
            "fanotify_handle_event",
            "fanotify_get_response",
            "[falcon_lsm",
            "[tmhook",
            "[bmhook",
            "[dsa_filter",
            "[talpa",
            "[mfe_",
        ],
    ),
    (
        Kind::Nfs,
        &["[nfs", "[sunrpc]", "rpc_wait_bit_killable", "nfs_"],
    ),
    (Kind::Fuse, &["[fuse]", "fuse_", "request_wait_answer"]),
    (
        Kind::Audit,
        &["audit_log_start", "kauditd", "audit_receive"],
    ),
    (
        Kind::Namespaces,
        &[
            "copy_net_ns",
            "cleanup_net",
            "unregister_netdevice",
            "netdev_run_todo",
        ],
    ),
    (
        Kind::Disk,
        &[
            "io_schedule",
            "jbd2_",
            "xfs_",
            "xlog_",
            "ext4_",
            "btrfs_",
            "blk_",
            "wait_on_buffer",
            "wait_on_page_bit",
            "folio_wait_bit",
            "submit_bio_wait",
            "rq_qos_wait",
        ],
    ),
];

/// Tasks whose names tell, where no stack is shown.
const TASKS: &[(&str, Kind)] = &[
    ("jbd2/", Kind::Disk),
    ("xfsaild/", Kind::Disk),
    ("kworker/u", Kind::Disk),
    ("dmcrypt", Kind::Disk),
    ("auditctl", Kind::Audit),
    ("auditd", Kind::Audit),
    ("kauditd", Kind::Audit),
];

/// Functions in which every task waits.
const OF_ANY: &[&str] = &[
    "__schedule",
    "schedule",
    "schedule_timeout",
    "schedule_preempt_disabled",
    "__switch_to",
    "__switch_to_asm",
    "context_switch",
];

/// The tasks that the kernel's log calls hung.
pub(super) fn waits<'a>(node: &Node<'a>) -> Vec<Wait<'a>> {
    let log = node.survey().kernel_log.ok().map_or(&[][..], Vec::as_slice);
    let is_locked = log.iter().any(|line| line.contains(LOCKUP));
    let is_nfs_silent = is_nfs_silent(log);
    let lines = log.iter().enumerate();
    let hung = lines.filter(|(_, line)| line.contains(HUNG));
    let waits = hung.map(|(at, line)| {
        let rest = log[at + 1..].iter().take(STACK);
        let stack = rest.take_while(|line| !line.contains(HUNG) && !line.contains(LOCKUP));
        let frames = stack.filter(|line| line.contains(FRAME) || line.contains(QUEUE));
        let frames: Vec<&'a str> = frames.map(String::as_str).collect();
        let mut wait = Wait {
            kind: Kind::Unknown,
            line,
            function: frames.iter().find_map(|frame| function(frame)),
        };
        wait.kind = kind_of(&frames, wait.task(), is_locked);
        if wait.kind == Kind::Unknown && is_nfs_silent {
            wait.kind = Kind::Nfs;
        }
        wait
    });
    waits.collect()
}

/// Whether a server of NFS was last said not to answer (fs/nfs, net/sunrpc/clnt.c).
fn is_nfs_silent(log: &[String]) -> bool {
    let says = |line: &&String| line.contains("nfs: server ");
    let last = log.iter().rfind(says);
    last.is_some_and(|line| line.contains("not responding"))
}

fn kind_of(frames: &[&str], task: &str, is_locked: bool) -> Kind {
    let has = |words: &[&str]| {
        let mut lines = frames.iter();
        lines.any(|line| words.iter().any(|word| line.contains(word)))
    };
    let by_stack = STACKS.iter().find(|(_, words)| has(words));
    if let Some((kind, _)) = by_stack {
        return *kind;
    }
    let by_name = TASKS.iter().find(|(start, _)| task.starts_with(start));
    match by_name {
        Some((_, kind)) if frames.is_empty() => *kind,
        _ if is_locked => Kind::Lockup,
        _ => Kind::Unknown,
    }
}

/// The function of a frame: `fanotify_handle_event` of ` fanotify_handle_event+0x8d1/0xf10`.
fn function(frame: &str) -> Option<&str> {
    let (before, _) = frame.split_once(FRAME)?;
    let is_guess = before.contains("? ");
    let name = before.rsplit([' ', ']']).next()?;
    (!is_guess && !OF_ANY.contains(&name) && !name.is_empty()).then_some(name)
}

/// The names of tasks, each once.
pub(super) fn names<'a>(waits: impl Iterator<Item = &'a Wait<'a>>) -> String {
    const MOST: usize = 4;
    let mut names: Vec<&str> = Vec::new();
    for wait in waits {
        if !names.contains(&wait.task()) {
            names.push(wait.task());
        }
    }
    let shown = names.len().min(MOST);
    match names.len() - shown {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..shown].join(", ")),
    }
}
