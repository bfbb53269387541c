//! Conditions of a node that others than kubelet write: the node problem detector and monitoring agents.

use crate::checks::kubelet_config::kubelet_texts;
use crate::checks::meminfo;
use crate::checks::node::Node;
use quake_model::facts::NodeCondition;

/// Conditions that tell of trouble where they are true, and what to do. Source: kubernetes/node-problem-detector, `config/`.
const TROUBLE: &[(&str, &str)] = &[
    (
        "KernelDeadlock",
        "dmesg -T shows the process that hangs and what it waits for; reboot the host, or replace the instance",
    ),
    (
        "ReadonlyFilesystem",
        "findmnt -o TARGET,SOURCE,OPTIONS shows the filesystem; replace the instance, of a volume with data take a snapshot first",
    ),
    (
        "XfsShutdown",
        "dmesg -T | grep XFS names the device; umount, xfs_repair, mount; replace the instance where it is the root",
    ),
    (
        "CorruptDockerOverlay2",
        "an image's layer is damaged: drain the node, systemctl stop docker.service, rm -r /var/lib/docker, start it again",
    ),
    (
        "FrequentKubeletRestart",
        "journalctl -u kubelet.service | grep -iE 'fatal|panic|Main process exited' says why it ends",
    ),
    (
        "FrequentDockerRestart",
        "journalctl -u docker.service | grep -iE 'fatal|panic|Main process exited' says why it ends",
    ),
    (
        "FrequentContainerdRestart",
        "journalctl -u containerd.service | grep -iE 'fatal|panic|Main process exited' says why it ends",
    ),
    (
        "FrequentUnregisterNetDevice",
        "the kernel waits for a network device of a dead pod: reboot the host, and use an image with a newer kernel",
    ),
    (
        "CperHardwareErrorFatal",
        "the hardware has an error: stop and start the instance, which moves it to another host, or replace it",
    ),
    ("KubeletUnhealthy", "quake-agent diagnose --only kubelet"),
    (
        "ContainerRuntimeUnhealthy",
        "quake-agent diagnose --only runtime",
    ),
];

/// Whether a condition tells of trouble: one of those, or one of a part that is not ready.
pub(super) fn is_bad(condition: &NodeCondition) -> bool {
    let kind = condition.kind.as_str();
    let is_trouble = condition.status == "True" && fix(kind).is_some();
    let is_unready = condition.status == "False" && kind.ends_with("Ready") && kind != "Ready";
    is_trouble || is_unready
}

/// What to do about a condition.
pub(super) fn fix(kind: &str) -> Option<&'static str> {
    let found = TROUBLE.iter().find(|(name, _)| *name == kind);
    found.map(|(_, fix)| *fix)
}

/// What to do about a pressure that kubelet reports although there is room: the kernel's caches of names count as used, or
/// kubelet's own threshold is too high.
pub(super) fn why_with_room(node: &Node<'_>, condition: &NodeCondition) -> Option<String> {
    // kubelet's own thresholds are a tenth of the disk and 100 MiB (kubernetes, `pkg/kubelet/eviction/defaults_linux.go`).
    const SHARE: u64 = 5;
    let signals: &[&str] = match condition.kind.as_str() {
        "DiskPressure" => {
            let spaces = node.survey().spaces.ok()?;
            let has_room = |free: u64, all: u64| all == 0 || free > all / SHARE;
            spaces
                .iter()
                .all(|it| has_room(it.bytes_free, it.bytes) && has_room(it.inodes_free, it.inodes))
                .then_some(&["nodefs.available", "imagefs.available", "nodefs.inodesFree"])?
        }
        "MemoryPressure" => {
            let text = node.text(meminfo::FILE).ok()??;
            let total = meminfo::total_kib(node)?;
            // A pod's working set has the kernel's slab, reclaimable or not (google/cadvisor, `container/libcontainer`).
            let names = meminfo::number(text, "SReclaimable").unwrap_or_default();
            if names > total / 4 {
                return Some(format!(
                    "the kernel's caches of file names hold {} MiB (SReclaimable of /proc/meminfo), which kubelet counts as used: echo 2 > /proc/sys/vm/drop_caches frees them at once; find the program that asks for files that do not exist again and again, such as a curl with NSS (NSS_SDB_USE_CACHE=no helps), and give its pod a memory limit",
                    names >> 10
                ));
            }
            (meminfo::number(text, "MemAvailable")? > total / SHARE)
                .then_some(&["memory.available"])?
        }
        _ => return None,
    };
    let flags = "/etc/sysconfig/kubelet";
    let text = node.text(flags).ok().flatten();
    let mut texts = kubelet_texts(node);
    texts.extend(text.map(|text| (flags.to_owned(), text)));
    let (path, line) = texts.iter().find_map(|(path, text)| {
        let mut lines = text.lines().map(str::trim);
        let line = lines.find(|line| signals.iter().any(|signal| line.contains(signal)))?;
        Some((path, line))
    })?;
    let line = quake_formats::yaml::shorten(line, 120);
    Some(format!(
        "there is room: kubelet's threshold is too high ({line} in {path}); set evictionHard in the kubelet section of the cluster spec to memory.available<100Mi,nodefs.available<10%,imagefs.available<15%; then: systemctl restart kubelet.service"
    ))
}
