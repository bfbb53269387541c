//! Checks of how much the machine has: processors, memory, swap, the kernel's limits.

use super::{huge_pages, kernel_log, killed, largest, limits, tmpfs};
use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::{kubelet_setting, runs_kubernetes};
use crate::checks::meminfo;
use crate::checks::node::Node;
use quake_model::facts::{ActiveState, Unseen};

/// It stands before the checks of disks: without a processor nothing answers in time.
pub(in crate::checks) const PROCESSORS: &[Check] = &[Check {
    id: "host.cpu",
    title: "the host has enough CPU, and can use it",
    severity: Severity::Warning,
    tags: &["capacity"],
    sources: &[Source::Files],
    because: &["host.kernel"],
    why: "a control plane on one CPU misses its deadlines, and without CPU credits it runs at a tenth of the speed",
    remedy: "choose a larger instance type, or one that is not burstable; or set its credits to unlimited",
    judge: cpu,
}];

pub(in crate::checks) const CHECKS: &[Check] = &[
    Check {
        id: "host.memory",
        title: "the host has free memory",
        severity: Severity::Warning,
        tags: &["capacity"],
        sources: &[Source::Files],
        because: &[],
        why: "kubelet evicts pods when less than 100 MiB is free, and then the kernel kills processes",
        remedy: "choose a larger instance type, or give pods memory limits and kubelet a systemReserved",
        judge: memory,
    },
    Check {
        id: "host.swap",
        title: "swap is off, or kubelet allows it",
        severity: Severity::Critical,
        tags: &["capacity", "kubelet"],
        sources: &[Source::Files],
        because: &["host.jobs"],
        why: "kubelet does not start while swap is on, unless failSwapOn is false",
        remedy: "swapoff -a, and remove swap from /etc/fstab; or failSwapOn: false for kubelet",
        judge: swap,
    },
    Check {
        id: "host.limits",
        title: "the kernel's limits are high enough for the node's pods",
        severity: Severity::Warning,
        tags: &["capacity", "kernel"],
        sources: &[Source::Files, Source::KernelLog, Source::Journals],
        because: &[],
        why: "all containers of root share them; at the limit no process starts and no file is watched",
        remedy: "set them in the last file of /etc/sysctl.d, then: sysctl --system",
        judge: limits::judge,
    },
    Check {
        id: "host.oom",
        title: "no OOM kill",
        severity: Severity::Warning,
        tags: &["capacity", "kernel"],
        sources: &[Source::KernelLog],
        because: &["host.memory"],
        why: "the kernel often kills the wrong process: the runtime, kubelet or etcd",
        remedy: "choose a larger instance type, or give pods memory limits and kubelet a systemReserved",
        judge: oom,
    },
];

/// Below this much of all time the hypervisor's other guests are no trouble.
const STOLEN: f64 = 0.2;

fn cpu(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let processors = node.need_text("/proc/cpuinfo")?;
    let count = processors
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    if node.is_control_plane() && count == 1 {
        return Finding::new(
            "the control plane has one processor, and needs two",
            "change machineType of the instance group to one with two processors or more, such as t3.medium",
        )
        .advice()
        .warn();
    }
    let stolen = node
        .text("/proc/stat")?
        .and_then(stolen)
        .unwrap_or_default();
    if stolen < STOLEN {
        return Verdict::ok(format!("{count} processors"));
    }
    Finding::new(
        format!("the hypervisor withheld {:.0} % of the processors' time", stolen * 100.0),
        "aws ec2 modify-instance-credit-specification --instance-credit-specifications InstanceId=<instance-id>,CpuCredits=unlimited (cpuCredits: unlimited in kops edit ig), or choose a type that is not burstable, such as m6i.large",
    )
    .warn()
}

/// The share of stolen time since the start: the eighth number of the first line of `/proc/stat` (proc(5)).
fn stolen(stat: &str) -> Option<f64> {
    let numbers = stat
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace();
    let numbers: Vec<u64> = numbers.filter_map(|number| number.parse().ok()).collect();
    let all: u64 = numbers.iter().take(8).sum();
    // A minute of ticks says nothing yet.
    (all > 6_000).then(|| *numbers.get(7).unwrap_or(&0) as f64 / all as f64)
}

/// The share of time in which every process waited for memory, beyond which a host is slow in all that it does. A guess.
const THRASHING: f64 = 20.0;

/// The share of the last five minutes in which nothing went on, of a file of `/proc/pressure` (Linux,
/// Documentation/accounting/psi.rst).
pub(super) fn pressure(text: &str) -> Option<f64> {
    let full = text.lines().find_map(|line| line.strip_prefix("full "))?;
    let mut words = full.split(' ');
    words
        .find_map(|word| word.strip_prefix("avg300="))?
        .parse()
        .ok()
}

/// `/proc/meminfo` counts in KiB.
const KIB_PER_MIB: u64 = 1024;

fn memory(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let text = node.need_text(meminfo::FILE)?;
    let Some(total) = meminfo::total_kib(node) else {
        return Err(Unseen::Failed("/proc/meminfo has no MemTotal".to_owned()));
    };
    if node.is_control_plane() && total < 1_700 * KIB_PER_MIB {
        let summary = format!(
            "the control plane has {} MiB of memory, and needs 1700",
            total / KIB_PER_MIB
        );
        return Finding::new(summary, LARGER).warn();
    }
    if let Some(average) = pressure(node.text("/proc/pressure/memory")?.unwrap_or_default())
        .filter(|average| *average >= THRASHING)
    {
        let waited =
            format!("for {average:.0} % of the last five minutes every process waited for memory");
        return scarce(node, total, waited).warn();
    }
    let Some(available) = meminfo::number(text, "MemAvailable") else {
        return Verdict::ok(format!("{} MiB", total / KIB_PER_MIB));
    };
    if let Some(finding) = huge_pages::denied(node, text) {
        return finding.warn();
    }
    let is_short = available < (100 * KIB_PER_MIB).max(total / 20);
    let taken = huge_pages::idle(node, text, total).or_else(|| files_in_memory(node, text, total));
    if let Some(finding) = taken.filter(|_| is_short) {
        return finding.warn();
    }
    if available >= (100 * KIB_PER_MIB).min(total / 10) {
        return Verdict::ok(format!(
            "{} of {} MiB are available",
            available / KIB_PER_MIB,
            total / KIB_PER_MIB
        ));
    }
    let left = format!(
        "{} of {} MiB of memory are available",
        available / KIB_PER_MIB,
        total / KIB_PER_MIB
    );
    scarce(node, total, left).warn()
}

/// What to do about a small machine.
const LARGER: &str = "change machineType of the instance group to a larger one";

/// The finding of a host without memory, with who has it as far as the kernel tells.
fn scarce(node: &Node<'_>, total: u64, how: String) -> Finding {
    match (largest::of_host(node, total), killed::by_the_machine(node)) {
        (Some(largest), _) => Finding::new(format!("{how}: {}", largest.what()), largest.fix()),
        (None, Some((who, fix))) => Finding::new(
            format!("the machine has no memory left, and the kernel killed {who}; {how}"),
            format!("{fix}, or {LARGER}"),
        ),
        (None, None) => Finding::new(
            how,
            format!(
                "systemd-cgtop -m shows who has it; give pods memory limits and kubelet systemReserved.memory, or {LARGER}"
            ),
        ),
    }
}

/// The finding where files in memory take much of it (`Shmem` of proc(5): tmpfs and shared memory).
fn files_in_memory(node: &Node<'_>, text: &str, total: u64) -> Option<Finding> {
    /// A larger share of the memory than this is no accident.
    const SHARE: u64 = 3;
    let shared = meminfo::number(text, "Shmem")?;
    let available = meminfo::number(text, "MemAvailable")? / KIB_PER_MIB;
    let all = total / KIB_PER_MIB;
    let left = format!("{available} of {all} MiB of memory are available");
    if let Some(found) = tmpfs::largest(node) {
        let of_files = format!(
            "files in {} hold much of the rest: {}",
            found.path,
            found.what()
        );
        let larger = largest::of_host(node, total).filter(|process| process.mib > found.mib);
        return Some(match larger {
            Some(process) => Finding::new(
                format!("{left}: {}; {of_files}", process.what()),
                format!("{}; {}", process.fix(), found.fix(node)),
            ),
            None => Finding::new(format!("{left}, and {of_files}"), found.fix(node)),
        });
    }
    if shared < total / SHARE || largest::of_host(node, total).is_some() {
        return None;
    }
    Some(Finding::new(
        format!(
            "{left}: {} MiB are files in memory or shared memory (Shmem), which belong to no single process",
            shared / KIB_PER_MIB
        ),
        "df -h -t tmpfs shows the filesystems in memory, ipcs -mp the shared memory and whose it is: delete what nobody needs there, or stop its program; volumes of pods with medium: Memory want a sizeLimit",
    ))
}

fn swap(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let table = node.need_text("/proc/swaps")?;
    let devices = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next());
    let devices: Vec<&str> = devices.collect();
    if devices.is_empty() {
        return Verdict::ok("no swap");
    }
    let fails_on_swap = kubelet_setting(node, "fail-swap-on", "failSwapOn");
    let named = devices.join(", ");
    if fails_on_swap.as_deref() == Some("false") {
        return Verdict::ok(format!("{named}, which kubelet is told to bear"));
    }
    let finding = Finding::new(
        format!("the machine swaps to {named}, and kubelet does not start where it does"),
        "swapoff -a, and take the line of swap out of /etc/fstab (or mask its unit: systemctl --type swap); or set failSwapOn: false in spec.kubelet",
    );
    match runs_kubernetes(node) {
        true => finding.fail(),
        false => Verdict::ok(format!("{named}; no kubelet is known to run here")),
    }
}

/// Programs without which the node is none, as the kernel shortens their names.
pub(super) const OURS: &[&str] = &[
    "cloud-controlle",
    "containerd",
    "dns-controller",
    "dockerd",
    "etcd",
    "etcd-manager",
    "kops-controller",
    "kube-apiserver",
    "kube-controller",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
    "quake-agent",
];

fn oom(node: &Node<'_>) -> Result<Verdict, Unseen> {
    // A kernel that counts them and counted none needs no log.
    let counted = node.text("/proc/vmstat")?.unwrap_or_default();
    if counted.lines().any(|line| line == "oom_kill 0") {
        return Verdict::ok("none since the machine's start");
    }
    let kills = kernel_log::lines(node, &["Killed process ", "Kill process "])?;
    let (limited, global): (Vec<&str>, Vec<&str>) = kills
        .iter()
        .partition(|line| line.contains("Memory cgroup"));
    let ours = kills
        .iter()
        .copied()
        .rfind(|line| OURS.contains(&victim(line)));
    let fix = "change machineType of the instance group to a larger one, or give pods memory limits and kubelet systemReserved.memory";
    if let Some(line) = ours {
        let finding = match limited.contains(&line) {
            true => beyond_its_limit(line),
            false => Finding::new(
                format!("the kernel killed {} for want of memory", victim(line)),
                fix,
            )
            .seen("kernel log", line),
        };
        return match runs_on(node, victim(line)) {
            true => finding
                .or_else("the unit's own process was not hit: systemd never restarted it")
                .warn(),
            false => finding.fail(),
        };
    }
    if global.is_empty() {
        return Verdict::ok(format!(
            "{} times a pod beyond its own limit",
            limited.len()
        ));
    }
    let (who, of_pods) = killed::by_the_machine(node).unwrap_or_default();
    let fix = format!("{of_pods}, or change machineType of the instance group to a larger one");
    let killed = format!("the machine ran out of memory, and the kernel killed {who}");
    let total = meminfo::total_kib(node).unwrap_or(u64::MAX / 2);
    let text = node.text(meminfo::FILE).ok().flatten();
    let idle = text.and_then(|text| huge_pages::idle(node, text, total));
    let finding = match (idle, largest::of_host(node, total)) {
        (Some(idle), _) => Finding::new(format!("{killed}: {}", idle.summary), idle.fix),
        (None, Some(largest)) => {
            Finding::new(format!("{killed}: {}", largest.what()), largest.fix())
        }
        (None, None) => Finding::new(killed, fix),
    };
    finding.seen("kernel log", kernel_log::last(&global)).warn()
}

/// Whether the unit of a program runs and was never restarted by systemd: then a kill hit another process of that name, or
/// was before somebody started it anew, and nothing that is wrong now follows from it.
fn runs_on(node: &Node<'_>, program: &str) -> bool {
    let unit = match program {
        "quake-agent" => node.agent_unit(),
        "containerd" => "containerd.service",
        "dockerd" => "docker.service",
        "kubelet" => "kubelet.service",
        _ => return false,
    };
    let unit = node.unit(unit).ok().flatten();
    unit.is_some_and(|unit| unit.active == ActiveState::Active && unit.restarts == 0)
}

/// One of the node's programs that took more than its own limit: there is memory, and it may not have it.
fn beyond_its_limit(line: &str) -> Finding {
    let victim = victim(line);
    let group = line
        .split_once("task_memcg=")
        .map(|(_, rest)| rest.split([',', ' ']).next().unwrap_or_default());
    let limit = match victim {
        "kubelet" | "containerd" | "dockerd" | "quake-agent" => format!(
            "raise MemoryMax of its unit or of its slice (systemctl show -p MemoryMax,Slice {victim}.service), or kubelet's systemReserved where that is enforced"
        ),
        _ => format!(
            "raise resources.limits.memory of {victim} (its manifest in /etc/kubernetes/manifests comes from the cluster's spec), or remove the limit; a larger machineType does not help"
        ),
    };
    let finding = Finding::new(
        format!("the kernel killed {victim}, which took more memory than its own limit"),
        limit,
    );
    let finding = match group {
        Some(group) => finding.seen("cgroup", group),
        None => finding,
    };
    finding.seen("kernel log", line)
}

/// The program in `Killed process 4711 (java) total-vm:…`.
pub(super) fn victim(line: &str) -> &str {
    let after = line.split_once(" process ").map_or("", |(_, after)| after);
    let name = after
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'));
    name.map_or("a process", |(name, _)| name)
}
