//! Checks of the node as its cluster sees it. [`REGISTRATION`] comes before the pod network, whose pods come only to a
//! node that is registered; [`CHECKS`] comes after it.

use super::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use super::kubelet::reasons::AWAY;
use super::kubelet_config::kubelet_flag;
use super::node::Node;
use super::stage;
use crate::checks::from_journal::from_journal;
use quake_formats::journal::latest;
use quake_model::facts::{NodeCondition, NodeObject, Unseen};
use quake_model::phase::Phase;

mod conditions;
mod taints;

pub(super) const REGISTRATION: &[Check] = &[Check {
    id: "node.registered",
    title: "the node is registered under the expected name",
    severity: Severity::Critical,
    tags: &["cluster"],
    sources: &[Source::Node, Source::Journals],
    because: &[
        "certificates.dates",
        "certificates.authority",
        "runtime.alive",
        "kubelet.kubeconfig",
        "kubelet.certificate",
        "kubelet.bootstrap",
        "kubelet.alive",
        "staticpods.running",
        "apiserver.alive",
        "dns.names",
        "net.leftovers",
        "net.api-server",
        "time.sync",
        "dns.hosts-file",
        "host.hostname",
        "iam.describe-instances",
        "net.proxy",
        "net.routes",
        "net.ranges",
        "host.jobs",
        "kubelet.settings",
    ],
    why: "the cluster schedules no pod on a node that is not registered",
    remedy: "journalctl -b -u kubelet.service | grep -i register; kubectl get nodes",
    judge: registered,
}];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "node.ready",
        title: "the node is Ready and under no pressure",
        severity: Severity::Critical,
        tags: &["cluster"],
        sources: &[Source::Node],
        because: &[
            "host.disk-space",
            "runtime.alive",
            "kubelet.alive",
            "apiserver.alive",
            "node.registered",
            "kubelet.settings",
            "kubelet.labels",
            "cni.ready",
            "cni.config",
            "cni.stale",
            "cni.plugins",
            "host.disk-errors",
            "host.noexec",
            "net.settings",
            "images.pull",
            "lifecycle.interruption",
            "host.memory",
            "net.managers",
            "cni.addresses",
            "runtime.shims",
            "apiserver.webhooks",
            "net.ranges",
            "host.sysctl",
            "host.jobs",
            "host.modules",
            "runtime.others",
            "net.proxy",
        ],
        why: "no pods are scheduled on a node that is not ready, and its pods are evicted",
        remedy: "kubectl describe node <name>: the condition's message has kubelet's reason",
        judge: ready,
    },
    Check {
        id: "node.taints",
        title: "no temporary taint is left on the node",
        severity: Severity::Critical,
        tags: &["cluster"],
        sources: &[Source::Node],
        because: &["node.registered", "node.ready", "identity.profile"],
        why: "pods that do not tolerate the taint are not scheduled on the node",
        remedy: "kubectl describe node <name> | grep -A3 Taints; its controller removes it when its work is done",
        judge: taints::judge,
    },
    Check {
        id: "node.provider-id",
        title: "the node's object names this instance",
        severity: Severity::Warning,
        tags: &["cluster"],
        sources: &[Source::Node],
        because: &["node.registered", "node.taints"],
        why: "volumes, load balancers and autoscalers use it to find the instance, and a cloud controller deletes a node whose instance is gone",
        remedy: "kubectl delete node <name>; systemctl restart kubelet.service registers it again",
        judge: provider_id,
    },
];

fn object<'a>(node: &Node<'a>) -> Result<&'a NodeObject, Unseen> {
    stage::kubernetes(node)?;
    let found = node.survey().node.get()?.as_ref();
    found.ok_or_else(|| Unseen::NotTaken("the API server does not know the node".to_owned()))
}

fn registered(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    stage::done(node, Phase::Services)?;
    let wanted = expected.node_name.as_str();
    // With kops (1.32 and newer) the agent itself names the node, after its instance; in the older one kubelet may be asked to.
    let by_flag = kubelet_flag(node, "hostname-override").filter(|_| expected.is_of_current_kops());
    if let Some(by_flag) = by_flag.filter(|by_flag| by_flag != wanted) {
        return Finding::new(
            format!("kubelet registers the node as {by_flag}, and its certificate and its cluster know {wanted}"),
            "systemctl restart quake-agent.service writes /etc/sysconfig/kubelet anew, and restarts kubelet",
        )
        .fail();
    }
    let journal = node.journal("kubelet.service");
    match node.survey().node.get() {
        Ok(Some(object)) if wanted.is_empty() || object.name == wanted => {
            Verdict::ok(format!("it is known as {}", object.name))
        }
        Ok(Some(object)) => Finding::new(
            format!("the node is known as {}, and {wanted} is expected", object.name),
            "compare --hostname-override in /etc/sysconfig/kubelet with the instance's private DNS name; kubectl delete node of the wrong one, then: systemctl restart kubelet.service",
        )
        .fail(),
        Ok(None) => {
            let what = format!("the API server does not know the node {wanted}");
            let finding = match latest(journal, AWAY) {
                Some(reason) => from_journal(&reason, &what),
                None => Finding::new(what, "journalctl -b -u kubelet.service | grep -i regist; systemctl restart kubelet.service").by(Certainty::Possible),
            };
            node.fail_after_boot(finding)
        }
        // The API server could not be asked: only kubelet's own last words tell, and only if nothing came after them.
        Err(unseen) => match last_words(journal) {
            Some(finding) => finding.fail(),
            None => Err(unseen),
        },
    }
}

/// Why kubelet does not come to its cluster, if its journal ends with that.
fn last_words(journal: &[String]) -> Option<Finding> {
    const LINES: usize = 12;
    let tail = &journal[journal.len().saturating_sub(LINES)..];
    let tries = [
        "Unable to register node with API server",
        "Failed to contact API server",
        "Error updating node status",
        "Error getting node",
        "failed to ensure lease exists",
        "Failed to ensure lease exists",
        "Failed to list *v1.Node",
        "failed to list *v1.Node",
    ];
    let says = |line: &String| tries.iter().any(|words| line.contains(words));
    if !tail.iter().any(says) {
        return None;
    }
    let lines: Vec<&String> = tail.iter().filter(|line| says(line)).collect();
    let reason = lines
        .iter()
        .rev()
        .find_map(|line| latest(std::slice::from_ref(*line), AWAY))?;
    Some(from_journal(
        &reason,
        "kubelet does not reach its API server",
    ))
}

fn ready(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let object = object(node)?;
    let find = |kind: &str| {
        object
            .conditions
            .iter()
            .find(|condition| condition.kind == kind)
    };
    let Some(ready) = find("Ready") else {
        return Verdict::skip("the node's object has no conditions yet");
    };
    if ready.status != "True" {
        let what = format!(
            "the node is not ready ({}): {}",
            ready.reason, ready.message
        );
        return Finding::new(what, fix_of(ready))
            .by(Certainty::Possible)
            .fail();
    }
    let pressure = [
        "DiskPressure",
        "MemoryPressure",
        "PIDPressure",
        "NetworkUnavailable",
    ];
    let bad = pressure
        .iter()
        .find_map(|kind| find(kind).filter(|condition| condition.status == "True"));
    match bad.or_else(|| object.conditions.iter().find(|it| conditions::is_bad(it))) {
        None => Verdict::ok("Ready, under no pressure"),
        Some(condition) => {
            let what = format!(
                "the node says {} ({}): {}",
                condition.kind, condition.reason, condition.message
            );
            match conditions::why_with_room(node, condition) {
                Some(fix) => Finding::new(what, fix).warn(),
                None => Finding::new(what, fix_of(condition)).warn(),
            }
        }
    }
}

fn fix_of(condition: &NodeCondition) -> &'static str {
    let says = |words: &str| condition.message.contains(words);
    match condition.kind.as_str() {
        "DiskPressure" => "crictl rmi --prune; journalctl --vacuum-size=200M; or grow the volume",
        "MemoryPressure" => {
            "kubectl top pods -A; give pods memory limits, or take a larger instance type"
        }
        "PIDPressure" => {
            "ps -eLf | wc -l; give pods limits (podPidsLimit), or raise kernel.pid_max"
        }
        "NetworkUnavailable" if condition.reason == "NoRouteCreated" => {
            "grep -i route /var/log/kube-controller-manager.log on the leading control plane: RouteLimitExceeded (ask AWS for more routes), ec2:CreateRoute denied, or two route tables with the cluster's tag"
        }
        "NetworkUnavailable" => {
            "the pod network's pod on this node, or the routes that a cloud controller makes"
        }
        kind if conditions::fix(kind).is_some() => conditions::fix(kind).unwrap_or_default(),
        _ if says("PodCIDR") || says("netConfig") => {
            "kubectl get node <name> -o jsonpath={.spec.podCIDR}: where it is empty, kube-controller-manager gave it none: grep -i cidr /var/log/kube-controller-manager.log on the control plane (CIDRNotAvailable: --cluster-cidr is used up), or it lacks --allocate-node-cidrs"
        }
        _ if says("NetworkPluginNotReady") || says("cni ") => {
            "quake-agent diagnose --only cni: the pod network has no configuration that works"
        }
        _ if says("PLEG is not healthy") => {
            "the runtime is too slow to list its pods: look at the disk (iostat -x 1) and the number of dead containers"
        }
        _ if says("container runtime is down") || says("container runtime status check") => {
            "quake-agent diagnose --only runtime"
        }
        _ if says("node is shutting down") => {
            "nothing on this node: the machine is shutting down, and its group starts another one; aws autoscaling describe-scaling-activities, or a notice of an interruption, says why"
        }
        _ if condition.status == "Unknown" => {
            "kubelet has stopped telling: quake-agent diagnose --only kubelet,net"
        }
        _ => "journalctl -b -u kubelet.service",
    }
}

fn provider_id(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let object = object(node)?;
    let instance = node.record()?.instance.as_ref();
    let why = || Unseen::NotTaken("no boot came as far as to know the instance".to_owned());
    let id = instance.ok_or_else(why)?.instance_id.as_str();
    let given = object.provider_id.as_str();
    if given.is_empty() {
        let flags = super::kubelet::flags(node)?;
        return match flags.get("cloud-provider") {
            Some("aws" | "external") => Finding::new(
                "the node's object has no provider id yet",
                "a cloud controller writes it: kubectl -n kube-system get pods -l k8s-app=aws-cloud-controller-manager",
            )
            .warn(),
            Some(_) | None => Verdict::skip("no cloud provider writes it"),
        };
    }
    if given.ends_with(&format!("/{id}")) {
        return Verdict::ok(given);
    }
    Finding::new(
        format!("the node's object is of {given}, and this instance is {id}"),
        format!(
            "kubectl delete node {}; then: systemctl restart kubelet.service registers this one",
            object.name
        ),
    )
    .fail()
}

#[cfg(test)]
mod tests;
