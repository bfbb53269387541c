//! `host.mounts`: what `/etc/fstab` asks for beside what is mounted, and what the node's directories are on.

use super::private_mounts::private;
use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::{Mount, Node};
use quake_model::facts::Unseen;

pub(in crate::checks) const CHECKS: &[Check] = &[
    Check {
        id: "host.mounts",
        title: "what /etc/fstab asks for is mounted, and the node's directories are on disks",
        severity: Severity::Warning,
        tags: &["disk"],
        sources: &[Source::Files],
        because: &[],
        why: "without its mount a program writes to the disk below, which is smaller or has other data",
        remedy: "mount -a says what is wrong with a line of /etc/fstab; lsblk -f shows the devices and their UUIDs",
        judge,
    },
    // No other check follows from it: no program of a running node reads there.
    Check {
        id: "host.boot-mounts",
        title: "the partitions of the boot loader are mounted",
        severity: Severity::Info,
        tags: &["disk", "boot"],
        sources: &[Source::Files],
        because: &[],
        why: "an update of the kernel or of the boot loader then writes to a place that no boot reads",
        remedy: "mount /boot/efi says why; lsblk -f shows the devices and their UUIDs",
        judge: of_boot_loader,
    },
];

/// Where the partitions of the boot loader are: only an update of the kernel writes there.
const OF_BOOT_LOADER: &[&str] = &["/boot", "/boot/efi", "/boot/firmware", "/efi"];

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    node.mounts()?;
    if let Some(finding) = not_of_a_disk(node)? {
        return finding.warn();
    }
    if let Some(finding) = private(node)? {
        return finding.warn();
    }
    let table = node.text("/etc/fstab")?.unwrap_or_default();
    let lines: Vec<Line<'_>> = table.lines().filter_map(read).collect();
    if let Some(line) = lacking(node, &lines, false)? {
        return lacks(line).warn();
    }
    match lines
        .iter()
        .find_map(by_number)
        .or_else(|| late(node, table))
    {
        Some(finding) => finding.advice().warn(),
        None => Verdict::ok("all that is asked for is mounted"),
    }
}

fn of_boot_loader(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let table = node.text("/etc/fstab")?.unwrap_or_default();
    let lines: Vec<Line<'_>> = table.lines().filter_map(read).collect();
    match lacking(node, &lines, true)? {
        Some(line) => lacks(line).advice().warn(),
        None => Verdict::ok("all that are asked for are mounted"),
    }
}

/// The first line that is not mounted, of the boot loader's partitions or of the others.
fn lacking<'l, 'a>(
    node: &Node<'_>,
    lines: &'l [Line<'a>],
    of_boot: bool,
) -> Result<Option<&'l Line<'a>>, Unseen> {
    let mounts = node.mounts()?;
    let is_mounted = |line: &Line<'_>| {
        let mut mounts = mounts.iter();
        mounts.any(|mount| mount.facts.target.trim_end_matches('/') == line.target)
    };
    let mut of_kind = lines
        .iter()
        .filter(|line| OF_BOOT_LOADER.contains(&line.target) == of_boot);
    Ok(of_kind.find(|line| !is_mounted(line)))
}

/// A disk by the number that the kernel gave it at this boot (flatcar/Flatcar issue 1845).
fn by_number(line: &Line<'_>) -> Option<Finding> {
    let (what, target) = (line.what, line.target);
    let is_number = what.starts_with("/dev/nvme") && what.contains('n');
    // The boot loader names the root, and its path ends here without a slash.
    (is_number && !target.is_empty()).then(|| {
        Finding::new(
            format!("/etc/fstab mounts {what} at {target}: the next boot may give that name to another disk"),
            format!("blkid {what} shows its UUID: write UUID=... in the place of {what} in /etc/fstab"),
        )
    })
}

/// A directory of the runtime or of kubelet whose mount their units do not wait for: with `nofail` the boot goes on without it,
/// and they begin with the empty directory below (systemd.mount(5); containerd/containerd issue 3671).
fn late(node: &Node<'_>, table: &str) -> Option<Finding> {
    const OWN: &[(&str, &str)] = &[
        ("/var/lib/containerd", "containerd.service"),
        ("/var/lib/docker", "docker.service"),
        ("/var/lib/kubelet", "kubelet.service"),
    ];
    let is_nofail = |target: &str| {
        table.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let options = words.get(3).map(|options| options.split(','));
            let has = options.is_some_and(|mut options| options.any(|one| one == "nofail"));
            has && words.get(1) == Some(&target) && read(line).is_some()
        })
    };
    let waits = |target: &str, unit: &str| {
        let mut texts = node.survey().texts.iter();
        texts.any(|(path, text)| {
            let is_of = path.contains(&format!("/{unit}"));
            is_of
                && text.ok().is_some_and(|text| {
                    text.lines()
                        .any(|line| line.contains("RequiresMountsFor=") && line.contains(target))
                })
        })
    };
    let (target, unit) = OWN
        .iter()
        .find(|(target, unit)| is_nofail(target) && !waits(target, unit))?;
    Some(Finding::new(
        format!(
            "/etc/fstab mounts {target} with nofail, and {unit} does not wait for it: it may start on the empty directory below, and its images and pods are gone once the disk is mounted"
        ),
        format!(
            "mkdir -p /etc/systemd/system/{unit}.d; printf '[Unit]\\nRequiresMountsFor={target}\\n' >/etc/systemd/system/{unit}.d/30-mount.conf; systemctl daemon-reload"
        ),
    ))
}

/// A line of `/etc/fstab` that has to be mounted at the boot.
struct Line<'a> {
    what: &'a str,
    target: &'a str,
}

/// Reads a line of fstab(5); `None` for comments, swap, and what is not mounted by itself.
fn read(line: &str) -> Option<Line<'_>> {
    let mut words = line.split_whitespace();
    let (what, target) = (words.next()?, words.next()?);
    let (kind, options) = (words.next()?, words.next().unwrap_or_default());
    let is_left_out = |option: &str| matches!(option, "noauto" | "bind" | "rbind");
    let is_own = !what.starts_with('#') && target.starts_with('/') && kind != "swap";
    let target = target.trim_end_matches('/');
    (is_own && !options.split(',').any(is_left_out)).then_some(Line { what, target })
}

fn lacks(line: &Line<'_>) -> Finding {
    let (what, target) = (line.what, line.target);
    let hint = match what {
        _ if what.contains(":/") => {
            "the server does not answer, or its security group does not let this node in on TCP 2049".to_owned()
        }
        _ if what.starts_with("/dev/") => format!(
            "names of devices change from boot to boot: lsblk -f shows which one has the data; name it by UUID= in /etc/fstab instead of {what}"
        ),
        _ => format!(
            "lsblk -f shows whether a device has {what}: a new volume, or an instance store after a stop, has none until mkfs; correct /etc/fstab"
        ),
    };
    Finding::new(
        format!("/etc/fstab mounts {what} at {target}, and nothing is mounted there"),
        format!(
            "mount {target} says why; {hint}; then move what was written below {target} meanwhile"
        ),
    )
}

/// Directories whose files have to survive, and have to be those of a disk.
const DIRECTORIES: &[&str] = &[
    "/var/lib/kubelet",
    "/var/lib/containerd",
    "/var/lib/docker",
    "/var/lib",
];

fn not_of_a_disk(node: &Node<'_>) -> Result<Option<Finding>, Unseen> {
    const KINDS: &[&str] = &["tmpfs", "ramfs", "nfs", "nfs4", "cifs", "9p"];
    for path in DIRECTORIES {
        let is_wrong = |mount: &Mount| {
            let kind = mount.facts.filesystem.as_str();
            KINDS.contains(&kind) || kind.starts_with("fuse")
        };
        // What a pod has mounted below is its own.
        let Some(mount) = node.mount_of(path)?.filter(is_wrong) else {
            continue;
        };
        let (target, kind) = (&mount.facts.target, &mount.facts.filesystem);
        return Ok(Some(Finding::new(
            format!(
                "{path} is on {kind}, mounted at {target}: its files are lost at a reboot, or are slow and without locks"
            ),
            format!(
                "systemctl stop kubelet.service; umount {target}; take its line out of /etc/fstab (or its unit: systemctl list-units --type mount); mount a disk there"
            ),
        )));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::surveyed::{proves, tree};

    const ROOT: &str = "28 0 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n";

    #[test]
    fn what_fstab_asks_for_has_to_be_mounted() {
        let id = "host.mounts";
        let mounted = "29 28 259:5 / /data rw shared:2 - xfs /dev/nvme1n1 rw\n";
        for (fstab, table, status, says) in [
            (
                "UUID=0a1b /data xfs defaults,nofail 0 2\n",
                ROOT.to_owned(),
                Status::Warn,
                "mounts UUID=0a1b at /data",
            ),
            (
                "UUID=0a1b /data xfs defaults,nofail 0 2\n",
                format!("{ROOT}{mounted}"),
                Status::Ok,
                "is mounted",
            ),
            (
                "#/dev/x /data ext4 rw 0 0\n/swap none swap sw 0 0\n/dev/y /z ext4 noauto\n",
                ROOT.to_owned(),
                Status::Ok,
                "is mounted",
            ),
        ] {
            let survey = tree(&[("/etc/fstab", fstab), ("/proc/self/mountinfo", &table)]);
            proves(id, &survey, status, says);
        }
    }

    #[test]
    fn a_partition_of_the_boot_loader_explains_nothing() {
        let fstab = "UUID=0a1b /boot/efi vfat defaults 0 0\n";
        let survey = tree(&[("/etc/fstab", fstab), ("/proc/self/mountinfo", ROOT)]);
        proves("host.mounts", &survey, Status::Ok, "is mounted");
        let words = "mounts UUID=0a1b at /boot/efi";
        proves("host.boot-mounts", &survey, Status::Warn, words);
    }

    #[test]
    fn a_node_needs_a_disk_and_shared_mounts() {
        let tmpfs = "30 28 0:44 / /var/lib/kubelet rw shared:9 - tmpfs tmpfs rw\n";
        let id = "host.mounts";
        let survey = tree(&[("/proc/self/mountinfo", &format!("{ROOT}{tmpfs}"))]);
        proves(id, &survey, Status::Warn, "/var/lib/kubelet is on tmpfs");
        let survey = tree(&[("/proc/self/mountinfo", &ROOT.replace("shared:1 ", ""))]);
        proves(id, &survey, Status::Warn, "mount --make-rshared /");
    }

    #[test]
    fn a_mount_has_a_lasting_name_and_is_waited_for() {
        let id = "host.mounts";
        let path = "/etc/systemd/system/containerd.service.d/30-mount.conf";
        let mounted = "29 28 259:5 / /var/lib/containerd rw shared:2 - xfs /dev/nvme1n1 rw\n";
        let waits = "[Unit]\nRequiresMountsFor=/var/lib/containerd\n";
        for (fstab, drop_in, status, says) in [
            (
                "/dev/nvme1n1 /var/lib/containerd xfs defaults 0 2\n",
                "",
                Status::Warn,
                "blkid /dev/nvme1n1",
            ),
            (
                "UUID=0a /var/lib/containerd xfs defaults,nofail 0 2\n",
                "",
                Status::Warn,
                "does not wait for it",
            ),
            (
                "UUID=0a /var/lib/containerd xfs defaults,nofail 0 2\n",
                waits,
                Status::Ok,
                "is mounted",
            ),
            (
                "UUID=0a /var/lib/containerd xfs defaults 0 2\n",
                "",
                Status::Ok,
                "is mounted",
            ),
        ] {
            let table = format!("{ROOT}{mounted}");
            let survey = tree(&[
                ("/etc/fstab", fstab),
                (path, drop_in),
                ("/proc/self/mountinfo", &table),
            ]);
            proves(id, &survey, status, says);
        }
    }
}
