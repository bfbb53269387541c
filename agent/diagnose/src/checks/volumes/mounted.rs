//! Whether the volumes are mounted, from the right devices, writable and with room.

use super::super::check::{Finding, Verdict};
use super::super::node::{Mount, Node};
use super::chosen::concerns;
use super::device;
use quake_model::facts::{SpaceFacts, Unseen};
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

/// Below this share a volume is full for etcd: it writes its log ahead in pieces of 64 MB.
const FULL: f64 = 0.03;
/// Below this share it is time to grow it.
const SCARCE: f64 = 0.10;

pub(super) fn space(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(skip) = concerns(node)? {
        return Ok(skip);
    }
    let share = |free: u64, all: u64| match all {
        0 => 1.0,
        all => free as f64 / all as f64,
    };
    let room =
        |it: &SpaceFacts| share(it.bytes_free, it.bytes).min(share(it.inodes_free, it.inodes));
    let spaces = node.survey().spaces.get()?.iter();
    let ours = spaces.filter(|it| volume_at(&it.path).is_some());
    let Some(least) = ours.min_by(|a, b| room(a).total_cmp(&room(b))) else {
        return Err(Unseen::NotTaken(
            "no volume of etcd was looked at".to_owned(),
        ));
    };
    let (left, path) = (room(least), &least.path);
    let percent = left * 100.0;
    if left >= SCARCE {
        return Verdict::ok(format!("{percent:.0} % of {path} is free"));
    }
    let volume_id = volume_at(path).unwrap_or(path);
    let finding = Finding::new(
        format!("{path} is almost full: {percent:.1} % is free"),
        format!("aws ec2 modify-volume --volume-id {volume_id} --size <GiB>, then: systemctl restart quake-agent.service grows the filesystem; or look for what is not etcd's: du -xsh {path}/*"),
    )
    .seen("bytes free", format_args!("{} of {}", least.bytes_free, least.bytes))
    .seen("inodes free", format_args!("{} of {}", least.inodes_free, least.inodes));
    match left < FULL {
        true => finding.fail(),
        false => finding.warn(),
    }
}
