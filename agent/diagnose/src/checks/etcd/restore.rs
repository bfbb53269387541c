//! `etcd.alive`: what etcd-manager says last of why its cluster does not come up, and restores that do not end.
//!
//! A restore stops etcd, moves its data to `data-trashcan`, and starts an empty cluster that serves its quarantine port alone.
//! Only then it reads the backup. Where that fails, it begins anew: the command stays in the backup store (etcd-manager,
//! `pkg/controller/controller.go`, `restore.go` and `pkg/etcd/etcdserver.go`).

use crate::checks::check::{Certainty, Finding};
use crate::checks::from_journal::QUOTED;
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::log_lines::{self, is_plain_name};
use quake_formats::yaml::shorten;
use quake_model::facts::MemberSeen;

/// What etcd-manager says of each round that failed; the rest of the line is why.
const LOOP: &str = "unexpected error running etcd cluster reconciliation loop: ";

/// How the error begins of a backup that cannot be read.
const UNREAD: &str = "error reading backup info in \"";

/// How a store says that it has no such object.
const ABSENT: &[&str] = &[
    "file does not exist",
    "no such file",
    "NoSuchKey",
    "not found",
];

/// So many begun restores are one that does not end.
const MANY: usize = 3;

/// The finding of what etcd-manager says of a member of this node that `said` how it is; `None` where it says nothing.
pub(super) fn of_manager(node: &Node<'_>, member: &MemberSeen, said: &str) -> Option<Finding> {
    let cluster = member.cluster.as_str();
    let log = log_of(node, cluster);
    let failed = log.iter().rev().find_map(|line| {
        let (_, why) = line.split_once(LOOP)?;
        is_late(line, node).then_some((*line, why))
    });
    let place = Place::of(node, member, &log);
    if let Some((line, why)) = failed
        && let Some(name) = unread(why)
    {
        return Some(
            absent(node, &place, name, why, said).seen("etcd-manager", shorten(line, QUOTED)),
        );
    }
    let begun = log
        .iter()
        .filter(|line| line.contains("archiving etcd data directory"))
        .count();
    // A new cluster waits in quarantine, too: that alone is no restore.
    let restores = begun > 0 || log.iter().any(|line| line.contains("restore-backup"));
    let is_endless = (restores && failed.is_some()) || begun >= MANY;
    if is_endless && place.is_quarantined(node) {
        return Some(endless(node, &place, failed, said));
    }
    let (line, why) = failed?;
    Some(round(cluster, line, why, said))
}

/// The lines of etcd-manager of a cluster.
fn log_of<'a>(node: &Node<'a>, cluster: &str) -> Vec<&'a str> {
    let name = format!("etcd-manager-{cluster}");
    let own = node.pods().filter(|pod| pod.name.starts_with(&name));
    own.flat_map(|pod| pod.log.iter().map(String::as_str))
        .collect()
}

/// The name of the backup that an error says is not there.
fn unread(why: &str) -> Option<&str> {
    let (_, rest) = why.split_once(UNREAD)?;
    let (name, rest) = rest.split_once('"')?;
    let is_absent = ABSENT.iter().any(|words| rest.contains(words));
    (is_absent && is_plain_name(name)).then_some(name)
}

/// Where a cluster serves its clients and has its data.
struct Place<'a> {
    cluster: &'a str,
    /// The port of its clients.
    port: Option<u16>,
    /// The port that it serves while it is in quarantine (kops, `pkg/wellknownports`).
    quarantine: Option<u16>,
    /// The mount of its volume.
    mount: Option<&'a str>,
}

impl<'a> Place<'a> {
    fn of(node: &Node<'_>, member: &'a MemberSeen, log: &[&'a str]) -> Self {
        let port = member.url.rsplit(':').next();
        let moved = log.iter().rev().find_map(|line| {
            let (_, rest) = line.split_once("archiving etcd data directory ")?;
            rest.split_once("/data/").map(|(mount, _)| mount)
        });
        let mount = moved.map(|mount| mount.strip_prefix("/rootfs").unwrap_or(mount));
        let is_here = |mount: &&str| node.survey().entries.contains_key(&format!("{mount}/data"));
        Self {
            cluster: &member.cluster,
            port: port.and_then(|port| port.trim_end_matches('/').parse().ok()),
            quarantine: match member.cluster.as_str() {
                "main" => Some(3994),
                "events" => Some(3995),
                _ => None,
            },
            mount: mount.filter(|mount| is_plain_name(mount)).filter(is_here),
        }
    }

    /// Whether its quarantine port is served, and that of its clients is not.
    fn is_quarantined(&self, node: &Node<'_>) -> bool {
        let listeners = node.survey().listeners.ok();
        let serves = |port: u16| {
            let mut all = listeners.into_iter().flatten();
            all.any(|one| one.port == port)
        };
        self.quarantine.is_some_and(serves) && !self.port.is_some_and(serves)
    }

    /// `in quarantine (port 3994 instead of 4001)`.
    fn quarantined(&self) -> String {
        match (self.quarantine, self.port) {
            (Some(quarantine), Some(port)) => {
                format!("in quarantine (port {quarantine} instead of {port})")
            }
            _ => "in quarantine".to_owned(),
        }
    }

    /// What must stay: the largest database that was moved away is that of before. Its directory has a token as its name.
    fn kept(&self, node: &Node<'_>) -> String {
        const WORDS: &str = "delete nothing below data-trashcan until the cluster is back";
        let Some(mount) = self.mount else {
            return WORDS.to_owned();
        };
        let entries = node.survey().entries.iter();
        let moved = entries.filter_map(|(path, entry)| {
            let rest = path.strip_prefix(mount)?.strip_prefix("/data-trashcan/")?;
            rest.ends_with("/member/snap/db").then_some(entry.size)
        });
        match moved.max() {
            Some(bytes) => format!(
                "{WORDS}: the largest directory there has the data of before ({} MiB): du -sm {mount}/data-trashcan/*",
                bytes >> 20
            ),
            None => WORDS.to_owned(),
        }
    }
}

/// The store of the backups of a cluster: from the error that names a file of it, or from the cluster's spec.
fn store(node: &Node<'_>, cluster: &str, name: &str, why: &str) -> Option<String> {
    let of_error = why
        .split_once("error reading file \"")
        .and_then(|(_, rest)| {
            let (store, _) = rest.split_once(&format!("/{name}/"))?;
            is_plain_name(store).then(|| store.to_owned())
        });
    of_error.or_else(|| store_of_spec(node, cluster))
}

/// The store of the backups of a cluster by the cluster's spec.
fn store_of_spec(node: &Node<'_>, cluster: &str) -> Option<String> {
    let mut backups = node.expected().ok()?.backups.iter();
    let end = format!("/{cluster}");
    let own = backups.find(|place| place.trim_end_matches('/').ends_with(&end));
    own.cloned()
}

/// etcd-manager-ctl with the store of a cluster.
fn control(store: Option<&str>, cluster: &str) -> String {
    match store {
        Some(store) => format!("etcd-manager-ctl --backup-store={store}"),
        None => {
            format!("etcd-manager-ctl --backup-store=s3://BUCKET/CLUSTER/backups/etcd/{cluster}")
        }
    }
}

/// The finding of a restore whose backup is not there.
fn absent(node: &Node<'_>, place: &Place<'_>, name: &str, why: &str, said: &str) -> Finding {
    let cluster = place.cluster;
    let store = store(node, cluster, name, why);
    let shown = store.as_deref().unwrap_or("the backup store");
    let newest = store.as_ref().and_then(|store| {
        let seen = node.survey().backups.ok()?;
        (*seen.get(store)?).map(|newest| format!(", such as the newest, of {newest}"))
    });
    let newest = newest.unwrap_or_default();
    let control = control(store.as_deref(), cluster);
    let summary = format!(
        "a restore-backup command names the backup {name}, which is not in {shown}: etcd-manager begins the restore over and over, and keeps etcd-{cluster} empty {}; it {said}",
        place.quarantined()
    );
    let fix = format!(
        "{control} list-backups, then {control} restore-backup with one that is listed{newest}; then {control} delete-command {name} ({control} list-commands shows what is left), and restart etcd-manager on all control planes; do not delete the command alone, or the empty cluster goes into use; {}",
        place.kept(node)
    );
    Finding::new(summary, fix).by(Certainty::Certain)
}

/// The finding of a cluster that stays in quarantine.
fn endless(
    node: &Node<'_>,
    place: &Place<'_>,
    failed: Option<(&str, &str)>,
    said: &str,
) -> Finding {
    let cluster = place.cluster;
    let control = control(store_of_spec(node, cluster).as_deref(), cluster);
    let why = match failed {
        Some((_, why)) => format!(
            "etcd-manager cannot end a restore: {}",
            shorten(why, QUOTED)
        ),
        None => "etcd-manager begins a restore again and again".to_owned(),
    };
    let finding = Finding::new(
        format!(
            "{why}; etcd-{cluster} is empty {}, and {said}",
            place.quarantined()
        ),
        format!(
            "grep -E 'restore-backup|reconciliation loop' /var/log/etcd*.log says which backup and why; {control} list-backups, then {control} restore-backup with one that can be read; then delete the former command ({control} list-commands, and delete-command with its name) and restart etcd-manager on all control planes; delete nothing below data-trashcan until the cluster is back"
        ),
    );
    match failed {
        Some((line, _)) => finding
            .by(Certainty::Likely)
            .seen("etcd-manager", shorten(line, QUOTED)),
        None => finding.by(Certainty::Likely),
    }
}

/// The finding of a round of etcd-manager that failed for another reason: its own word leads.
fn round(cluster: &str, line: &str, why: &str, said: &str) -> Finding {
    let log = match cluster {
        "main" => "/var/log/etcd.log".to_owned(),
        other => format!("/var/log/etcd-{other}.log"),
    };
    let known = log_lines::most_exact(line).map_or(String::new(), |row| format!("{}; ", row.fix));
    Finding::new(
        format!("etcd-manager of {cluster} says: {}; etcd-{cluster} {said}", shorten(why.trim(), QUOTED)),
        format!(
            "{known}its error says what to fix; the lines before it: grep -B20 'reconciliation loop' {log}, or /var/log/pods/kube-system_etcd-manager-{cluster}-*/*/*.log"
        ),
    )
    .by(Certainty::Likely)
    .seen("etcd-manager", shorten(line, QUOTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_of_a_backup_that_is_not_there_names_one() {
        let absent = "error reading backup info in \"2026-10-22T02:30:08Z-000412\": error reading file \"s3://b/c/x\": file does not exist";
        assert_eq!(unread(absent), Some("2026-10-22T02:30:08Z-000412"));
        for other in [
            "error reading backup info in \"x\": AccessDenied",
            "error building etcd client: file does not exist",
        ] {
            assert_eq!(unread(other), None, "{other}");
        }
    }

    #[test]
    fn an_unknown_store_is_that_of_the_cluster() {
        assert!(control(None, "events").ends_with("/backups/etcd/events"));
        assert!(control(Some("s3://b/x"), "events").ends_with("=s3://b/x"));
    }
}
