//! Checks of etcd on a control plane: its data by what stands there, its pods, what its members answer, and its backups.

mod alarms;
mod alive;
mod clients;
mod defragmented;
mod membership;
mod peers;
mod pods;
mod port;
mod restore;
mod running;
mod uncreated;

pub(super) use pods::is_held_back;
pub(super) use running::RUNNING;

use super::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use super::innermost::innermost;
use super::node::Node;
use crate::log_lines;
use quake_formats::yaml::shorten;
use quake_model::facts::{EntryFacts, EntryKind, ProbeFacts, ProbeSeen, Unseen};
use quake_model::fault::Code;
use quake_model::phase::Phase;
use quake_volumes::{MOUNTS, Slot};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "etcd.data",
        title: "each member's data is there, closed to others and within its quota",
        severity: Severity::Critical,
        tags: &["etcd", "data", "control-plane"],
        sources: &[Source::Files],
        because: &["volumes.attached", "volumes.contents", "volumes.mounted"],
        why: "a member without its log or snapshots does not start; a member above its quota accepts no writes",
        remedy: "restore the member from a backup or from its peers; compact and defragment a member above its quota",
        judge: data,
    },
    Check {
        id: "etcd.backup",
        title: "etcd was backed up within the last day",
        severity: Severity::Warning,
        tags: &["etcd", "backup", "control-plane"],
        sources: &[Source::Volumes, Source::Files],
        because: &["iam.state-store"],
        why: "after a lost quorum, only the newest backup can restore the cluster",
        remedy: "check etcd-manager's log, and that the role may write to the location of the backups",
        judge: backup,
    },
];

/// The quota of a member that was given none (etcd, `--quota-backend-bytes`): 2 GB, by which etcd means GiB.
const QUOTA: u64 = 2 << 30;
/// Above this size etcd warns at its start.
const MOST: u64 = 8 << 30;

fn data(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(skip) = without_members(node)? {
        return Ok(skip);
    }
    let members = members(node);
    let expected = node.expected()?.etcd.len();
    let volumes: BTreeSet<&str> = members.keys().filter_map(|path| volume_of(path)).collect();
    if volumes.len() < expected {
        return match node.has_done(Phase::Ready) {
            false => Verdict::skip("etcd has not started here yet"),
            true if !node
                .survey()
                .entries
                .keys()
                .any(|path| path.starts_with("/mnt/")) =>
            {
                Err(Unseen::NotTaken(
                    "nothing below /mnt was looked at".to_owned(),
                ))
            }
            true => lacking(expected, &members),
        };
    }
    for (path, entry) in &members {
        if let Some(verdict) = wrong_with(node, path, entry) {
            return verdict;
        }
    }
    let paths: Vec<&str> = members.keys().copied().collect();
    Verdict::ok(paths.join(", "))
}

/// Why a check of etcd does not concern this node, if it does not.
fn without_members(node: &Node<'_>) -> Result<Option<Verdict>, Unseen> {
    let skip = |why: &str| Some(Verdict::Skip(why.to_owned()));
    match node.expected()?.etcd.is_empty() {
        true => Ok(skip("no member of etcd runs on this node")),
        false if !node.has_done(Phase::Storage) => {
            Ok(skip("the boot has not come so far as to mount its volumes"))
        }
        false => Ok(None),
    }
}

/// The members' directories: `var/etcd/data*/member` as protokube had it, `data/<token>/member` as etcd-manager has it.
fn members<'a>(node: &Node<'a>) -> BTreeMap<&'a str, &'a EntryFacts> {
    let entries = node.survey().entries.iter();
    entries
        .filter(|(path, entry)| is_member(path) && entry.kind == EntryKind::Directory)
        .map(|(path, entry)| (path.as_str(), entry))
        .collect()
}

/// The id of the volume that a path is on.
fn volume_of(path: &str) -> Option<&str> {
    let rest = MOUNTS.iter().find_map(|before| path.strip_prefix(before))?;
    rest.split('/').next()
}

fn is_member(path: &str) -> bool {
    let Some(rest) = MOUNTS.iter().find_map(|before| path.strip_prefix(before)) else {
        return false;
    };
    match rest.split('/').skip(1).collect::<Vec<_>>().as_slice() {
        ["data", _, "member"] => true,
        ["var", "etcd", data, "member"] => data.starts_with("data"),
        _ => false,
    }
}

fn lacking(expected: usize, members: &BTreeMap<&str, &EntryFacts>) -> Result<Verdict, Unseen> {
    let there: Vec<&str> = members.keys().copied().collect();
    Finding::new(
        format!("{} of {expected} members of etcd have data on their volumes", members.len()),
        "look where etcd writes (the hostPath volumes of its manifest in /etc/kubernetes/manifests) and what is on the volume: ls -R /mnt/master-* (/mnt/disks/master-*); restore a backup where the data is gone",
    )
    .seen("found", if there.is_empty() { "none".to_owned() } else { there.join(", ") })
    .fail()
}

fn wrong_with(node: &Node<'_>, path: &str, entry: &EntryFacts) -> Option<Result<Verdict, Unseen>> {
    let entries = &node.survey().entries;
    for part in ["wal", "snap"] {
        if !entries.contains_key(&format!("{path}/{part}")) {
            let finding = Finding::new(
                format!("{path} has no {part}"),
                format!(
                    "stop etcd, keep what is left (cp -a {path} {path}.left), and restore the member from a backup or add it anew from its peers"
                ),
            );
            return Some(finding.fail());
        }
    }
    if let Some(finding) = stateless(node, path) {
        return Some(finding.fail());
    }
    let database = format!("{path}/snap/db");
    let size = entries.get(&database).map_or(0, |it| it.size);
    let quota = match quota(node, path) {
        Quota::Bytes(bytes) => bytes,
        Quota::NoNumber { manifest, value } => return Some(no_number(manifest, value).fail()),
    };
    if size >= quota.min(MOST) {
        return Some(full(&database, size, quota));
    }
    (entry.mode & 0o077 != 0).then(|| {
        Finding::new(
            format!("{path} is open to others than root"),
            format!("chmod 0700 {path}"),
        )
        .seen("mode", format_args!("{:04o}", entry.mode))
        .warn()
    })
}

/// What etcd-manager knows of its member is in a file beside the data; without it the data are never started.
fn stateless(node: &Node<'_>, path: &str) -> Option<Finding> {
    let expected = node.expected().ok()?;
    let (mount, _) = path.split_once("/data/")?;
    let state = format!("{mount}/state");
    let is_needed = expected.etcd.iter().any(|member| member.pod.is_some());
    (is_needed && !node.survey().entries.contains_key(&state)).then(|| {
        Finding::new(
            format!("{path} is there, and {state} is not: etcd-manager does not start it"),
            format!("look into /var/log/etcd.log; restore a backup (etcd-manager-ctl restore-backup), or put {mount}/state back from a snapshot of the volume"),
        )
    })
}

/// The manifest of the pod whose member has its data at a path, by the tags of the volume.
fn manifest_of<'a>(node: &Node<'a>, path: &str) -> Option<&'a str> {
    let id = volume_of(path)?;
    let mut volumes = node.survey().volumes.ok()?.iter();
    let volume = volumes.find(|volume| volume.volume_id == id)?;
    let slot = Slot::of_tags(&volume.tags)?;
    let mut members = node.expected().ok()?.etcd.iter();
    let member = members.find(|member| member.cluster == slot.etcd)?;
    Some(member.pod.as_ref()?.manifest.as_str())
}

/// What the manifests give as the quota of a member.
enum Quota<'a> {
    Bytes(u64),
    /// A value that etcd cannot read, such as `8G`, and the manifest that has it.
    NoNumber {
        manifest: &'a str,
        value: &'a str,
    },
}

/// The quota that the manifests give, or etcd's own.
fn quota<'a>(node: &Node<'a>, path: &str) -> Quota<'a> {
    let own = manifest_of(node, path);
    let given = |text: &'a str| {
        let keys = ["quota-backend-bytes", "ETCD_QUOTA_BACKEND_BYTES"];
        let (_, rest) = keys.iter().find_map(|key| text.split_once(key))?;
        let value = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = value.find(|c: char| !c.is_ascii_alphanumeric());
        Some(&value[..end.unwrap_or(value.len())])
    };
    let texts = node.survey().texts.iter();
    let mut manifests = texts.filter(|(path, _)| match own {
        Some(own) => path.as_str() == own,
        None => path.starts_with("/etc/kubernetes/manifests/etcd"),
    });
    let found = manifests.find_map(|(path, text)| Some((path, given(text.ok()?)?)));
    match found {
        Some((_, value)) if value.bytes().all(|byte| byte.is_ascii_digit()) => {
            // Zero stands for etcd's own quota.
            let bytes = value.parse().ok().filter(|bytes| *bytes > 0);
            Quota::Bytes(bytes.unwrap_or(QUOTA))
        }
        Some((manifest, value)) => Quota::NoNumber { manifest, value },
        None => Quota::Bytes(QUOTA),
    }
}

/// etcd reads the quota as a whole number of bytes and ends at once where it is none (etcdmain, "failed to verify flags").
fn no_number(manifest: &str, value: &str) -> Finding {
    let (digits, unit) = value.split_at(value.find(|c: char| !c.is_ascii_digit()).unwrap_or(0));
    let shift = match unit.as_bytes().first() {
        Some(b'k' | b'K') => 10,
        Some(b'm' | b'M') => 20,
        _ => 30,
    };
    let bytes = digits
        .parse()
        .map_or(MOST, |count: u64| count.saturating_mul(1 << shift));
    Finding::new(
        format!(
            "{manifest} gives etcd the quota {value}: etcd reads bytes without a unit and does not start"
        ),
        format!(
            "kops edit cluster: set ETCD_QUOTA_BACKEND_BYTES below etcdClusters[].manager.env to \"{bytes}\" (at most 8589934592), then kops update cluster --yes and replace this node"
        ),
    )
}

fn full(database: &str, size: u64, quota: u64) -> Result<Verdict, Unseen> {
    let mib = |bytes: u64| bytes >> 20;
    let finding = Finding::new(
        format!(
            "{database} has {} MiB, and its quota is {} MiB",
            mib(size),
            mib(quota)
        ),
        "in etcd's container: etcdctl endpoint status -w json shows the revision to give to etcdctl compact; then etcdctl defrag, etcdctl alarm disarm; find what fills it (events, leases), or raise --quota-backend-bytes",
    );
    match size >= quota {
        true => finding.fail(),
        false => finding.warn(),
    }
}

/// A component that is not healthy.
pub(super) fn silent(ill: &ProbeSeen) -> Result<Verdict, Unseen> {
    let (component, url) = (&ill.component, &ill.url);
    let said = match &ill.answer {
        ProbeFacts::Answered { status, body } => format!("answered {status}: {body}"),
        ProbeFacts::Silent { reason } => format!("does not answer: {reason}"),
    };
    let fix = format!(
        "read its log: tail -n 50 /var/log/{component}.log, or /var/log/pods/kube-system_{component}-*/*/*.log"
    );
    Finding::new(format!("{component} {said}"), fix)
        .by(Certainty::Possible)
        .coded(Code::ReadyProbeFailing)
        .seen("url", url)
        .fail()
}

/// etcd-manager makes a backup every quarter of an hour; after a day something keeps it from it.
const STALE_MS: u64 = 86_400_000;

fn backup(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = node.expected()?;
    if expected.backups.is_empty() {
        return Verdict::skip("the spec names no place for backups");
    }
    if let Some(finding) = uncreated::uncreated(node) {
        return finding.warn();
    }
    let seen = node.survey().backups.get()?;
    let mut noted = Vec::new();
    for place in &expected.backups {
        let Some(newest) = seen.get(place) else {
            continue;
        };
        let age = newest.map(|newest| node.taken().millis_since(newest));
        let Some(hours) = age.filter(|age| *age < STALE_MS).map(|age| age / 3_600_000) else {
            let since = newest.map_or_else(
                || "no backup".to_owned(),
                |it| format!("its newest of {it}"),
            );
            return stale(node, place, &since, newest.is_none());
        };
        noted.push(format!("{place}: {hours} hours ago"));
    }
    match noted.is_empty() {
        true => Err(Unseen::NotTaken(
            "no place of backups was listed".to_owned(),
        )),
        false => Verdict::ok(noted.join(", ")),
    }
}

fn stale(node: &Node<'_>, place: &str, since: &str, none: bool) -> Result<Verdict, Unseen> {
    let age = node.taken().millis_since(node.record()?.started);
    if none && age < STALE_MS {
        return Verdict::skip("the first backup is still to come");
    }
    match unwritten(node) {
        Some((line, why)) => Finding::new(
            format!("{place} has {since}: the last backup of etcd-manager failed: {why}"),
            match denied(&why) {
                Some(Denied::Key) => format!("allow the role of the control planes kms:GenerateDataKey and kms:Decrypt: in the key's policy and in additionalPolicies.master of the cluster's spec; or set the encryption of the bucket of {place} back to SSE-S3; an old backup is all that there is to restore meanwhile"),
                Some(Denied::Bucket) => format!("allow the role of the control planes s3:PutObject, s3:GetObject and s3:ListBucket below {place}, in its policy and in that of the bucket; an old backup is all that there is to restore meanwhile"),
                None => {
                    let known = log_lines::find(line).filter(|row| row.check == "etcd.backup");
                    let known = known.map_or(String::new(), |row| format!("{}; ", row.fix));
                    format!("{known}look at the lines around it: grep -i backup /var/log/etcd.log /var/log/pods/kube-system_etcd-manager-*/*/*.log; an old backup is all that there is to restore meanwhile")
                }
            },
        )
        .by(Certainty::Likely)
        .seen("etcd-manager", shorten(line, 400)),
        None => Finding::new(
            format!("{place} has {since}"),
            format!("look why: grep -i backup /var/log/etcd.log /var/log/pods/kube-system_etcd-manager-*/*/*.log; and whether the role may s3:PutObject below {place}"),
        ),
    }
    .warn()
}

/// How etcd-manager says that it could not write a backup (etcd-manager, `pkg/controller/controller.go` and `pkg/backup`).
const UNWRITTEN: &[&str] = &[
    "peer gave error while trying to do backup",
    "backup controller loop",
    "error copying backup to storage",
    "error during backup",
    "error doing backup",
    "error creating backup",
];

/// The latest line by which etcd-manager could not write a backup, and why.
fn unwritten<'a>(node: &Node<'a>) -> Option<(&'a str, String)> {
    // The end of an attempt, which has no reason of its own.
    const END: &str = "no peer was able to perform a backup";
    let is_so =
        |line: &str| UNWRITTEN.iter().any(|words| line.contains(words)) && !line.contains(END);
    let line = alive::latest_of_pods(node, &["etcd-manager".to_owned()], is_so)?;
    Some((line, innermost(line)))
}

/// What is denied to etcd-manager.
enum Denied {
    Key,
    Bucket,
}

/// What an error says is denied; `None` for another error.
fn denied(why: &str) -> Option<Denied> {
    const SIGNS: &[&str] = &[
        "AccessDenied",
        "Access Denied",
        "not authorized",
        "policy allows",
    ];
    let is_denied = SIGNS.iter().any(|sign| why.contains(sign));
    is_denied.then(|| match why.contains("kms:") {
        true => Denied::Key,
        false => Denied::Bucket,
    })
}

#[cfg(test)]
mod tests;
