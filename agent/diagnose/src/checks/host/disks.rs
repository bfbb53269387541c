//! Checks of the machine's disks and filesystems.

use super::growth::{all_images_are_used, partition, root_volume_fix, ungrown};
use super::{features, kernel_log, largest_logs, latency};
use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::{Mount, Node};
use quake_model::facts::{SpaceFacts, Unseen};
use quake_volumes::mounted_volume;

pub(in crate::checks) const CHECKS: &[Check] = &[
    Check {
        id: "host.disk-errors",
        title: "disks and filesystems report no errors",
        severity: Severity::Critical,
        tags: &["disk", "kernel"],
        sources: &[Source::Files, Source::KernelLog],
        because: &[],
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
        because: &["host.mounts"],
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

/// Below this much a filesystem is full for the node: kubelet's own threshold for evictions of pods is a tenth, and a
/// boot wants some hundred megabytes for its assets.
const FULL: f64 = 0.03;
/// Below this much kubelet begins to evict pods (`nodefs.available<10%`, its default).
const SCARCE: f64 = 0.10;

fn disk_space(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let spaces = node.survey().spaces.get()?;
    // The volumes of etcd are grown and not tidied: `volumes.space` judges them.
    let own = spaces
        .iter()
        .filter(|space| !space.path.starts_with("/mnt/master-"));
    let rooms: Vec<(&SpaceFacts, f64)> = own.map(|space| (space, room(space))).collect();
    let Some((space, left)) = rooms.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Verdict::skip("no filesystem was looked at");
    };
    let percent = left * 100.0;
    let note = format!("{percent:.0} % of {} is free", space.path);
    let small = rooms.iter().find_map(|(space, _)| ungrown(node, space));
    if *left >= SCARCE {
        return small.map_or_else(|| Verdict::ok(note), |small| small.finding().warn());
    }
    let what = match is_of_bytes(space) {
        true => "is almost full",
        false => "has almost no free inodes",
    };
    let full = format!("{} {what}: {percent:.1} % is free", space.path);
    let logs = largest_logs::of(node, space).filter(|_| is_of_bytes(space));
    let (full, tidy) = match &logs {
        Some(logs) => (
            format!("{full}; {}", logs.what()),
            format!("{}; {}", logs.fix(), tidy(space)),
        ),
        None if is_of_bytes(space) && all_images_are_used(node) => (
            format!("{full}, and every image is in use"),
            root_volume_fix(node, space),
        ),
        None => (full, tidy(space)),
    };
    let finding = match ungrown(node, space).filter(|_| is_of_bytes(space)) {
        Some(small) => Finding::new(
            format!("{full}, and {}", small.what()),
            format!("{}; {tidy}", small.fix()),
        ),
        None if matches!(space.path.as_str(), "/run" | "/tmp") => Finding::new(full, tidy),
        None => Finding::new(full, format!("{tidy}; or grow the volume")),
    };
    let finding = finding
        .seen(
            "bytes free",
            format_args!("{} of {}", space.bytes_free, space.bytes),
        )
        .seen(
            "inodes free",
            format_args!("{} of {}", space.inodes_free, space.inodes),
        );
    match *left < FULL {
        true => finding.fail(),
        false => finding.warn(),
    }
}

/// How room is made on a filesystem.
fn tidy(space: &SpaceFacts) -> String {
    const ALL: &str = "journalctl --vacuum-size=200M; crictl rmi --prune; quake-agent store gc";
    let path = &space.path;
    match path.as_str() {
        "/run" => "du -xh -d2 /run | sort -h | tail shows what fills it (a journal without a disk: journalctl --vacuum-size=50M); mount -o remount,size=50% /run".to_owned(),
        "/tmp" => "du -xh -d2 /tmp | sort -h | tail shows what fills it; systemd-tmpfiles --clean".to_owned(),
        "/boot" => "apt-get autoremove --purge, or dnf remove --oldinstallonly, removes old kernels".to_owned(),
        _ if !is_of_bytes(space) => format!(
            "du --inodes -xd4 {path} | sort -n | tail shows which directory has the many files; {ALL}"
        ),
        _ => ALL.to_owned(),
    }
}

/// Whether bytes are scarcer than inodes.
fn is_of_bytes(space: &SpaceFacts) -> bool {
    let (bytes, inodes) = (space.bytes.max(1) as f64, space.inodes.max(1) as f64);
    space.bytes_free as f64 / bytes <= space.inodes_free as f64 / inodes || space.inodes == 0
}

/// How much of a filesystem is free, of bytes or of inodes, whichever is scarcer.
fn room(space: &SpaceFacts) -> f64 {
    let share = |free: u64, all: u64| match all {
        0 => 1.0,
        all => free as f64 / all as f64,
    };
    share(space.bytes_free, space.bytes).min(share(space.inodes_free, space.inodes))
}

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
    "shut down",
    "Shutting down",
    "read-only",
    "Aborting journal",
    "timeout, ",
    "controller is down",
    "Removing after",
];

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
            None => Finding::new(
                format!("{source} at {target} turned read-only"),
                "replace the instance; of a volume with data, take a snapshot first, then: umount, fsck -f, mount",
            ),
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
        return of_mount(node, line, mount).fail();
    }
    if let Some(finding) = features::newer(node) {
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
    let is_silent = ["timeout, ", "controller is down", "Removing after"]
        .iter()
        .any(|words| line.contains(words));
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
        let target = &mount.facts.target;
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
