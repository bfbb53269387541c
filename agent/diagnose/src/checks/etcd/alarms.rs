//! `etcd.alarms`: what stops the writes of a whole cluster.

use super::clients::{NONE_ASKED, askable, etcdctl, own};
use super::without_members;
use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use quake_model::expected::ExpectedClient;
use quake_model::facts::{MemberSeen, ProbeFacts, Unseen};

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(skip) = without_members(node)? {
        return Ok(skip);
    }
    let askable = askable(node)?;
    if askable.is_empty() {
        return Verdict::skip(NONE_ASKED);
    }
    let seen = own(node)?;
    for member in &seen {
        let client = askable.iter().find(|(it, _)| it.cluster == member.cluster);
        if let (Some(alarm), Some((_, client))) = (alarm_of(member), client) {
            return raised(member, &alarm, client).fail();
        }
    }
    let answered = |member: &&&MemberSeen| matches!(member.health, ProbeFacts::Answered { .. });
    let quiet: Vec<&str> = seen
        .iter()
        .filter(answered)
        .map(|member| member.cluster.as_str())
        .collect();
    match quiet.is_empty() {
        true => Err(Unseen::NotTaken("no member answered".to_owned())),
        false => Verdict::ok(quiet.join(", ")),
    }
}

/// The first alarm: of the list, or of the answer to the health check, `{"health":"false","reason":"ALARM NOSPACE"}`.
fn alarm_of(member: &MemberSeen) -> Option<String> {
    if let Some(listed) = member.alarms.first() {
        return Some(listed.clone());
    }
    let ProbeFacts::Answered { body, .. } = &member.health else {
        return None;
    };
    let (_, after) = body.split_once("ALARM ")?;
    let end = after.find(|c: char| !c.is_ascii_uppercase());
    let word = &after[..end.unwrap_or(after.len())];
    (!word.is_empty()).then(|| word.to_owned())
}

fn raised(member: &MemberSeen, alarm: &str, client: &ExpectedClient) -> Finding {
    let (cluster, ask) = (&member.cluster, etcdctl(client));
    let (what, fix) = match alarm {
        "NOSPACE" => (
            format!(
                "etcd's cluster {cluster} is full and takes no writes: the alarm NOSPACE stands"
            ),
            format!(
                "in the pod's container: {ask} endpoint status -w json shows the revision; give it to compact, then defrag, alarm disarm; find what fills it (events, leases), or raise ETCD_QUOTA_BACKEND_BYTES in the cluster's spec"
            ),
        ),
        "CORRUPT" => (
            format!("etcd's cluster {cluster} takes no writes: the alarm CORRUPT stands"),
            format!(
                "in the pod's container: {ask} alarm list names the member; put that member's data aside and let its peers send them anew, then: {ask} alarm disarm"
            ),
        ),
        other => (
            format!("etcd's cluster {cluster} has the alarm {other}"),
            format!("in the pod's container: {ask} alarm list"),
        ),
    };
    let finding = Finding::new(what, fix).seen("asked", &member.url);
    let Some(status) = &member.status else {
        return finding;
    };
    let size = status.database_bytes >> 20;
    match status.quota_bytes {
        Some(quota) => finding.seen("database", format_args!("{size} of {} MiB", quota >> 20)),
        None => finding.seen("database", format_args!("{size} MiB")),
    }
}
