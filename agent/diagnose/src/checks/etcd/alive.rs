//! `etcd.alive`: the members' own answers, and where none can be had the API server's word.

use super::clients::{askable, own};
use super::{defragmented, restore, silent, without_members};
use crate::checks::api_server;
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::from_journal::QUOTED;
use crate::checks::innermost::innermost;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::{MemberSeen, ProbeFacts, ProbeSeen, Unseen};
use quake_model::fault::Code;
use quake_model::phase::Phase;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(skip) = without_members(node)? {
        return Ok(skip);
    }
    if !node.has_done(Phase::Services) {
        return Verdict::skip("the boot has not come so far as to start kubelet");
    }
    let probes = probes(node)?;
    if let Some(ill) = probes.iter().flatten().find(|it| !it.answer.is_healthy()) {
        return silent(ill);
    }
    let is_askable = !askable(node)?.is_empty();
    let answers = match is_askable {
        true => own(node),
        false => Ok(Vec::new()),
    };
    if let Some(ill) = answers.iter().flatten().find(|it| !it.health.is_healthy()) {
        return unhealthy(node, ill);
    }
    let named = probes.iter().flatten().map(|it| it.component.clone());
    let members = answers.iter().flatten();
    let alive: Vec<String> = named
        .chain(members.map(|it| format!("etcd-{}", it.cluster)))
        .collect();
    if let Some(finding) = told_by_the_api_server(node, &alive) {
        return finding.fail();
    }
    if let Some(finding) = defragmented::long(node) {
        return finding.warn();
    }
    match (answers, probes) {
        (Err(unseen), _) => Err(unseen),
        (Ok(_), _) if !alive.is_empty() => Verdict::ok(alive.join(", ")),
        (Ok(_), Some(_)) => Err(Unseen::NotTaken("no member was asked".to_owned())),
        (Ok(_), None) => Verdict::skip(
            "its members ask for certificates; the API server is not healthy without them",
        ),
    }
}

/// The members that answer without a certificate; `None` where no such one runs here.
fn probes<'a>(node: &Node<'a>) -> Result<Option<Vec<&'a ProbeSeen>>, Unseen> {
    let mut expected = node.expected()?.probes.iter();
    if !expected.any(|it| it.starts_with("etcd")) {
        return Ok(None);
    }
    let seen = node.survey().probes.get()?.iter();
    let ours = seen.filter(|it| it.component.starts_with("etcd"));
    Ok(Some(ours.collect()))
}

/// A member of this node that is not healthy.
fn unhealthy(node: &Node<'_>, member: &MemberSeen) -> Result<Verdict, Unseen> {
    let (cluster, url) = (&member.cluster, &member.url);
    let said = match &member.health {
        ProbeFacts::Answered { status, body } => format!("answered {status}: {}", body.trim()),
        ProbeFacts::Silent { reason } => format!("does not answer: {reason}"),
    };
    if let Some(finding) = restore::of_manager(node, member, &said) {
        return finding.coded(Code::ReadyProbeFailing).fail();
    }
    let log = match cluster.as_str() {
        "main" => "/var/log/etcd.log".to_owned(),
        other => format!("/var/log/etcd-{other}.log"),
    };
    let fix = format!(
        "read its log: tail -n 50 {log}, or /var/log/pods/kube-system_etcd-manager-{cluster}-*/*/*.log; a member without a quorum waits for its peers"
    );
    let (of_manager, of_peers) = (of_manager(node, cluster), of_peers(node, cluster));
    let why = match (of_manager, of_peers) {
        (Some(line), _) => format!(": etcd-manager cannot start it: {}", innermost(line)),
        (None, Some(line)) => format!("; of its peers its log says: {}", innermost(line)),
        (None, None) => String::new(),
    };
    let certainty = match why.is_empty() {
        true => Certainty::Possible,
        false => Certainty::Likely,
    };
    let mut finding = Finding::new(format!("etcd-{cluster} {said}{why}"), fix)
        .by(certainty)
        .coded(Code::ReadyProbeFailing)
        .seen("url", url);
    if let Some(line) = of_manager.or(of_peers) {
        finding = finding.seen("log", shorten(line, QUOTED));
    }
    if let Some(status) = member.status.as_ref().filter(|status| !status.has_leader) {
        finding = finding.seen("leader", "none");
        finding = finding.seen("version", &status.version);
    }
    finding.fail()
}

/// The latest line of etcd-manager's log by which it cannot start its etcd.
fn of_manager<'a>(node: &Node<'a>, cluster: &str) -> Option<&'a str> {
    let names = [format!("etcd-manager-{cluster}")];
    latest_of_pods(node, &names, |line| line.contains("error running etcd: "))
}

/// The latest line of this kind in the logs of the pods whose names begin so.
pub(super) fn latest_of_pods<'a>(
    node: &Node<'a>,
    names: &[String],
    is_wanted: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let runtime = node.survey().runtime.ok()?;
    let pods = runtime.pods.iter().flatten();
    let own = pods.filter(|pod| names.iter().any(|name| pod.name.starts_with(name.as_str())));
    let mut lines = own.flat_map(|pod| pod.log.iter().rev());
    lines.find(|line| is_wanted(line)).map(String::as_str)
}

/// The latest line of a member's log by which it and another one do not speak with each other.
fn of_peers<'a>(node: &Node<'a>, cluster: &str) -> Option<&'a str> {
    const REFUSED: &[&str] = &[
        "mismatch",
        "x509",
        "tls: ",
        "connection refused",
        "i/o timeout",
    ];
    const OF_PEERS: &[&str] = &["rafthttp", "rejected connection", "peer"];
    let names = [format!("etcd-manager-{cluster}"), format!("etcd-{cluster}")];
    let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    // etcd-manager's own client, which does not reach the member of this node, is no peer.
    let is_own = |line: &str| line.contains("error building etcd client");
    latest_of_pods(node, &names, |line| {
        has(line, OF_PEERS) && has(line, REFUSED) && !is_own(line)
    })
}

/// The API server that says of etcd that it failed; it is not what has to be fixed.
fn told_by_the_api_server(node: &Node<'_>, alive: &[String]) -> Option<Finding> {
    let probe = api_server::probe(node)?;
    let ProbeFacts::Answered { body, .. } = &probe.answer else {
        return None;
    };
    let failing = api_server::failing(body);
    if probe.answer.is_healthy() || !failing.iter().any(|check| check.starts_with("etcd")) {
        return None;
    }
    let finding = match alive.is_empty() {
        true => Finding::new(
            "kube-apiserver says that etcd failed",
            "read etcd's log: tail -n 50 /var/log/etcd.log /var/log/etcd-events.log; ls -lt /var/log/containers | grep etcd shows whether its container starts",
        ),
        false => Finding::new(
            format!(
                "kube-apiserver says that etcd failed, though {} answers here",
                alive.join(", ")
            ),
            "look how long etcd takes (tail -n 50 /var/log/etcd.log | grep -i slow), and compare --etcd-servers, --etcd-servers-overrides and --etcd-cafile of kube-apiserver with etcd's",
        ),
    };
    Some(
        finding
            .by(Certainty::Possible)
            .coded(Code::ReadyProbeFailing)
            .seen("url", &probe.url),
    )
}
