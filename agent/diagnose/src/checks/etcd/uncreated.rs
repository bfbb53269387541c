//! `etcd.backup`: an etcd-manager that believes that there is no cluster yet, while there is one.
//!
//! It knows a cluster by two objects below `control/` in the backup store: `etcd-cluster-created`, and `etcd-cluster-spec`. Without
//! the spec it manages nothing and makes no backups. Without the other it seeds a new, empty cluster as soon as it reads a spec
//! (etcd-manager, `pkg/controller/controller.go` and `pkg/commands/vfs.go`).

use super::clients::{askable, etcdctl, own};
use crate::checks::check::{Certainty, Finding};
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::log_lines::is_plain_name;
use quake_formats::yaml::shorten;

/// What it says without the one object, and without the other.
const UNCREATED: &str = "detected that there is no existing cluster";
const UNSPECIFIED: &str = "no cluster spec set - must seed new cluster";

/// What it lists of a cluster that runs: a member, and a peer with data.
const MEMBERS: &[&str] = &["\"peerURLs\":", "etcd_state:<cluster:"];

/// A cluster of which it says so, although there is one.
struct Lost<'a> {
    cluster: &'a str,
    /// Which objects are gone.
    gone: &'static str,
    /// The store of its backups.
    place: Option<String>,
    line: &'a str,
    /// What shows that there is a cluster.
    signs: Vec<String>,
}

/// The finding of the clusters of which an etcd-manager of this node says so, although there are such.
pub(super) fn uncreated(node: &Node<'_>) -> Option<Finding> {
    let members = node.expected().ok()?.etcd.iter();
    let lost: Vec<Lost<'_>> = members
        .filter_map(|member| of_cluster(node, &member.cluster))
        .collect();
    let first = lost.first()?;
    let clusters: Vec<&str> = lost.iter().map(|it| it.cluster).collect();
    let places = lost.iter().filter_map(|it| it.place.as_deref());
    let places: Vec<String> = places.map(|place| format!("{place}/control")).collect();
    let place = match places.is_empty() {
        true => "control/ in the backup store".to_owned(),
        false => places.join(" and "),
    };
    let finding = Finding::new(
        format!(
            "etcd-manager believes that its cluster is still to be made ({}), though {}: {} from {place} (a lifecycle rule of the bucket, or somebody deleted them); nothing is managed any more, and no backup is made",
            clusters.join(" and "),
            first.signs.first()?,
            first.gone,
        ),
        remedy(node, &lost),
    );
    let finding = finding.by(Certainty::Likely);
    Some(lost.iter().fold(finding, |finding, it| {
        let finding = finding.seen("etcd-manager", shorten(it.line, 300));
        finding.seen(it.cluster, it.signs.join("; "))
    }))
}

fn of_cluster<'a>(node: &Node<'a>, cluster: &'a str) -> Option<Lost<'a>> {
    const OFTEN: usize = 2;
    let name = format!("etcd-manager-{cluster}");
    let own = node.pods().filter(|pod| pod.name.starts_with(&name));
    let log: Vec<&'a String> = own.flat_map(|pod| pod.log.iter()).collect();
    let late = |words: &str| {
        let lines = log.iter().filter(|line| line.contains(words));
        let lines: Vec<&'a str> = lines.map(|line| line.as_str()).collect();
        let last = lines.last().filter(|line| is_late(line, node));
        last.filter(|_| lines.len() >= OFTEN).copied()
    };
    let (created, spec) = (late(UNCREATED), late(UNSPECIFIED));
    let place = store(node, cluster);
    let signs = signs(node, cluster, place.as_deref(), &log);
    let gone = match (created, spec) {
        (Some(_), Some(_)) => "etcd-cluster-created and etcd-cluster-spec are gone",
        (Some(_), None) => "etcd-cluster-created is gone",
        (None, _) => "etcd-cluster-spec is gone",
    };
    (!signs.is_empty()).then_some(Lost {
        cluster,
        gone,
        place,
        line: created.or(spec)?,
        signs,
    })
}

/// The store of the backups of a cluster.
fn store(node: &Node<'_>, cluster: &str) -> Option<String> {
    let mut places = node.expected().ok()?.backups.iter();
    let end = format!("/{cluster}");
    let place = places.find(|place| place.trim_end_matches('/').ends_with(&end))?;
    let place = place.trim_end_matches('/');
    is_plain_name(place).then(|| place.to_owned())
}

/// What shows that there is a cluster.
fn signs(node: &Node<'_>, cluster: &str, place: Option<&str>, log: &[&String]) -> Vec<String> {
    let mut signs = Vec::new();
    let seen = own(node).unwrap_or_default();
    let mut seen = seen.iter().filter(|seen| seen.cluster == cluster);
    if seen.any(|seen| seen.health.is_healthy()) {
        signs.push("a member of it answers".to_owned());
    }
    let lists = |line: &str| MEMBERS.iter().any(|words| line.contains(words));
    if log.iter().any(|line| lists(line)) {
        signs.push("it lists the members of one".to_owned());
    }
    let backups = node.survey().backups.ok();
    let newest = place.and_then(|place| *backups?.get(place)?);
    signs.extend(newest.map(|newest| format!("there is a backup of {newest}")));
    signs
}

/// What to do, in the order that does no harm.
fn remedy(node: &Node<'_>, lost: &[Lost<'_>]) -> String {
    let clients = askable(node).unwrap_or_default();
    let ask = |it: &Lost<'_>| {
        let client = clients
            .iter()
            .find(|(member, _)| member.cluster == it.cluster);
        let ask = client.map_or("etcdctl".to_owned(), |(_, client)| etcdctl(client));
        format!("{ask} snapshot save {}.db", it.cluster)
    };
    let versions = |it: &Lost<'_>| {
        let (bucket, key) = it.place.as_ref()?.strip_prefix("s3://")?.split_once('/')?;
        Some(format!(
            "aws s3api list-object-versions --bucket {bucket} --prefix {key}/control/"
        ))
    };
    let asks: Vec<String> = lost.iter().map(ask).collect();
    let versions: Vec<String> = lost.iter().filter_map(versions).collect();
    let versions = match versions.is_empty() {
        true => String::new(),
        false => format!("{} shows former versions; ", versions.join("; ")),
    };
    format!(
        "first a snapshot by hand of each cluster, in its pod's container: {}, and copy it off the node; {versions}put etcd-cluster-created back FIRST (else write one: {{\"timestamp\":NANOSECONDS}}), and only then etcd-cluster-spec (memberCount and etcdVersion as they run now); then restart the etcd-manager that leads; do not run kops update cluster before, and write no spec alone: etcd-manager then seeds a new, empty cluster and moves the data to data-trashcan; restore no backup: the data is there; exempt backups/etcd/*/control/ from the bucket's lifecycle rules",
        asks.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::expected::ExpectedMember;

    const STORE: &str = "s3://quake-store/c.example/backups/etcd/main";

    fn node(log: &[&str]) -> Sample {
        let mut node = Sample::control_plane();
        let member = ExpectedMember {
            cluster: "main".to_owned(),
            ..ExpectedMember::default()
        };
        node.expected().etcd = vec![member];
        node.expected().backups = vec![STORE.to_owned()];
        let lines = log.iter().map(|line| format!("I1121 03:21:{line}"));
        node.pod("etcd-manager-main-i-07", "running").log = lines.collect();
        node
    }

    #[test]
    fn a_cluster_that_its_manager_does_not_know_is_saved_by_hand_first() {
        let created = "50.1 1 controller.go:355] detected that there is no existing cluster";
        let spec = "50.2 1 controller.go:392] no cluster spec set - must seed new cluster";
        let member = "11.0 1 x.go:1] {\"name\":\"a\",\"peerURLs\":[\"https://a:2380\"]}";
        let both = [member, created, spec, created, spec];
        for (log, gone) in [
            (
                &both[..],
                "etcd-cluster-created and etcd-cluster-spec are gone",
            ),
            (&[member, spec, spec], "etcd-cluster-spec is gone"),
            (&[member, created, created], "etcd-cluster-created is gone"),
        ] {
            let node = node(log);
            node.assert("etcd.backup", Status::Warn, gone);
            let fix = "first a snapshot by hand of each cluster";
            node.assert("etcd.backup", Status::Warn, fix);
            let versions = "--bucket quake-store --prefix c.example/backups/etcd/main/control/";
            node.assert("etcd.backup", Status::Warn, versions);
        }
        for log in [&both[1..], &[member, created]] {
            let report = node(log).judge("etcd.backup");
            assert!(!report.note.contains("still to be made"), "{}", report.note);
        }
    }
}
