//! `runtime.shims`: containers whose shim hangs, so that neither kubelet nor containerd can end them. A slow disk looks alike,
//! and has checks of its own.

use super::is_containerd;
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::checks::stage;
use quake_model::facts::Unseen;
use quake_model::phase::Phase;

/// What containerd and kubelet print when a shim does not answer (containerd, `internal/cri/server`, `core/runtime/v2`;
/// kubelet, `kuberuntime`).
const SIGNS: &[&[&str]] = &[
    &[
        "failed to handle container TaskExit event",
        "deadline exceeded",
    ],
    &["failed to stop container", "deadline exceeded"],
    &["failed to kill container", "deadline exceeded"],
    &["StopContainer for", "failed", "deadline exceeded"],
    &["failed to kill shim"],
    &["failed to shutdown shim", "deadline exceeded"],
    &["failed to delete task", "deadline exceeded"],
    &[
        "StopPodSandbox from runtime service failed",
        "DeadlineExceeded",
    ],
    &["KillContainer", "DeadlineExceeded"],
    &[
        "an error occurs during waiting for container",
        "to be killed",
    ],
];

/// Fewer are a moment of load.
const MANY: usize = 2;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    if is_containerd(node) == Some(false) {
        return Verdict::skip("docker is the runtime");
    }
    stage::begun(node, Phase::Services)?;
    node.survey().journals.get()?;
    let units = ["containerd.service", "kubelet.service"];
    let says = |line: &&String| {
        let fits = |sign: &&[&str]| sign.iter().all(|part| line.contains(part));
        SIGNS.iter().any(fits)
    };
    let lines: Vec<&String> = units
        .iter()
        .flat_map(|unit| node.journal(unit).iter().filter(says))
        .collect();
    let Some(last) = lines.last().filter(|_| lines.len() >= MANY) else {
        return Verdict::ok("no container's end was waited for in vain");
    };
    let id = lines.iter().rev().find_map(|line| container_in(line));
    let process = match id {
        Some(id) => format!("pgrep -f 'containerd-shim.*{id}'"),
        None => "pgrep -fa containerd-shim".to_owned(),
    };
    let what = match id {
        Some(id) => {
            format!("the shim of the container {id} hangs: containerd waits for it in vain")
        }
        None => "the shim of a container hangs: containerd waits for it in vain".to_owned(),
    };
    Finding::new(
        what,
        format!(
            "{process} shows it; cat /proc/PID/stack and ps -o stat: in state D it waits for a disk or an NFS mount; else kill -9 it, and: systemctl restart containerd.service (containers go on running)"
        ),
    )
    .by(Certainty::Likely)
    .or_else("a disk or a network file system that does not answer: ps -eo stat,pid,wchan,comm | grep ^D")
    .seen("times", lines.len())
    .seen("journal", quote(last, 400))
    .fail()
}

/// The first 12 digits of the container that a line names.
fn container_in(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
    let is_id = |word: &&str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    words.find(is_id).map(|id| &id[..12])
}
