//! Checks of the machine's disks and filesystems.

use super::damaged::{damaged, without_room};
use super::growth::partition;
use super::space::disk_space;
use super::{copies, features, kernel_log, latency};
use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::logs::age_ms;
use crate::checks::node::{Mount, Node};
use quake_model::facts::Unseen;
use quake_volumes::mounted_volume;

pub(in crate::checks) const CHECKS: &[Check] = &[
    Check {
        id: "host.disk-errors",
        title: "disks and filesystems report no errors",
        severity: Severity::Critical,
        tags: &["disk", "kernel"],
        sources: &[Source::Files, Source::KernelLog],
        because: &["host.kernel"],
        why: "a filesystem with errors becomes read-only, and then nothing can be written",
        remedy: "replace the instance; for a volume with data, take a snapshot first, then run fsck while it is not mounted",
        judge: disk_errors,
    },
    Check {
        id: "host.disk-space",
        title: "the node's filesystems have free bytes and inodes",
        severity: Severity::Critical,
        tags: &["disk"],
        sources: &[Source::Spaces],
        because: &[],
        why: "assets, images and logs cannot be written, and kubelet evicts pods when less than a tenth is free",
        remedy: "grow the volume, or free space: journalctl --vacuum-size=200M, crictl rmi --prune, quake-agent store gc",
        judge: disk_space,
    },
    Check {
        id: "host.disk-latency",
        title: "disks answer in time",
        severity: Severity::Warning,
        tags: &["disk"],
        sources: &[Source::Files, Source::KernelLog],
        because: &["host.cpu", "host.disk-errors"],
        why: "if the disk does not answer for seconds, etcd loses its leader and kubelet its lease",
        remedy: "raise the volume's IOPS and throughput: aws ec2 modify-volume --volume-type gp3 --iops 6000 --throughput 250",
        judge: latency::judge,
    },
    Check {
        id: "host.noexec",
        title: "the directories of the node's programs are not mounted noexec",
        severity: Severity::Critical,
        tags: &["disk", "hardening"],
        sources: &[Source::Files],
        because: &[],
        why: "a program in a directory with noexec fails with permission denied; hardened images use this option",
        remedy: "run mount -o remount,exec for the filesystem, and remove noexec from its line in /etc/fstab",
        judge: noexec,
    },
];

/// What the kernel writes of a disk or a filesystem with errors.
const ERRORS: &[&str] = &[
    "EXT4-fs error",
    "EXT4-fs (",
    "XFS (",
    "BTRFS error",
    "I/O error",
    "critical medium error",
    "critical target error",
    "Remounting filesystem read-only",
    "Aborting journal on device",
    "timeout, aborting",
    "timeout, reset controller",
    "timeout, disable controller",
    "controller is down",
    "Removing after probe failure",
];
/// Of the lines with such a sign, those that tell of an error.
const TOLD: &[&str] = &[
    "error",
    "Corruption",
    "corruption",
    "shut down",
    "Shutting down",
    "read-only",
    "Aborting journal",
    "timeout, ",
    "controller is down",
    "Removing after",
];

/// How the kernel tells of a disk that does not answer.
pub(super) const SILENT: &[&str] = &["timeout, ", "controller is down", "Removing after"];

/// Of those, the harmless: options of a mount, and drives that a virtual machine has for show.
const HARMLESS: &[&str] = &[
    "errors=remount-ro",
    "errors=continue",
    "dev fd0",
    "dev sr0",
    "dev loop",
];

fn disk_errors(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let mounts = node.mounts()?;
    if let Some(mount) = mounts.iter().find(|mount| turned_read_only(mount)) {
        let (source, target) = (&mount.facts.source, &mount.facts.target);
        let finding = match detached(node, mount) {
            Some(volume) => Finding::new(
                format!("{source} at {target} is gone: {volume} was detached while it was mounted"),
                format!(
                    "terminate the instance, and the next one attaches {volume}; or: umount -l {target}, aws ec2 attach-volume --volume-id {volume} --instance-id <id> --device /dev/xvdz, then: systemctl restart quake-agent.service"
                ),
            ),
            None => without_room(node, mount).unwrap_or_else(|| turned_finding(mount)),
        }
        .seen("filesystem", &mount.facts.filesystem);
        let log = kernel_log::lines(node, ERRORS).unwrap_or_default();
        return match log.is_empty() {
            true => finding,
            false => finding.seen("kernel log", kernel_log::last(&log)),
        }
        .fail();
    }
    if let Some(finding) = not_writable(node)? {
        return finding.fail();
    }
    let log = kernel_log::lines(node, ERRORS)?;
    let says = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    let is_error = |line: &&&str| says(line, TOLD) && !says(line, HARMLESS);
    let errors: Vec<&str> = log.iter().filter(is_error).copied().collect();
    let of_mounted = errors.iter().find_map(|line| {
        let found = mounts.iter().find(|mount| is_of(line, mount));
        found.map(|mount| (line, mount))
    });
    if let Some((line, mount)) = of_mounted {
        let own = errors.iter().filter(|line| is_of(line, mount));
        let own: Vec<&str> = own.copied().collect();
        return damaged(&own, mount, node)
            .unwrap_or_else(|| of_mount(node, line, mount))
            .fail();
    }
    let of_volume = features::newer(node)
        .or_else(|| copies::refused(node, &mounts))
        .or_else(|| unmended(node));
    if let Some(finding) = of_volume {
        return finding.warn();
    }
    match errors.is_empty() {
        true => Verdict::ok("the kernel reports none"),
        false => Finding::new(
            "the kernel reports errors of disks that are not mounted",
            "journalctl -k -b -p err; a volume that was detached by force leaves such lines",
        )
        .seen("kernel log", kernel_log::last(&errors))
        .warn(),
    }
}

/// A mounted disk with errors: one that does not answer, or one that answers with errors.
fn of_mount(node: &Node<'_>, line: &str, mount: &Mount) -> Finding {
    let (source, target) = (&mount.facts.source, &mount.facts.target);
    let is_silent = SILENT.iter().any(|words| line.contains(words));
    let volume = volume_of(node, source);
    let id = volume.as_deref().unwrap_or("<volume>");
    let finding = match is_silent {
        true => Finding::new(
            format!("{source} at {target} does not answer: its I/O times out"),
            format!(
                "aws ec2 describe-volume-status --volume-ids {id}; an impaired volume: aws ec2 enable-volume-io --volume-id {id}; else stop and start the instance, which moves it to other hardware, or replace it"
            ),
        ),
        false => Finding::new(
            format!("{source} at {target} reports errors"),
            "replace the instance; for a volume with data, take a snapshot first, then run fsck while it is not mounted",
        ),
    };
    let finding = match &volume {
        Some(volume) => finding.seen("volume", volume),
        None => finding,
    };
    finding.seen("kernel log", line)
}

/// The finding of a pod's volume whose filesystem the check before each mount cannot fix (k8s.io/mount-utils, `mount_linux.go`).
fn unmended(node: &Node<'_>) -> Option<Finding> {
    const LATE_MS: u64 = 3_600_000;
    const START: &str = "found errors on device ";
    const END: &str = " but could not correct them";
    let pods = node.pods().flat_map(|pod| pod.log.iter());
    let mut lines = node.journal("kubelet.service").iter().rev().chain(pods);
    let (line, device) = lines.find_map(|line| {
        let (_, rest) = line.split_once(START)?;
        Some((line, rest.split_once(END)?.0))
    })?;
    if age_ms(line, node).is_some_and(|age| age > LATE_MS) {
        return None;
    }
    let snapshot = match volume_of(node, device) {
        Some(volume) => format!("aws ec2 create-snapshot --volume-id {volume}"),
        None => {
            format!("take a snapshot of its volume (lsblk -o NAME,SERIAL {device} shows its id)")
        }
    };
    Some(
        Finding::new(
            format!("the filesystem of {device} is damaged, and the check before the mount cannot fix it alone: its pod does not start"),
            format!("{snapshot}; then, while it is not mounted: fsck -fy {device}, and kubelet mounts it; or restore the volume from an earlier snapshot; do not detach volumes by force while they are mounted"),
        )
        .seen("log", quake_formats::yaml::shorten(line, 400)),
    )
}

/// The EBS volume of a device, by its serial number.
pub(super) fn volume_of(node: &Node<'_>, source: &str) -> Option<String> {
    let devices = node.survey().devices.ok()?;
    let is_on = |path: &str| {
        let rest = source.strip_prefix(path);
        rest.is_some_and(|rest| {
            rest.is_empty()
                || rest
                    .trim_start_matches('p')
                    .bytes()
                    .all(|b| b.is_ascii_digit())
        })
    };
    let device = devices.iter().map(|seen| &seen.device);
    let found = device
        .filter(|device| is_on(&device.path))
        .find_map(|device| device.serial.as_deref());
    let digits = found?.strip_prefix("vol")?.trim_start_matches('-');
    Some(format!("vol-{digits}"))
}

/// The volume of a mount whose device is gone from the machine.
fn detached<'a>(node: &Node<'a>, mount: &'a Mount) -> Option<&'a str> {
    let devices = node.survey().devices.ok()?;
    let volume = mounted_volume(&mount.facts)?;
    let is_gone = devices
        .iter()
        .all(|seen| partition(&mount.facts.source, &seen.device.path).is_none());
    is_gone.then_some(volume)
}

/// Whether the kernel made the mount read-only because of errors: the filesystem is so, and the mount was not asked to be.
fn turned_read_only(mount: &Mount) -> bool {
    let is_disk = matches!(
        mount.facts.filesystem.as_str(),
        "ext3" | "ext4" | "xfs" | "btrfs"
    );
    let has = |options: &[String]| options.iter().any(|option| option == "ro");
    is_disk && has(&mount.filesystem_options) && !has(&mount.options)
}

/// Whether a line of the log names the device of a mount, or its disk: `nvme1n1p1`, `nvme1n1`.
fn is_of(line: &str, mount: &Mount) -> bool {
    let Some(device) = mount.facts.source.strip_prefix("/dev/") else {
        return false;
    };
    let word = |c: char| !c.is_ascii_alphanumeric();
    // The kernel names an NVMe controller, `nvme1`, where it does not answer.
    let controller = device
        .split_once('n')
        .and_then(|_| device.get(1..)?.find('n').map(|at| &device[..=at]));
    let mut words = line.split(word).filter(|word| word.len() > 2);
    words.any(|word| {
        if device.starts_with("nvme") && controller == Some(word) {
            return true;
        }
        let is_disk = |rest: &str| {
            let rest = rest.strip_prefix('p').unwrap_or(rest);
            rest.chars().all(|c| c.is_ascii_digit())
        };
        let names_device = word.contains(|c: char| c.is_ascii_digit())
            || word.starts_with("sd")
            || word.starts_with("xvd");
        names_device && device.strip_prefix(word).is_some_and(is_disk)
    })
}

/// A filesystem that the kernel made read-only because its disk failed.
fn turned_finding(mount: &Mount) -> Finding {
    Finding::new(
        format!(
            "{} at {} turned read-only: its disk did not answer or had errors, and the kernel gave up the journal",
            mount.facts.source, mount.facts.target
        ),
        "replace the instance (kubectl drain, then terminate it), or reboot, so that fsck repairs it: mount -o remount,rw does not; of a volume with data, take a snapshot first, then: umount, fsck -f, mount; aws ec2 describe-volume-status shows the volume; nvme_core.io_timeout=4294967295 on the kernel's command line keeps a slow volume from this",
    )
}

/// Directories that the node's programs write to.
const WRITTEN: &[&str] = &[
    "/var/lib",
    "/var/lib/kubelet",
    "/var/lib/containerd",
    "/var/lib/docker",
    "/var/log",
    "/etc",
    "/etc/kubernetes",
    "/etc/cni",
    "/opt/cni/bin",
    "/srv/kubernetes",
    "/run",
];

/// A directory that is to be written and is mounted read-only.
fn not_writable(node: &Node<'_>) -> Result<Option<Finding>, Unseen> {
    for path in WRITTEN {
        let Some(mount) = node.mount_of(path)?.filter(|mount| mount.has("ro")) else {
            continue;
        };
        if let Some(finding) = without_room(node, &mount) {
            return Ok(Some(finding));
        }
        let target = &mount.facts.target;
        let log = kernel_log::lines(node, ERRORS).unwrap_or_default();
        let turned = log.iter().rev().find(|line| {
            is_of(line, &mount)
                && ["read-only", "Aborting journal", "Shutting down"]
                    .iter()
                    .any(|words| line.contains(words))
        });
        if turned.is_some() {
            return Ok(Some(
                turned_finding(&mount).seen("kernel log", kernel_log::last(&log)),
            ));
        }
        let finding = Finding::new(
            format!("{target} holds {path} and is mounted read-only"),
            format!("mount -o remount,rw {target}; fix its line in /etc/fstab"),
        );
        return Ok(Some(finding.seen(
            "mount",
            format_args!("{} {}", mount.facts.source, mount.options.join(",")),
        )));
    }
    Ok(None)
}

/// Where the node's programs are, and where the agent unpacks them.
const PROGRAMS: &[&str] = &[
    "/usr/bin",
    "/usr/local/bin",
    "/opt/cni/bin",
    "/var/lib/quake-agent",
];

fn noexec(node: &Node<'_>) -> Result<Verdict, Unseen> {
    for path in PROGRAMS {
        let Some(mount) = node.mount_of(path)?.filter(|mount| mount.has("noexec")) else {
            continue;
        };
        let target = &mount.facts.target;
        let finding = Finding::new(
            format!("{target} is mounted noexec, and programs run from {path}"),
            format!("mount -o remount,exec {target}; take noexec out of its line in /etc/fstab"),
        )
        .seen(
            "mount",
            format_args!("{} {}", mount.facts.source, mount.options.join(",")),
        );
        // The store only keeps programs, and copies them where they run.
        return match *path == "/var/lib/quake-agent" {
            true => finding.warn(),
            false => finding.fail(),
        };
    }
    Verdict::ok("none of their directories is noexec")
}
