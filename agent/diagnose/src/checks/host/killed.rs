//! Who it was that the kernel killed when the machine had no memory left.

use super::capacity::victim;
use super::kernel_log;
use crate::checks::node::Node;

/// How a container ends that is killed: 128 and the number of the signal.
const KILLED: i32 = 137;

/// The programs that the kernel killed for want of memory of the machine, not of a control group, with the pods that may have
/// them, and what to do; `None` where it killed none.
pub(super) fn by_the_machine(node: &Node<'_>) -> Option<(String, String)> {
    let kills = kernel_log::lines(node, &["Killed process ", "Kill process "]).ok()?;
    let global = kills.iter().filter(|line| !line.contains("Memory cgroup"));
    let mut programs: Vec<String> = global.map(|line| program(line)).collect();
    // Of one program the last is told.
    programs.reverse();
    programs.dedup_by(|one, other| one.split(' ').next() == other.split(' ').next());
    if programs.is_empty() {
        return None;
    }
    let is_killed = |code: Option<i32>, reason: &str| code == Some(KILLED) || reason == "OOMKilled";
    let mut pods: Vec<String> = node
        .pods()
        .filter(|pod| {
            let before = pod.previous.iter();
            is_killed(pod.exit_code, &pod.reason)
                || before
                    .into_iter()
                    .any(|it| is_killed(it.exit_code, &it.reason))
        })
        .map(|pod| format!("{}/{}", pod.namespace, pod.name))
        .collect();
    pods.dedup();
    if pods.is_empty() {
        pods.extend(ranked_first(node));
    }
    let named = pods.join(", ");
    let who = match pods.is_empty() {
        true => programs.join(", "),
        false => format!("{} (pod {named})", programs.join(", ")),
    };
    let whose = match pods.is_empty() {
        true => "the pod that has it",
        false => named.as_str(),
    };
    Some((
        who,
        format!(
            "give {whose} resources.requests.memory and resources.limits.memory, or scale it down now; reserve memory for the host in spec.kubelet: systemReserved.memory: 512Mi, kubeReserved.memory: 512Mi, evictionHard: memory.available<500Mi"
        ),
    ))
}

/// The pod that kubelet would evict first for want of memory (`pkg/kubelet/eviction/eviction_manager.go`).
fn ranked_first(node: &Node<'_>) -> Option<String> {
    let mut lines = node.journal("kubelet.service").iter().rev();
    let line = lines.find(|line| line.contains("pods ranked for eviction"))?;
    let (_, pods) = line.split_once("pods=[")?;
    let first = pods.split(',').next()?.trim_matches(['"', ']', '\\']);
    (!first.is_empty()).then(|| first.to_owned())
}

/// A program and how much memory it had: `java with 6270 MiB`.
fn program(line: &str) -> String {
    let name = victim(line);
    let resident = line.split_once("anon-rss:").and_then(|(_, rest)| {
        let kib: u64 = rest.split_once("kB")?.0.parse().ok()?;
        Some(kib >> 10)
    });
    resident.map_or(name.to_owned(), |mib| format!("{name} with {mib} MiB"))
}
