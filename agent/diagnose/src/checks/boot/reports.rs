//! What the boot told beside its end: components it waited for, warnings, and how long it took.

use super::super::check::{Finding, Verdict};
use super::super::etcd::silent;
use super::super::node::Node;
use quake_model::facts::{ProbeSeen, Unseen};
use quake_model::phase::{PHASES, Phase};
use quake_model::record::PhaseStatus;
use std::collections::BTreeSet;

/// Components that have a check of their own.
const ELSEWHERE: &[&str] = &["kubelet", "kube-apiserver", "etcd"];

fn is_elsewhere(component: &str) -> bool {
    ELSEWHERE.iter().any(|start| component.starts_with(start))
}

pub(super) fn conditions(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let names = node
        .expected()?
        .probes
        .iter()
        .filter_map(|it| it.split(' ').next());
    let expected: BTreeSet<&str> = names.filter(|name| !is_elsewhere(name)).collect();
    if expected.is_empty() {
        return Verdict::skip("no other component runs on this node");
    }
    if !node.has_done(Phase::Services) {
        return Verdict::skip("the boot has not come so far as to start kubelet");
    }
    let seen = node.survey().probes.get()?.iter();
    let probes: Vec<&ProbeSeen> = seen
        .filter(|it| expected.contains(it.component.as_str()))
        .collect();
    if let Some(ill) = probes.iter().find(|it| !it.answer.is_healthy()) {
        return silent(ill);
    }
    match probes.len() < expected.len() {
        true => Err(Unseen::NotTaken("not all of them were asked".to_owned())),
        false => Verdict::ok(expected.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

pub(super) fn warnings(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let warnings = &node.record()?.warnings;
    let codes: BTreeSet<&str> = warnings
        .iter()
        .map(|fault| fault.code.entry().code)
        .collect();
    let codes = codes.into_iter().collect::<Vec<_>>().join(", ");
    match warnings.len() {
        0 => Verdict::ok("it warned of nothing"),
        1 => Verdict::ok(format!("one: {codes}")),
        count => Verdict::ok(format!("{count}: {codes}")),
    }
}

/// How long a phase takes at most on a node without a seed, over an ordinary network, in milliseconds.
fn budget(phase: Phase) -> u64 {
    const SECOND: u64 = 1000;
    match phase {
        Phase::Identity | Phase::Config | Phase::Network | Phase::Credentials | Phase::Files => {
            30 * SECOND
        }
        Phase::Storage | Phase::Assets | Phase::Services => 120 * SECOND,
        Phase::Ready => 300 * SECOND,
    }
}

pub(super) fn timeline(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let record = node.record()?;
    let mut slow = Vec::new();
    for row in PHASES {
        let Some(phase) = record.phases.get(&row.phase) else {
            continue;
        };
        let end = match phase.status {
            PhaseStatus::Running => Some(record.elapsed_ms),
            PhaseStatus::Pending | PhaseStatus::Done | PhaseStatus::Failed => phase.ended_ms,
        };
        let took = end
            .zip(phase.started_ms)
            .map(|(end, start)| end.saturating_sub(start));
        if let Some(took) = took.filter(|took| *took > budget(row.phase)) {
            slow.push((row.phase, took));
        }
    }
    let total = record.elapsed_ms as f64 / 1000.0;
    let Some((phase, took)) = slow.iter().max_by_key(|(_, took)| took).copied() else {
        return Verdict::ok(format!("{total:.1}s in all"));
    };
    let seconds = |millis: u64| millis as f64 / 1000.0;
    let mut finding = Finding::new(
        format!(
            "the phase {} took {:.1}s of {total:.1}s",
            phase.name(),
            seconds(took)
        ),
        format!("quake-agent timeline names the step; {}", hint(phase)),
    );
    for (phase, took) in slow {
        let (took, budget) = (seconds(took), seconds(budget(phase)));
        finding = finding.seen(
            phase.name(),
            format_args!("{took:.1}s, of {budget:.0}s at most"),
        );
    }
    let steps = record.steps.iter().filter(|step| step.phase == phase);
    if let Some(step) = steps.max_by_key(|step| step.took_ms) {
        finding = finding.seen(
            "longest step",
            format_args!("{} took {:.1}s", step.step, seconds(step.took_ms)),
        );
    }
    finding.warn()
}

fn hint(phase: Phase) -> &'static str {
    match phase {
        Phase::Identity => "look how fast the metadata service answers",
        Phase::Config | Phase::Credentials => {
            "look at the way to the state store; a gateway endpoint shortens it"
        }
        Phase::Network | Phase::Files => "look at the disk: iostat -x 1",
        Phase::Storage => "look who held the volumes: quake-agent volumes explain",
        Phase::Assets => "seed the image with the pinned files: quake-agent seed build",
        Phase::Services => "bring the images with the seed instead of pulling them",
        Phase::Ready => "look what kubelet waited for: journalctl -b -u kubelet.service",
    }
}
