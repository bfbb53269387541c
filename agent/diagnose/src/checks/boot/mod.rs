//! Checks of the boot as a whole.

mod recorded;
mod reports;

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use quake_model::facts::Unseen;
use quake_model::record::BootState;

/// Stands apart, before all that a boot brings about.
pub(super) const RECORDED: &[Check] = &[Check {
    id: "boot.recorded",
    title: "a boot of the agent is recorded on this host",
    severity: Severity::Critical,
    tags: &["boot", "agent", "user-data"],
    sources: &[Source::Files, Source::Units],
    because: &["host.disk-space", "config.user-data", "identity.metadata"],
    why: "if the agent never ran, nothing is configured, and all other failures follow from that",
    remedy: "check what cloud-init did with the user data (/var/log/cloud-init-output.log), and start the agent",
    judge: recorded::judge,
}];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "boot.conditions",
        title: "the components of the control plane are healthy",
        severity: Severity::Critical,
        tags: &["boot", "probes", "control-plane"],
        sources: &[Source::Probes, Source::Files],
        because: &["etcd.alive", "apiserver.alive", "staticpods.running"],
        why: "without a controller manager and a scheduler no pod is scheduled or replaced",
        remedy: "read the component's log in /var/log, and its manifest in /etc/kubernetes/manifests",
        judge: reports::conditions,
    },
    Check {
        id: "boot.outcome",
        title: "the latest boot ended with a ready node",
        severity: Severity::Critical,
        tags: &["boot"],
        sources: &[Source::Files],
        because: &["boot.conditions"],
        why: "a node whose boot failed runs no workload, or an old configuration",
        remedy: "fix the first finding, then restart the agent",
        judge: outcome,
    },
    Check {
        id: "boot.warnings",
        title: "the boot has no warnings",
        severity: Severity::Info,
        tags: &["boot"],
        sources: &[Source::Files],
        because: &[],
        why: "a warning does not stop a boot, and is easily forgotten; its check reports it",
        remedy: "quake-agent explain CODE explains a warning",
        judge: reports::warnings,
    },
    Check {
        id: "boot.timeline",
        title: "no phase of the boot was slow",
        severity: Severity::Info,
        tags: &["boot", "time"],
        sources: &[Source::Files],
        because: &["boot.outcome"],
        why: "slow boots make scaling up slow",
        remedy: "find the slow step: quake-agent timeline; seed the image with downloaded files",
        judge: reports::timeline,
    },
];

fn outcome(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let record = node.record()?;
    let seconds = record.elapsed_ms as f64 / 1000.0;
    match record.state {
        BootState::Ready => Verdict::ok(format!("ready after {seconds:.1}s")),
        BootState::Failed => Finding::new(
            format!("the boot failed after {seconds:.1}s"),
            "fix the cause, then: systemctl reset-failed quake-agent.service && systemctl start quake-agent.service",
        )
        .fail(),
        BootState::Stopped => Finding::new(
            format!("the boot was stopped after {seconds:.1}s"),
            "systemctl start quake-agent.service",
        )
        .fail(),
        BootState::Starting
        | BootState::Configuring
        | BootState::Preparing
        | BootState::Joining => in_progress(node, seconds),
    }
}

/// A boot that has not ended: it goes on, or the agent died in the middle.
fn in_progress(node: &Node<'_>, seconds: f64) -> Result<Verdict, Unseen> {
    let runs = match node.unit("quake-agent.service") {
        Ok(unit) => unit.map(|unit| unit.main_started_us > 0 && unit.main_ended.is_none()),
        Err(_) => None,
    };
    match runs {
        Some(true) => Verdict::ok(format!("under way for {seconds:.1}s")),
        Some(false) | None => Finding::new(
            format!("the boot did not end: its last event was {seconds:.1}s into it"),
            "journalctl -b -u quake-agent.service; systemctl restart quake-agent.service",
        )
        .seen("last event", node.record()?.updated)
        .fail(),
    }
}

#[cfg(test)]
mod tests;
