//! Whether the volumes are mounted, from the right devices, writable and with room.

use super::super::check::{Finding, Verdict};
use super::super::free_space::{SCARCE, scarce, share_free};
use super::super::node::{Mount, Node};
use super::chosen::concerns;
use super::device;
use quake_model::facts::{EntryKind, SpaceFacts, Unseen};
use quake_model::fault::Code;
use quake_model::phase::Phase;
use quake_volumes::{mounted_volume, volume_at};

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(skip) = concerns(node)? {
        return Ok(skip);
    }
    if !node.has_done(Phase::Storage) {
        return Verdict::skip("the boot has not come so far as to mount them");
    }
    let expected = &node.expected()?.etcd;
    let mounts = node.mounts()?;
    let mut seen: Vec<&Mount> = Vec::new();
    for mount in mounts
        .iter()
        .filter(|it| mounted_volume(&it.facts).is_some())
    {
        // The last mount on a path is the one that is seen.
        seen.retain(|it| it.facts.target != mount.facts.target);
        seen.push(mount);
    }
    if seen.len() < expected.len() {
        return gone(expected.len(), &seen);
    }
    for mount in &seen {
        if let Some(finding) = wrong_with(node, mount) {
            return finding.fail();
        }
    }
    let named = seen
        .iter()
        .map(|it| format!("{} at {}", it.facts.source, it.facts.target));
    Verdict::ok(named.collect::<Vec<_>>().join(", "))
}

fn gone(expected: usize, seen: &[&Mount]) -> Result<Verdict, Unseen> {
    let names: Vec<&str> = seen.iter().map(|it| it.facts.target.as_str()).collect();
    let there = if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    };
    Finding::new(
        format!("{} of {expected} volumes of etcd are mounted", seen.len()),
        "find out who unmounted it: journalctl -b -k; then: systemctl restart quake-agent.service mounts it, and the etcd pod must be started again",
    )
    .coded(Code::StorageMountGone)
    .seen("mounted", there)
    .fail()
}

fn wrong_with(node: &Node<'_>, mount: &Mount) -> Option<Finding> {
    let (target, source) = (&mount.facts.target, &mount.facts.source);
    let volume_id = mounted_volume(&mount.facts)?;
    let devices = node.survey().devices.ok();
    let device =
        devices.and_then(|all| all.iter().find(|it| it.device.number == mount.facts.number));
    if let Some(other) =
        device.filter(|it| it.device.serial.is_some() && !device::is_of(it, volume_id))
    {
        let serial = other.device.serial.as_deref().unwrap_or("-");
        return Some(
            Finding::new(
                format!("{source} at {target} is another volume"),
                format!("find out what it is: findmnt {target}; lsblk -o NAME,SERIAL; unmount it while etcd is stopped, then: systemctl restart quake-agent.service"),
            )
            .coded(Code::StorageMountOccupied)
            .seen("serial", serial),
        );
    }
    mount.has("ro").then(|| {
        Finding::new(
            format!("{target} is mounted read-only"),
            format!("read what the kernel says of {source}: journalctl -b -k | grep -i ext4; take a snapshot of {volume_id}, stop etcd, e2fsck -f {source}, then reboot"),
        )
        .seen("options", [mount.options.join(","), mount.filesystem_options.join(",")].join("; "))
    })
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

/// Directories of a volume that are etcd's and etcd-manager's, and the agent's.
const OF_ETCD: &[&str] = &[
    "data",
    "var",
    "state",
    "pki",
    "etcd",
    "lost+found",
    ".quake-agent",
];

/// The largest files of a volume that are not etcd's, and how much all of them take, if that is a tenth of it.
fn foreign(node: &Node<'_>, space: &SpaceFacts) -> Option<(String, u64)> {
    const SHOWN: usize = 3;
    let folder = format!("{}/", space.path);
    let entries = node.survey().entries.iter();
    let mut files: Vec<(&str, u64)> = entries
        .filter(|(_, entry)| entry.kind == EntryKind::File)
        .filter_map(|(path, entry)| {
            let inside = path.strip_prefix(&folder)?;
            let first = inside.split('/').next().unwrap_or_default();
            (!OF_ETCD.contains(&first)).then_some((path.as_str(), entry.size))
        })
        .collect();
    files.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let all: u64 = files.iter().map(|(_, size)| size).sum();
    let shown: Vec<&str> = files.iter().take(SHOWN).map(|(path, _)| *path).collect();
    (all > space.bytes / 10).then(|| (shown.join(", "), all))
}

pub(super) fn space(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(skip) = concerns(node)? {
        return Ok(skip);
    }
    let spaces = node.survey().spaces.get()?.iter();
    let ours = spaces.filter(|it| volume_at(&it.path).is_some());
    let Some(least) = ours.min_by(|a, b| share_free(a).total_cmp(&share_free(b))) else {
        return Err(Unseen::NotTaken(
            "no volume of etcd was looked at".to_owned(),
        ));
    };
    let (left, path) = (share_free(least), &least.path);
    let percent = left * 100.0;
    if left >= SCARCE {
        return Verdict::ok(format!("{percent:.0} % of {path} is free"));
    }
    let volume_id = volume_at(path).unwrap_or(path);
    let full = format!("{path} is almost full: {percent:.1} % is free");
    // etcd's own quota is 8 GiB at most; twice the size leaves room for its log and snapshots.
    let size = (least.bytes >> 30).max(10) * 2;
    let grow = format!(
        "aws ec2 modify-volume --volume-id {volume_id} --size {size}, then: systemctl restart quake-agent.service grows the filesystem"
    );
    let (what, fix) = match foreign(node, least) {
        Some((files, bytes)) => (
            format!(
                "{full}; {:.1} GiB of it are no files of etcd's: {files}",
                gib(bytes)
            ),
            format!(
                "move them to another disk or to S3, and have what writes them write there; kubelet starts etcd again by itself; never touch member/; only if they must stay: {grow}"
            ),
        ),
        None => (
            full,
            format!("look for what is not etcd's first: du -xsh {path}/*; else {grow}"),
        ),
    };
    scarce(Finding::new(what, fix), least)
}
