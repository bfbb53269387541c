//! Tasks that hold a processor in the kernel and do not give it back, and what waits for them.

use super::hung::{Kind, LOCKUP, Wait, names, waits};
use super::kernel_log;
use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use quake_model::facts::Unseen;

/// The judgement where a task locked a processor up, or tasks wait for the kernel's audit; `None` where neither is so.
pub(super) fn judge(
    node: &Node<'_>,
    release: &str,
    faults: &[&str],
) -> Option<Result<Verdict, Unseen>> {
    let locked = faults
        .iter()
        .rev()
        .find_map(|line| Some((*line, locked(line)?)));
    let waits = waits(node);
    let held: Vec<&Wait<'_>> = waits
        .iter()
        .filter(|wait| matches!(wait.kind, Kind::Audit | Kind::Lockup))
        .collect();
    let of_audit = held.iter().any(|wait| wait.kind == Kind::Audit)
        || locked.is_some_and(|(_, (task, _))| task.contains("audit"));
    if locked.is_none() && !of_audit {
        return None;
    }
    let finding = Finding::new(
        summary(locked.map(|(_, task)| task), &held, release),
        fix(of_audit, release),
    );
    let finding = match locked {
        Some(_) => finding.seen("kernel log", kernel_log::last(faults)),
        None => finding,
    };
    let lines: Vec<&str> = held.iter().map(|wait| wait.line).collect();
    let finding = match lines.is_empty() {
        true => finding,
        false => finding.seen("kernel log", kernel_log::last(&lines)),
    };
    Some(match held.is_empty() {
        true => finding.warn(),
        false => finding.fail(),
    })
}

/// The task that holds a processor, and for how long: `kauditd` and `104s` of
/// `watchdog: BUG: soft lockup - CPU#1 stuck for 104s! [kauditd:28]`.
fn locked(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(LOCKUP)?;
    let (_, rest) = rest.split_once("stuck for ")?;
    let (time, task) = rest.split_once("! [")?;
    let task = task.split_once(']').map_or(task, |(task, _)| task);
    let task = task.rsplit_once(':').map_or(task, |(task, _)| task);
    Some((task, time))
}

fn summary(locked: Option<(&str, &str)>, held: &[&Wait<'_>], release: &str) -> String {
    let waiting = names(held.iter().copied());
    match locked {
        Some((task, time)) if held.is_empty() => {
            format!("{task} locked a processor up for {time} (soft lockup) in the kernel {release}")
        }
        Some((task, time)) => format!(
            "{task} locked a processor up for {time} (soft lockup) in the kernel {release}, and these tasks hang: {waiting}"
        ),
        None => format!(
            "these tasks hang because the audit of the kernel {release} takes no records: {waiting}"
        ),
    }
}

fn fix(of_audit: bool, release: &str) -> String {
    match of_audit {
        true => format!(
            "drain the node and reboot it; no disk and no container runtime is the cause. Let nothing load audit rules (augenrules --load, auditctl -R: an agent, a timer) until the image has a kernel other than {release}; auditctl -s shows a backlog that is full"
        ),
        false => "drain the node and replace the instance; if it comes back, use another kernel; look at steal time (top, st): an overloaded host shows the same".to_owned(),
    }
}
