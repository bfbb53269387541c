//! `etcd.membership`: whether the cluster still counts this node's member.

use super::clients::{NONE_ASKED, askable, etcdctl, own_host};
use super::without_members;
use crate::checks::check::{Finding, Verdict};
use crate::checks::from_journal::QUOTED;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::expected::{ExpectedClient, ExpectedMember};
use quake_model::facts::{MemberSeen, Membership, Unseen, VolumeFacts};
use quake_volumes::Slot;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(skip) = without_members(node)? {
        return Ok(skip);
    }
    if let Some(finding) = of_promoted(node) {
        return finding.fail();
    }
    let askable = askable(node)?;
    if askable.is_empty() {
        return Verdict::skip(NONE_ASKED);
    }
    let seen = node.survey().etcd.get()?;
    let mut counted = Vec::new();
    for (member, client) in askable {
        let of_cluster: Vec<&MemberSeen> = seen
            .iter()
            .filter(|one| one.cluster == member.cluster)
            .collect();
        match of(node, (member, client), &of_cluster) {
            Some(MemberHealth::Removed(finding)) => return finding.fail(),
            Some(MemberHealth::Learner(finding)) => return finding.warn(),
            Some(MemberHealth::Counted(name)) => counted.push(name),
            None => {}
        }
    }
    match counted.is_empty() {
        true => Err(Unseen::NotTaken("no member named the others".to_owned())),
        false => Verdict::ok(counted.join(", ")),
    }
}

/// How the cluster counts a member.
enum MemberHealth {
    Counted(String),
    Learner(Finding),
    Removed(Finding),
}

/// By the lists of all members that were asked. One that was removed does not answer itself, and so its peers' count.
fn of(
    node: &Node<'_>,
    (member, client): (&ExpectedMember, &ExpectedClient),
    seen: &[&MemberSeen],
) -> Option<MemberHealth> {
    let host = own_host(node, member)?;
    let name = host.split('.').next().unwrap_or(host);
    let lists = seen
        .iter()
        .filter_map(|one| Some((*one, one.members.as_deref()?)))
        // A cluster has a member: an empty list is no answer, but for one whose log says that its data is older.
        .filter(|(_, list)| !list.is_empty() || lost_log(node, member).is_some());
    let mut counted = None;
    for (one, list) in lists {
        match list.iter().find(|row| is_it(row, name, host)) {
            None => {
                let finding = removed(member, client, name, (one, list));
                return Some(MemberHealth::Removed(older(node, member, name, finding)));
            }
            Some(row) if row.is_learner => {
                return Some(MemberHealth::Learner(learner(member, client, name)));
            }
            Some(_) => counted = Some(MemberHealth::Counted(name.to_owned())),
        }
    }
    let learns =
        |one: &&&MemberSeen| one.own && one.status.as_ref().is_some_and(|it| it.is_learner);
    match seen.iter().find(learns) {
        Some(_) => Some(MemberHealth::Learner(learner(member, client, name))),
        None => counted,
    }
}

/// A member that has not started yet has no name in the list, but its peers' URL.
fn is_it(row: &Membership, name: &str, host: &str) -> bool {
    let is_at = |url: &String| {
        let place = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        place.split(':').next() == Some(host)
    };
    row.name == name || row.peer_urls.iter().any(is_at)
}

fn removed(
    member: &ExpectedMember,
    client: &ExpectedClient,
    name: &str,
    (one, list): (&MemberSeen, &[Membership]),
) -> Finding {
    let names: Vec<&str> = list.iter().map(|row| row.name.as_str()).collect();
    let pod = member.pod.as_ref();
    let manifest = pod.map_or("the manifest of its pod", |pod| pod.manifest.as_str());
    Finding::new(
        format!("{name} was removed from etcd's cluster {}, and cannot start", member.cluster),
        format!("make sure that a backup is fresh; mv {manifest} /root/ stops it; move data and state of its volume (findmnt | grep /mnt/) into a directory beside them; mv the manifest back: etcd-manager adds the member anew. Look first who is a member: in the container of a peer, {} member list", etcdctl(client)),
    )
    .seen("members", names.join(", "))
    .seen("asked", &one.url)
}

/// A member that its cluster does not count for its volume was made from a snapshot, or lost what it had.
fn older(node: &Node<'_>, member: &ExpectedMember, name: &str, finding: Finding) -> Finding {
    let restored = volume(node, member).and_then(|volume| {
        let snapshot = volume.snapshot_id.as_deref()?;
        Some((volume.volume_id.as_str(), snapshot, volume.created))
    });
    let cluster = &member.cluster;
    match (restored, lost_log(node, member)) {
        (Some((volume, snapshot, created)), _) => Finding {
            summary: format!("{name} has data of an earlier time: its volume {volume} was made from {snapshot} on {created}, and etcd's cluster {cluster} does not know the member that is on it"),
            ..finding
        }
        .seen("snapshot", snapshot),
        (None, Some(line)) => Finding {
            summary: format!("{name} has data of an earlier time than etcd's cluster {cluster} knows it to have: its volume was restored, or lost writes"),
            ..finding
        }
        .seen("log", line),
        (None, None) => finding,
    }
}

/// The volume of this node's member.
fn volume<'a>(node: &Node<'a>, member: &ExpectedMember) -> Option<&'a VolumeFacts> {
    let instance = node.record().ok()?.instance.as_ref()?;
    let mut volumes = node.survey().volumes.ok()?.iter();
    volumes.find(|volume| {
        volume.is_held_by(&instance.instance_id)
            && Slot::of_tags(&volume.tags).is_some_and(|slot| slot.etcd == member.cluster)
    })
}

/// What etcd says before it ends because its log is shorter than its peers know it to be (etcd, `raft/log.go`).
fn lost_log<'a>(node: &Node<'a>, member: &ExpectedMember) -> Option<&'a str> {
    let name = format!("etcd-manager-{}", member.cluster);
    let pods = node.survey().runtime.ok()?.pods.iter().flatten();
    let own = pods.filter(|pod| pod.name.starts_with(&name));
    let mut lines = own.flat_map(|pod| pod.log.iter().rev());
    let line = lines.find(|line| line.contains("is out of range [lastIndex("))?;
    Some(line)
}

/// How etcd 3.6 refuses a store in which members still learn that were promoted: 3.5.1 to 3.5.19 wrote the promotion to the
/// older store alone (etcd issue 19557).
const LEARNERS: &str = "too many learner members in cluster";

/// The finding where the log of etcd-manager says so.
fn of_promoted(node: &Node<'_>) -> Option<Finding> {
    let pods = node.survey().runtime.ok()?.pods.iter().flatten();
    let mut own = pods.filter(|pod| pod.name.starts_with("etcd-manager-"));
    let (name, line) = own.find_map(|pod| {
        let at = pod.log.iter().rposition(|line| line.contains(LEARNERS))?;
        let mut later = pod.log[at..].iter();
        let came = later.any(|line| line.contains("ready to serve client requests"));
        (!came).then(|| (pod.name.as_str(), &pod.log[at]))
    })?;
    let cluster = if name.starts_with("etcd-manager-events") {
        "events"
    } else {
        "main"
    };
    let finding = Finding::new(
        format!(
            "etcd 3.6 does not start on the data of {cluster}: its store still counts members as learners that an etcd of 3.5.1 to 3.5.19 promoted"
        ),
        "set the version back to 3.5 (etcdClusters[].version in the spec of the cluster), with a patch that repairs the store (etcd pull request 20797; 3.5.21 is too old); roll all members to that 3.5 first, and only then to 3.6; remove no member and restore no backup: the data is sound",
    );
    Some(finding.seen("log", shorten(line, QUOTED)))
}

fn learner(member: &ExpectedMember, client: &ExpectedClient, name: &str) -> Finding {
    Finding::new(
        format!(
            "{name} only learns in etcd's cluster {}: it has no vote",
            member.cluster
        ),
        format!(
            "once it has caught up, in the container of a peer: {0} member list shows its id; {0} member promote with that id",
            etcdctl(client)
        ),
    )
}
