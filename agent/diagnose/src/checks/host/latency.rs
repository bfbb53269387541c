//! `host.disk-latency`: whether disks answer in time, and what waits for them.

use super::capacity::pressure;
use super::disks::volume_of;
use super::hung::{Kind, Wait, names, waits};
use super::{efs, kernel_log, scanners};
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::logs::age_ms;
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
    let Some(wait) = waits.iter().find(|wait| wait.kind == Kind::Nfs) else {
        return silent_server(node);
    };
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

/// The finding where the kernel says that a server of NFS does not answer, before any task is called hung.
fn silent_server(node: &Node<'_>) -> Option<Finding> {
    let lines = kernel_log::lines(node, &["nfs: server "]).ok()?;
    let last = lines.last()?;
    let is_silent = last.contains("not responding");
    let (_, rest) = last.split_once("nfs: server ").filter(|_| is_silent)?;
    let server = rest.split_whitespace().next()?;
    let mounts = node.mounts().unwrap_or_default();
    let mut own = mounts
        .iter()
        .filter(|mount| mount.facts.source.starts_with(server));
    let place = own.next().map_or(String::new(), |mount| {
        format!(" ({} at {})", mount.facts.source, mount.facts.target)
    });
    Some(
        Finding::new(
            format!("the NFS server {server} does not answer, and what touches its mount hangs{place}"),
            format!("nc -vz {server} 2049; let the node reach port 2049 of it (the security group of the mount target), and the tasks go on; umount -f -l its mounts if it is gone"),
        )
        .seen("kernel log", last),
    )
}

/// The finding where tasks wait for a program that looks at every file before it may be opened.
fn scanned(node: &Node<'_>, waits: &[Wait<'_>]) -> Option<Finding> {
    let wait = waits.iter().rfind(|wait| wait.kind == Kind::Scanner)?;
    let tasks = names(waits.iter().filter(|wait| wait.kind == Kind::Scanner));
    let agents = scanners::agents(node).join(", ");
    let (who, which) = match agents.as_str() {
        "" => (
            "an on-access scanner".to_owned(),
            "it (falcon-sensor, mdatp, ds_agent, clamonacc, fapolicyd: systemctl list-units shows which runs)".to_owned(),
        ),
        agents => (format!("the on-access scanner {agents}"), agents.to_owned()),
    };
    let is_docker = node.expected().is_ok_and(|it| it.runtime == "docker");
    let runtime = if is_docker { "docker" } else { "containerd" };
    let finding = Finding::new(
        format!(
            "{tasks} hang as they open files, because {who} does not answer (fanotify); no disk is the cause"
        ),
        format!(
            "restart or stop {which}, and the tasks go on; exclude /var/lib/{runtime}, /var/lib/kubelet and /run/{runtime} in it, and update it"
        ),
    );
    let finding = finding.seen("kernel log", wait.line);
    Some(match wait.function {
        Some(function) => finding.seen("hangs in", function),
        None => finding,
    })
}

/// The finding where tasks wait for the program behind a file system in user space.
fn in_user_space(node: &Node<'_>, waits: &[Wait<'_>]) -> Option<Finding> {
    let wait = waits.iter().find(|wait| wait.kind == Kind::Fuse)?;
    let tasks = names(waits.iter().filter(|wait| wait.kind == Kind::Fuse));
    let mounts = node.mounts().unwrap_or_default();
    let mut mounted = mounts
        .iter()
        .filter(|mount| mount.facts.filesystem.starts_with("fuse"));
    let (what, target) = match mounted.next() {
        Some(mount) => (
            format!("{} at {}", mount.facts.source, mount.facts.target),
            mount.facts.target.clone(),
        ),
        None => (
            "findmnt -t fuse shows which".to_owned(),
            "its path".to_owned(),
        ),
    };
    let finding = Finding::new(
        format!("{tasks} hang because the program of a FUSE file system does not answer: {what}"),
        format!(
            "restart the program that serves it (a CSI driver, s3fs, mount-s3); else: umount -l {target}, and echo 1 >/sys/fs/fuse/connections/NUMBER/abort frees the tasks"
        ),
    );
    Some(finding.seen("kernel log", wait.line))
}

/// The finding where a stack does not say what the tasks wait for, or where there is none.
fn unknown(waits: &[&Wait<'_>], disk: &str) -> Finding {
    let tasks = names(waits.iter().copied());
    let place = waits.iter().rev().find_map(|wait| wait.function);
    let place = place.map_or_else(
        || "and the log has no stack that says for what".to_owned(),
        |function| format!("in {function}"),
    );
    let lines: Vec<&str> = waits.iter().map(|wait| wait.line).collect();
    Finding::new(
        format!("{tasks} hang in the kernel for minutes, {place}"),
        format!(
            "dmesg -T has the stacks, and cat /proc/PID/stack those of now: they say what is waited for; ps -eo pid,stat,wchan:30,cmd | grep ' D' shows all; if iostat -x 1 shows a disk that is slow: {disk}"
        ),
    )
    .by(Certainty::Possible)
    .seen("kernel log", kernel_log::last(&lines))
    .or_else("a disk that does not answer in time")
}

/// The finding where etcd says again and again that its disk takes seconds (etcd, `server/storage/wal/wal.go`), and did so in the
/// last hour. One such line now and then has any disk.
fn slow_flushes(node: &Node<'_>, fix: &str) -> Option<Finding> {
    const FEWEST: usize = 3;
    const LATE_MS: u64 = 3_600_000;
    let is_late = |line: &&str| age_ms(line, node).is_none_or(|age| age < LATE_MS);
    let pods = node.pods().filter(|pod| pod.name.starts_with("etcd-"));
    let slow = pods.filter_map(|pod| {
        let lines = pod.log.iter();
        let lines: Vec<&str> = lines
            .map(String::as_str)
            .filter(|line| line.contains("slow fdatasync"))
            .filter(is_late)
            .collect();
        (lines.len() >= FEWEST).then_some((pod, lines))
    });
    let (pod, lines) = slow.max_by_key(|(_, lines)| lines.len())?;
    let last = lines.last()?;
    let took = last
        .split_once("\"took\":\"")
        .and_then(|(_, rest)| rest.split('"').next())
        .map_or(String::new(), |took| format!(", the last time in {took}"));
    let count = lines.len();
    Some(
        Finding::new(
            format!(
                "the disk of etcd is slow: {} logged {count} times that it did not flush its log within a second{took}",
                pod.name
            ),
            fix,
        )
        .by(Certainty::Likely)
        .seen("log", quake_formats::yaml::shorten(last, 300)),
    )
}

/// How the log says that a disk did not answer in time.
const TIMEOUTS: &[&str] = &[
    "timeout, aborting",
    "timeout, completion polled",
    "timeout, reset controller",
    "timeout, disable controller",
];

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let waits = waits(node);
    let of_others = efs::without_tunnel(node, &waits)
        .or_else(|| remote(node, &waits))
        .or_else(|| scanned(node, &waits))
        .or_else(|| in_user_space(node, &waits));
    if let Some(finding) = of_others {
        return finding.fail();
    }
    let fix = slow_disk(node);
    if let Some(average) = stalled(node)? {
        let finding = at_a_stand(node, &waits, average, &fix);
        return match average >= AT_A_STAND {
            true => finding.fail(),
            false => finding.warn(),
        };
    }
    let timeouts = kernel_log::lines(node, TIMEOUTS)?;
    // What waits for a lock of the network or for the audit, `host.kernel` tells.
    let is_unknown = |wait: &&Wait<'_>| wait.kind == Kind::Unknown;
    let is_of_disk =
        |wait: &&Wait<'_>| wait.kind == Kind::Disk || (is_unknown(wait) && !timeouts.is_empty());
    let mut log: Vec<&str> = waits
        .iter()
        .filter(is_of_disk)
        .map(|wait| wait.line)
        .collect();
    log.extend(timeouts.iter().copied());
    let others: Vec<&Wait<'_>> = waits.iter().filter(is_unknown).collect();
    // Where one stack says what is waited for, those that do not say wait behind it.
    let is_told = waits.iter().any(|wait| wait.kind.is_of_kernel());
    if log.is_empty() && !others.is_empty() && !is_told {
        return unknown(&others, &fix).warn();
    }
    if log.is_empty() {
        return match slow_flushes(node, &fix) {
            Some(finding) => finding.warn(),
            None => Verdict::ok("no process waited long for one"),
        };
    }
    let times = match log.len() {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    Finding::new(format!("{times} something waited too long for a disk"), fix)
        .seen("kernel log", kernel_log::last(&log))
        .warn()
}

/// The finding where every process waits for a disk: one that completes nothing any more, else one that is slow.
fn at_a_stand(node: &Node<'_>, waits: &[Wait<'_>], average: f64, fix: &str) -> Finding {
    let time =
        format!("for {average:.0} % of the last five minutes every process waited for a disk");
    let mut of_disk = waits.iter().filter(|wait| wait.kind == Kind::Disk);
    if let Some((device, wait)) = of_disk.find_map(|wait| Some((device_of(wait.task())?, wait))) {
        return stalled_disk(node, &time, device, wait);
    }
    match slow_flushes(node, fix) {
        Some(flushes) => Finding {
            summary: format!("{time}: {}", flushes.summary),
            ..flushes
        }
        .by(Certainty::Certain),
        None => Finding::new(time, fix),
    }
}

/// The disk whose own task of the kernel hangs: `nvme1n1` of `jbd2/nvme1n1-8` and of `xfsaild/nvme1n1`.
fn device_of(task: &str) -> Option<&str> {
    match task.strip_prefix("jbd2/") {
        Some(rest) => rest.rsplit_once('-').map(|(device, _)| device),
        None => task.strip_prefix("xfsaild/"),
    }
}

/// The finding where a write to a disk does not end for minutes (EBS: `VolumeStalledIOCheck`, I/O status of a volume).
fn stalled_disk(node: &Node<'_>, time: &str, device: &str, wait: &Wait<'_>) -> Finding {
    // The kernel cuts the name of a task (`TASK_COMM_LEN`).
    const LONGEST: usize = 15;
    let path = format!("/dev/{device}");
    let is_cut = wait.task().len() == LONGEST;
    let mounts = node.mounts().unwrap_or_default();
    let mut mounted = mounts.iter().filter(|mount| {
        let source = &mount.facts.source;
        *source == path || is_cut && source.starts_with(&path)
    });
    let (path, target) = match mounted.next() {
        Some(mount) => (
            mount.facts.source.clone(),
            format!(" at {}", mount.facts.target),
        ),
        None => (path, String::new()),
    };
    let finding = match volume_of(node, &path) {
        Some(id) => Finding::new(
            format!(
                "a write to the disk {path} ({id}{target}) takes longer than two minutes, and what waits for it hangs; {time}"
            ),
            format!(
                "aws ec2 describe-volume-status --volume-ids {id} says whether EBS stalled it (VolumeStalledIOCheck in CloudWatch, AWS Health): then replace the instance, so that the volume is attached anew: kops delete instance <instance-id> --yes (--cloudonly where the API server is down); a reboot is not enough. If BurstBalance is 0 or VolumeQueueLength high, it is too slow: aws ec2 modify-volume --volume-type gp3 --iops 6000 --throughput 250 --volume-id {id}, where it has less. A volume that stays impaired is restored from its snapshot or backup"
            ),
        ),
        None => Finding::new(
            format!(
                "a write to the disk {path}{target} takes longer than two minutes, and what waits for it hangs; {time}"
            ),
            slow_disk(node),
        ),
    };
    finding.by(Certainty::Likely).seen("kernel log", wait.line)
}

/// The share of the last five minutes in which every process waited for a disk, where that is too much.
fn stalled(node: &Node<'_>) -> Result<Option<f64>, Unseen> {
    let average = pressure(node.text("/proc/pressure/io")?.unwrap_or_default());
    Ok(average.filter(|average| *average >= STALLED))
}
