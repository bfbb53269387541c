//! `host.disk-latency`: whether disks answer in time, and what waits for them.

use super::disks::volume_of;
use super::hung::{Kind, Wait, waits};
use super::kernel_log;
use crate::checks::check::{Finding, Verdict};
use crate::checks::node::{Mount, Node};
use quake_model::facts::Unseen;

/// The share of time in which every process waited for a disk, beyond which the node is slow.
const STALLED: f64 = 40.0;
/// The share beyond which nothing on the node gets on.
const AT_A_STAND: f64 = 80.0;

/// What to do about a slow disk: that of etcd where there is one, else the root's.
fn slow_disk(node: &Node<'_>) -> String {
    let mounts = node.mounts().unwrap_or_default();
    let of_etcd = mounts
        .iter()
        .find(|mount| mount.facts.target.starts_with("/mnt/master-"));
    let of_root = || mounts.iter().find(|mount| mount.facts.target == "/");
    let volume = of_etcd
        .or_else(of_root)
        .and_then(|mount| volume_of(node, &mount.facts.source));
    let (before, id) = match volume {
        Some(volume) => ("", volume),
        None => (
            "lsblk -o NAME,MOUNTPOINT,SERIAL shows the volume's id; ",
            "with that id".to_owned(),
        ),
    };
    format!(
        "{before}aws ec2 modify-volume --volume-type gp3 --iops 6000 --throughput 250 --volume-id {id}; see VolumeQueueLength and BurstBalance in CloudWatch"
    )
}

/// The finding where tasks wait for a file system of the network.
fn remote(node: &Node<'_>, waits: &[Wait<'_>]) -> Option<Finding> {
    let wait = waits.iter().find(|wait| wait.kind == Kind::Nfs)?;
    let mounts = node.mounts().unwrap_or_default();
    let is_nfs = |mount: &&Mount| mount.facts.filesystem.starts_with("nfs");
    let mounted: Vec<&Mount> = mounts.iter().filter(is_nfs).collect();
    let task = wait.task();
    let what = match mounted.first() {
        Some(mount) => format!(
            "{task} hangs in the kernel for an NFS server that does not answer: {} at {}",
            mount.facts.source, mount.facts.target
        ),
        None => format!("{task} hangs in the kernel for an NFS server that does not answer"),
    };
    let target = mounted
        .first()
        .map_or("with its path", |mount| &mount.facts.target);
    let mut finding = Finding::new(
        what,
        format!("let the node reach port 2049 of the server (its security group, the mount target), and the tasks go on; else: umount -f -l {target}, and reboot if {task} stays in state D; mount with soft,timeo=50 where a hang is worse than an error"),
    )
    .seen("kernel log", wait.line);
    for mount in mounted {
        finding = finding.seen(
            "mount",
            format_args!("{} at {}", mount.facts.source, mount.facts.target),
        );
    }
    Some(finding)
}

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let waits = waits(node);
    if let Some(finding) = remote(node, &waits) {
        return finding.fail();
    }
    let fix = slow_disk(node);
    let pressure = node.text("/proc/pressure/io")?.unwrap_or_default();
    let full = pressure.lines().find_map(|line| line.strip_prefix("full "));
    let average = full.and_then(|line| {
        let word = line
            .split(' ')
            .find_map(|word| word.strip_prefix("avg300="));
        word?.parse::<f64>().ok()
    });
    if let Some(average) = average.filter(|average| *average >= STALLED) {
        let finding = Finding::new(
            format!("for {average:.0} % of the last five minutes every process waited for a disk"),
            fix,
        );
        return match average >= AT_A_STAND {
            true => finding.fail(),
            false => finding.warn(),
        };
    }
    let mut log = kernel_log::lines(
        node,
        &[
            "blocked for more than",
            "timeout, aborting",
            "timeout, completion polled",
            "timeout, reset controller",
            "timeout, disable controller",
        ],
    )?;
    // What waits for a lock of the network, `host.kernel` tells.
    log.retain(|line| {
        let mut of_network = waits.iter().filter(|wait| wait.kind == Kind::Namespaces);
        !of_network.any(|wait| wait.line == *line)
    });
    if log.is_empty() {
        return Verdict::ok("no process waited long for one");
    }
    let times = match log.len() {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    Finding::new(format!("{times} something waited too long for a disk"), fix)
        .seen("kernel log", kernel_log::last(&log))
        .warn()
}
