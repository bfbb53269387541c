//! Checks of the kernel: its version and faults, its modules, its control groups.

use super::forbidden::forbidden;
use super::hung::{Kind, waits};
use super::{hardware, kernel_log, lockup};
use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::{kubelet_key, kubernetes_minor, runs_kubernetes};
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::{ActiveState, Unseen};
use quake_model::phase::Phase;
use std::collections::BTreeSet;

pub(in crate::checks) const CHECKS: &[Check] = &[
    Check {
        id: "host.kernel",
        title: "the kernel is new enough, and reports no error",
        severity: Severity::Critical,
        tags: &["kernel"],
        sources: &[Source::Files, Source::KernelLog],
        because: &[],
        why: "containers need features of newer kernels, and a kernel with an error loses processes and connections",
        remedy: "replace the instance; use an image with a newer kernel",
        judge: kernel,
    },
    Check {
        id: "host.modules",
        title: "the kernel has the modules that containers and services need",
        severity: Severity::Critical,
        tags: &["kernel", "network"],
        sources: &[Source::Files],
        because: &[],
        why: "without overlay no container starts, without br_netfilter and conntrack services do not reach pods",
        remedy: "run modprobe; if the modules of the running kernel are gone, reboot the host",
        judge: modules,
    },
    Check {
        id: "host.cgroup",
        title: "kubelet supports the host's cgroup version",
        severity: Severity::Critical,
        tags: &["kernel", "kubelet"],
        sources: &[Source::Files],
        because: &[],
        why: "kubelet up to 1.18 supports only cgroup v1, and from 1.35 on it refuses v1",
        remedy: "start the kernel with systemd.unified_cgroup_hierarchy=1 (or =0), or use an image that fits the version",
        judge: cgroup,
    },
];

/// Older ones lack overlayfs and much of what runc uses.
const OLDEST: (u32, u32) = (3, 10);
/// What kubeadm asks for since Kubernetes 1.32.
const OLDEST_SINCE_1_32: (u32, u32) = (4, 19);
/// What the kernel writes when something in it went wrong.
const FAULTS: &[&str] = &[
    "BUG: soft lockup",
    "BUG: unable to handle",
    "BUG: kernel NULL pointer dereference",
    "Unable to handle kernel",
    "Internal error: Oops",
    "Hard LOCKUP",
    "hard LOCKUP",
    "BUG: stack guard page was hit",
    "BUG: scheduling while atomic",
    "kernel BUG at",
    "general protection fault",
    "Kernel panic",
    "rcu_sched detected stalls",
    "rcu_preempt detected stalls",
    "self-detected stall on CPU",
    "unregister_netdevice: waiting for",
];

fn kernel(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let release = node.need_text("/proc/sys/kernel/osrelease")?.trim();
    let Some(version) = kernel_version(release) else {
        return Err(Unseen::Failed(format!(
            "{release:?} is no version of a kernel"
        )));
    };
    let newer = "use an image with a newer kernel, such as Debian 12 or Amazon Linux 2023";
    if version < OLDEST {
        return Finding::new(format!("the kernel {release} is older than 3.10"), newer).fail();
    }
    if version < OLDEST_SINCE_1_32 && kubernetes_minor(node).is_some_and(|minor| minor >= 32) {
        return Finding::new(
            format!("the kernel {release} is older than 4.19, which this Kubernetes asks for"),
            newer,
        )
        .advice()
        .warn();
    }
    let faults = match kernel_log::lines(node, FAULTS) {
        Ok(faults) => faults,
        Err(_) => return Verdict::ok(format!("{release}; its log was not seen")),
    };
    let finding = hardware::broken_memory(node).or_else(|| namespaces(node, release, &faults));
    if let Some(finding) = finding {
        return finding.fail();
    }
    if let Some(verdict) = lockup::judge(node, release, &faults) {
        return verdict;
    }
    match faults.is_empty() {
        true => Verdict::ok(release),
        false => Finding::new(
            format!(
                "the kernel {release} reports faults of its own, {} in all",
                faults.len()
            ),
            "drain the node and replace the instance; if it comes back, use another kernel",
        )
        .seen("kernel log", kernel_log::last(&faults))
        .warn(),
    }
}

/// The finding where a network namespace that is never freed keeps tasks from making new ones.
fn namespaces(node: &Node<'_>, release: &str, faults: &[&str]) -> Option<Finding> {
    let unfreed = faults
        .iter()
        .rfind(|line| line.contains("unregister_netdevice"))?;
    let waits = waits(node);
    let hung = waits.iter().find(|wait| wait.kind == Kind::Namespaces)?;
    let finding = Finding::new(
        format!(
            "the kernel {release} never frees a network namespace (unregister_netdevice), and {} hangs as it makes a new one",
            hung.task()
        ),
        "drain the node and reboot it: nothing else frees it; then use an image with a newer kernel",
    );
    Some(
        finding
            .seen("kernel log", unfreed)
            .seen("kernel log", hung.line),
    )
}

/// The first two numbers of a kernel, 5 and 10 of `5.10.0-28-amd64`.
pub(in crate::checks) fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn modules(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if !runs_kubernetes(node) {
        return Verdict::skip("the node is not known to run Kubernetes");
    }
    if !node.has_done(Phase::Network) {
        return Verdict::skip(
            "the boot has not come so far: modules are loaded in its network phase",
        );
    }
    let mut missing = Vec::new();
    if !has_filesystem(node, "overlay")? {
        missing.push(("overlay", node.expected()?.runtime == "containerd"));
    }
    if node.sysctl("net.bridge.bridge-nf-call-iptables")?.is_none()
        && !is_loaded(node, "br_netfilter")?
    {
        missing.push(("br_netfilter", node.expected()?.network.name == "kubenet"));
    }
    if node.sysctl("net.netfilter.nf_conntrack_max")?.is_none() && !is_loaded(node, "nf_conntrack")?
    {
        // Newer kops loads none, as nodeup did not; it comes with the first rule that asks for it.
        missing.push(("nf_conntrack", !node.expected()?.is_of_current_kops()));
    }
    let forbidden = forbidden(node)?;
    let Some((first, _)) = missing.first() else {
        return match (forbidden, purged(node)) {
            (Some(forbidden), _) => forbidden.finding(None).warn(),
            (None, Some(purged)) => purged.warn(),
            (None, None) => Verdict::ok("overlay, br_netfilter and nf_conntrack are there"),
        };
    };
    if let Some(forbidden) = forbidden {
        return forbidden.finding(Some(first)).fail();
    }
    let needed = missing.iter().any(|(_, needed)| *needed);
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let finding = without(node, first, &names.join(", "))?;
    match needed {
        true => finding.fail(),
        false => finding.warn(),
    }
}

/// The kernels whose modules are on the disk.
fn folders<'a>(node: &Node<'a>) -> Vec<&'a str> {
    let folders = ["/lib/modules", "/usr/lib/modules"].iter();
    let names = folders.flat_map(|folder| node.list(folder));
    // One may be a link to the other.
    let names: BTreeSet<&str> = names.map(|(name, _)| name).collect();
    names.into_iter().collect()
}

/// A running kernel whose modules are no longer on the disk: what it has not loaded yet it cannot load.
fn purged(node: &Node<'_>) -> Option<Finding> {
    let release = node.need_text("/proc/sys/kernel/osrelease").ok()?.trim();
    // A kernel that has all built in has no such file.
    node.text("/proc/modules").ok()??;
    let folders = folders(node);
    let is_gone = !folders.is_empty() && !folders.contains(&release);
    is_gone.then(|| {
        Finding::new(
            format!("the modules of the running kernel {release} are not on the disk any more: an upgrade removed them, and nothing that needs another module works until a reboot (iptables matches, filesystems, IPVS)"),
            format!("drain the node and reboot it: it starts a kernel that is installed ({}); or install the package of {release} again; let upgrades keep the running kernel", folders.join(", ")),
        )
        .seen("/lib/modules", folders.join(", "))
    })
}

fn without(node: &Node<'_>, first: &str, names: &str) -> Result<Finding, Unseen> {
    let release = node.need_text("/proc/sys/kernel/osrelease")?.trim();
    let summary = format!("the kernel {release} has not loaded {names}");
    let folders = folders(node);
    if folders.is_empty() || folders.contains(&release) {
        let fix = format!(
            "modprobe {first}; echo {first} >/etc/modules-load.d/99-{first}.conf loads it at each boot; if modprobe finds no module, install the package of the kernel's extra modules or use another image"
        );
        return Ok(Finding::new(summary, fix));
    }
    let finding = Finding::new(
        format!("{summary}: its modules were replaced by those of another kernel"),
        "restart the machine, so that it runs the kernel whose modules are installed",
    );
    Ok(finding.seen("/lib/modules", folders.join(", ")))
}

fn has_filesystem(node: &Node<'_>, name: &str) -> Result<bool, Unseen> {
    let known = node.need_text("/proc/filesystems")?;
    let known = known
        .lines()
        .any(|line| line.split_whitespace().last() == Some(name));
    Ok(known || is_loaded(node, name)?)
}

pub(super) fn is_loaded(node: &Node<'_>, name: &str) -> Result<bool, Unseen> {
    let loaded = node.text("/proc/modules")?.unwrap_or_default();
    Ok(loaded
        .lines()
        .any(|line| line.split(' ').next() == Some(name)))
}

/// What kubelet cannot do without in version 2.
const CONTROLLERS: &[&str] = &["cpu", "cpuset", "memory", "pids"];

fn cgroup(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let minor = kubernetes_minor(node);
    match node.text("/sys/fs/cgroup/cgroup.controllers")? {
        Some(controllers) => version_two(node, minor, controllers),
        None => match has_version_one(node)? {
            true => version_one(node, minor),
            false => Err(Unseen::NotTaken(
                "no control groups are in what was looked at".to_owned(),
            )),
        },
    }
}

fn has_version_one(node: &Node<'_>) -> Result<bool, Unseen> {
    if node.entry("/sys/fs/cgroup/memory")?.is_some() {
        return Ok(true);
    }
    let mounts = node.mounts()?;
    Ok(mounts
        .iter()
        .any(|mount| mount.facts.filesystem == "cgroup"))
}

fn version_two(node: &Node<'_>, minor: Option<u32>, controllers: &str) -> Result<Verdict, Unseen> {
    if let Some(minor) = minor.filter(|minor| *minor < 19) {
        return Finding::new(
            format!("control groups are of version 2, and kubelet 1.{minor} knows only version 1"),
            "start the kernel with systemd.unified_cgroup_hierarchy=0 (GRUB_CMDLINE_LINUX, update-grub, restart), or use an older image",
        )
        .fail();
    }
    let there: Vec<&str> = controllers.split_whitespace().collect();
    let absent: Vec<&str> = CONTROLLERS
        .iter()
        .copied()
        .filter(|name| !there.contains(name))
        .collect();
    if let Some(finding) = withheld(node) {
        return finding.fail();
    }
    if absent.is_empty() || (minor.is_none() && !runs_kubernetes(node)) {
        return Verdict::ok("version 2");
    }
    let command_line = node.text("/proc/cmdline")?.unwrap_or_default();
    let disabled = command_line
        .split_whitespace()
        .filter(|word| word.starts_with("cgroup_disable="));
    let disabled: Vec<&str> = disabled.collect();
    let finding = Finding::new(
        format!("control groups lack the controllers {}", absent.join(", ")),
        "remove cgroup_disable= from the kernel's command line (GRUB_CMDLINE_LINUX, update-grub) and restart, or use a kernel that has them",
    )
    .seen("controllers", there.join(" "));
    match disabled.is_empty() {
        true => finding,
        false => finding.seen("command line", disabled.join(" ")),
    }
    .fail()
}

/// How kubelet says that its group has no cpu controller (runc `libcontainer/cgroups/fs2/cpu.go`).
const NO_CPU: &[&str] = &["kubepods", "/cpu.", "no such file or directory"];

/// The finding where the kernel has the cpu controller and nobody may turn it on: with RT_GROUP_SCHED a real-time thread outside
/// of the root group forbids it.
fn withheld(node: &Node<'_>) -> Option<Finding> {
    let journal = node.journal("kubelet.service");
    let says = |line: &&String| NO_CPU.iter().all(|part| line.contains(part));
    let line = journal.iter().rfind(says)?;
    let turned_on = node.text("/sys/fs/cgroup/cgroup.subtree_control").ok()?;
    let has_cpu = match turned_on {
        Some(names) => names.split_whitespace().any(|name| name == "cpu"),
        // Where that was not looked at, a kubelet that runs has it.
        None => {
            let unit = node.unit("kubelet.service").ok().flatten();
            unit.is_none_or(|unit| unit.active == ActiveState::Active)
        }
    };
    if has_cpu {
        return None;
    }
    const KIT: &str = "/usr/lib/systemd/system/rtkit-daemon.service";
    let is_kit = node.entry(KIT).ok().flatten().is_some();
    let (whose, fix) = match is_kit {
        true => (
            ", such as one of rtkit-daemon,",
            "systemctl disable --now rtkit-daemon.service (it belongs to desktops: take it out of the image)",
        ),
        false => (
            "",
            "ps -eLo pid,cls,rtprio,comm,cgroup | grep -E ' (RR|FF) ' names such threads: stop their service, or take it out of the image",
        ),
    };
    let finding = Finding::new(
        format!("pods get no cpu controller: a real-time thread{whose} outside of the root control group keeps the kernel from turning it on (CONFIG_RT_GROUP_SCHED)"),
        format!("{fix}, and reboot; or then: echo +cpu > /sys/fs/cgroup/cgroup.subtree_control && systemctl restart kubelet.service; grep RT_GROUP_SCHED /boot/config-$(uname -r) shows the kernel's option; the cgroup driver is right"),
    )
    .by(Certainty::Likely)
    .seen("kubelet", shorten(line, 300));
    Some(match turned_on {
        Some(names) => finding.seen("turned on", names.trim()),
        None => finding,
    })
}

fn version_one(node: &Node<'_>, minor: Option<u32>) -> Result<Verdict, Unseen> {
    let fix = "start the kernel with systemd.unified_cgroup_hierarchy=1, or use an image with version 2, such as Debian 12 or Amazon Linux 2023";
    let allowed = kubelet_key(node, "failCgroupV1").as_deref() == Some("false");
    match minor {
        Some(minor) if minor >= 35 && !allowed => Finding::new(
            format!("control groups are of version 1, which kubelet 1.{minor} refuses"),
            fix,
        )
        .fail(),
        Some(minor) if minor >= 35 => Finding::new(
            format!("control groups are of version 1, which kubelet 1.{minor} takes only because of failCgroupV1: false"),
            fix,
        )
        .warn(),
        Some(minor) if minor >= 31 => Finding::new(
            format!("control groups are of version 1, which kubelet 1.{minor} still takes and 1.35 refuses"),
            fix,
        )
        .warn(),
        _ => Verdict::ok("version 1"),
    }
}
