//! `etcd.pods`: the pods that run the members, from their manifests to their containers.

use super::port;
use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::{stage, static_pods};
use quake_model::expected::ExpectedPod;
use quake_model::facts::Unseen;
use quake_model::fault::Fault;
use quake_model::phase::Phase;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let members = &node.expected()?.etcd;
    if members.is_empty() {
        return Verdict::skip("no member of etcd runs on this node");
    }
    let pods: Vec<&ExpectedPod> = members.iter().filter_map(|it| it.pod.as_ref()).collect();
    if pods.is_empty() {
        return Verdict::skip("its pods are written with the node's other files");
    }
    stage::done(node, Phase::Files)?;
    for pod in &pods {
        if node.entry(&pod.manifest)?.is_none() {
            node.was_surveyed(&pod.manifest)?;
            return absent(node, pod, &pods);
        }
    }
    stage::done(node, Phase::Services)?;
    for pod in &pods {
        if let Some(verdict) = static_pods::trouble_of(node, &pod.name)? {
            return Ok(verdict);
        }
    }
    if let Some(finding) = port::taken(node, &pods) {
        return finding.fail();
    }
    let names: Vec<&str> = pods.iter().map(|pod| pod.name.as_str()).collect();
    Verdict::ok(names.join(", "))
}

/// A pod without its manifest: held back, or lost.
fn absent(node: &Node<'_>, pod: &ExpectedPod, all: &[&ExpectedPod]) -> Result<Verdict, Unseen> {
    let (name, manifest) = (&pod.name, &pod.manifest);
    if node.has_done(Phase::Storage) {
        return Finding::new(
            format!("{name} has no manifest: {manifest} is gone"),
            "find out who took it away; systemctl restart quake-agent.service writes it anew",
        )
        .fail();
    }
    let Some(fault) = storage_fault(node) else {
        return Verdict::skip("the boot has not come so far as to mount its volumes");
    };
    let held = all.iter().filter(|pod| is_held_back(node, &pod.name));
    let names: Vec<&str> = held.map(|pod| pod.name.as_str()).collect();
    let finding = Finding::new(
        format!(
            "the agent holds {} back: {}",
            names.join(", "),
            fault.summary
        ),
        fault.remedy_text(),
    );
    let mut finding = finding.coded(fault.code).seen("manifest", manifest);
    finding.evidence.extend(fault.evidence.iter().cloned());
    finding.fail()
}

/// Why the volumes may not be used, as the boot says it.
fn storage_fault<'a>(node: &Node<'a>) -> Option<&'a Fault> {
    let phase = node.record().ok()?.phases.get(&Phase::Storage)?;
    let waits = phase.unmet.values().map(|unmet| &unmet.fault);
    phase.fault.iter().chain(waits).next()
}

/// Whether the agent keeps a pod out of kubelet's directory until its volume is mounted.
pub(in crate::checks) fn is_held_back(node: &Node<'_>, name: &str) -> bool {
    let expected = node.expected().ok();
    let mut pods = expected
        .iter()
        .flat_map(|expected| &expected.etcd)
        .filter_map(|member| member.pod.as_ref());
    let pod = pods.find(|pod| pod.name == name);
    let is_absent = |pod: &ExpectedPod| matches!(node.entry(&pod.manifest), Ok(None));
    pod.is_some_and(|pod| !node.has_done(Phase::Storage) && is_absent(pod))
}
