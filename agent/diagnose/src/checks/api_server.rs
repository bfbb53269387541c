//! Checks of the API server on a control plane.

mod admission;
mod clients;
mod endpoints;
mod policies;
mod services;
mod webhooks;

pub(super) use webhooks::LATE_WEBHOOK;

use super::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use super::{stage, static_pods};
use quake_model::facts::{ProbeFacts, ProbeSeen, Unseen};
use quake_model::fault::Code;
use quake_model::phase::Phase;

/// It stands before the checks of static pods: components whose leases are refused end.
pub(super) const CLIENTS: &[Check] = &[Check {
    id: "apiserver.clients",
    title: "no client asks the API server for so much that others wait",
    severity: Severity::Warning,
    tags: &["control-plane", "cluster"],
    sources: &[Source::Runtime, Source::Probes],
    because: &[],
    why: "requests of nodes and controllers then wait or are refused, and leases are lost",
    remedy: "let the client watch instead of listing, and give it a FlowSchema at the level workload-low",
    judge: clients::judge,
}];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "apiserver.alive",
        title: "the API server on this node is healthy",
        severity: Severity::Critical,
        tags: &["control-plane"],
        sources: &[Source::Probes, Source::Runtime],
        because: &[
            "host.disk-space",
            "net.routes",
            "runtime.alive",
            "kubelet.alive",
            "certificates.present",
            "certificates.dates",
            "certificates.modes",
            "staticpods.manifests",
            "staticpods.flags",
            "etcd.pods",
            "etcd.alive",
            "staticpods.running",
            "etcd.data",
            "volumes.mounted",
            "host.disk-latency",
            "host.oom",
            "host.disk-errors",
            "net.ports",
            "certificates.authority",
            "volumes.space",
            "net.ranges",
        ],
        why: "without it this control plane answers no request, and its kubelet cannot register",
        remedy: "check etcd first, then read its log: less /var/log/kube-apiserver.log",
        judge: alive,
    },
    Check {
        id: "apiserver.webhooks",
        title: "no admission webhook or policy refuses what the node needs",
        severity: Severity::Critical,
        tags: &["control-plane", "cluster"],
        sources: &[Source::Journals, Source::Runtime],
        because: &["apiserver.alive", "net.ranges", "net.tunnel", "net.drops"],
        why: "a webhook or policy that refuses, or a webhook that does not answer, keeps nodes from registering and leases from being renewed",
        remedy: "exclude nodes, leases and kube-system from its rules; set the webhook's failurePolicy to Ignore, or the actions of the policy's binding to Warn and Audit",
        judge: webhooks::judge,
    },
    Check {
        id: "apiserver.apiservices",
        title: "every APIService has a back end that answers",
        severity: Severity::Warning,
        tags: &["control-plane", "cluster"],
        sources: &[Source::Runtime],
        because: &[
            "apiserver.alive",
            "staticpods.flags",
            "net.ranges",
            "net.tunnel",
            "net.drops",
        ],
        why: "one that does not answer takes API discovery down: namespaces do not end, garbage collection, quotas and Helm stop",
        remedy: "kubectl get apiservices | grep False; bring the pods of its service up, or delete the APIService of a program that was removed",
        judge: services::judge,
    },
];

const COMPONENT: &str = "kube-apiserver";

fn alive(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    if !node.is_control_plane() {
        return Verdict::skip("the node is no control plane");
    }
    stage::done(node, Phase::Services)?;
    node.survey().probes.get()?;
    let Some(probe) = probe(node) else {
        return Err(Unseen::NotTaken("its health was not asked".to_owned()));
    };
    let url = &probe.url;
    let how = match &probe.answer {
        answer if answer.is_healthy() => {
            return match endpoints::stale(node) {
                Some(finding) => finding.warn(),
                None => Verdict::ok(format!("{url} answers")),
            };
        }
        ProbeFacts::Answered { status, body } => match failing(body) {
            failing if failing.is_empty() => format!("answers {status} {}", body.trim()),
            failing => format!("answers {status}: {} failed", failing.join(", ")),
        },
        ProbeFacts::Silent { reason } => format!("does not answer: {reason}"),
    };
    let waits_for_etcd = how.contains("etcd");
    let fix = match waits_for_etcd {
        true => {
            "etcd is what it waits for: quake-agent diagnose --only etcd,volumes; tail -n 50 /var/log/etcd.log"
        }
        false => {
            "tail -n 50 /var/log/kube-apiserver.log, or /var/log/pods/kube-system_kube-apiserver-*/*/*.log; its last line names a flag, a file or etcd"
        }
    };
    let mut finding = Finding::new(format!("kube-apiserver at {url} {how}"), fix);
    finding = finding.by(Certainty::Possible);
    if let Ok(containers) = static_pods::containers_of(node, COMPONENT) {
        for container in containers {
            let code = container
                .exit_code
                .map_or(String::new(), |code| format!(", ended with {code}"));
            finding = finding.seen(
                "container",
                format_args!(
                    "{}{code}, started again {} times",
                    container.state, container.restarts
                ),
            );
        }
    }
    let finding = finding.coded(Code::ReadyProbeFailing);
    node.fail_after_boot(finding)
}

/// What the API server answered; `None` where it was not asked.
pub(super) fn probe<'a>(node: &Node<'a>) -> Option<&'a ProbeSeen> {
    let mut probes = node.survey().probes.ok()?.iter();
    probes.find(|probe| probe.component == COMPONENT)
}

/// The names of the checks that failed, of an answer in the API server's own form: `[-]etcd failed: reason withheld`.
pub(super) fn failing(body: &str) -> Vec<&str> {
    body.lines()
        .filter_map(|line| line.strip_prefix("[-]")?.split(' ').next())
        .collect()
}

#[cfg(test)]
mod tests;
