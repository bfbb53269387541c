//! The record: every event folded into what is true now. HTTP, status, sd_notify and the exit status
//! all read it, so they cannot disagree.

mod cleared;

pub use self::cleared::{is_of_conditions, is_of_node_object};

use crate::addon::AddonsRecord;
use crate::boot::BootId;
pub use crate::boot::BootState;
use crate::certificates::CertificateDates;
use crate::dns;
use crate::drift::Drift;
use crate::event::{Envelope, Event, Scope};
use crate::expected::Expected;
use crate::facts::InstanceFacts;
use crate::fault::{Code, Fault};
use crate::loss::Losses;
use crate::outcome::Outcome;
use crate::phase::{PHASES, Phase};
use crate::repair::RepairRecord;
use crate::time::Timestamp;
use crate::transfer::Transfers;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a phase is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseStatus {
    /// Its predecessors are not done.
    #[default]
    Pending,
    Running,
    Done,
    Failed,
}

/// What is being waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingCondition {
    /// The step's id, or the phase's name.
    pub step: String,
    pub attempt: u32,
    pub since: Timestamp,
    /// When the next try is.
    #[serde(alias = "next_at")]
    pub next_at: Timestamp,
    pub deadline: Timestamp,
    /// Why it is not done.
    pub fault: Fault,
}

/// One phase, so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseRecord {
    pub status: PhaseStatus,
    /// Milliseconds into the boot at which it started.
    #[serde(alias = "started_ms")]
    pub started_ms: Option<u64>,
    /// Milliseconds into the boot at which it ended.
    #[serde(alias = "ended_ms")]
    pub ended_ms: Option<u64>,
    pub steps: usize,
    #[serde(alias = "steps_done")]
    pub steps_done: usize,
    pub changed: usize,
    /// Tries that failed and were tried again.
    pub retries: u32,
    /// What is being waited for; by step.
    pub unmet: BTreeMap<String, PendingCondition>,
    pub fault: Option<Fault>,
}

/// One finished step, for the timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    pub phase: Phase,
    pub step: String,
    pub outcome: Outcome,
    /// Milliseconds into the boot at which it ended.
    #[serde(alias = "ended_ms")]
    pub ended_ms: u64,
    #[serde(alias = "took_ms")]
    pub took_ms: u64,
}

/// What the node is to be, as far as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpecRecord {
    pub cluster: String,
    #[serde(alias = "instance_group")]
    pub instance_group: String,
    pub role: String,
    pub kubernetes: String,
    /// Where the configuration came from.
    pub source: String,
    /// Digest over its exact bytes.
    pub digest: String,
}

/// The kernel that a boot ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KernelRecord {
    /// Its own name for this start of the machine.
    pub boot: String,
    /// Milliseconds it had run at the boot's first event.
    #[serde(alias = "began_ms")]
    pub began_ms: u64,
}

/// Everything true of a boot so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    pub boot: Option<BootId>,
    pub version: String,
    pub command: String,
    pub seq: u64,
    pub started: Timestamp,
    /// When the last event happened.
    pub updated: Timestamp,
    /// Milliseconds of the last event. What is told to the outside after the boot does not count: it makes no boot longer.
    #[serde(alias = "elapsed_ms")]
    pub elapsed_ms: u64,
    pub state: BootState,
    #[serde(default)]
    pub kernel: Option<KernelRecord>,
    pub instance: Option<InstanceFacts>,
    pub spec: Option<SpecRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    pub phases: BTreeMap<Phase, PhaseRecord>,
    /// Finished steps, in order.
    pub steps: Vec<StepRecord>,
    /// Assets on their way and assets that came in.
    #[serde(default)]
    pub transfers: Transfers,
    pub warnings: Vec<Fault>,
    /// What does not hold any more since the node was ready.
    #[serde(default)]
    pub losses: Losses,
    /// What is not as the agent left it.
    #[serde(default)]
    pub drift: Drift,
    /// Whether the node is to be replaced; `None` where no repair is allowed, or nothing was decided yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<RepairRecord>,
    /// The cluster's add-ons; of nodes that have nothing to do with them, nothing.
    #[serde(default, skip_serializing_if = "AddonsRecord::is_empty")]
    pub addons: AddonsRecord,
    /// The certificates that the node was issued, once it was ready.
    #[serde(default)]
    pub certificates: Vec<CertificateDates>,
    pub calls: BTreeMap<String, u64>,
    /// How many of them AWS throttled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub throttled: BTreeMap<String, u64>,
    /// Why it failed or stopped.
    pub fault: Option<Fault>,
}

impl Record {
    /// Folds one event into the record.
    pub fn fold(&mut self, envelope: &Envelope) {
        self.seq = envelope.seq;
        self.updated = envelope.at;
        if envelope.event.kind().scope != Scope::Notification {
            self.elapsed_ms = envelope.elapsed_ms;
        }
        self.transfers.fold(envelope);
        self.losses.fold(envelope);
        self.drift.fold(envelope);
        RepairRecord::fold(&mut self.repair, envelope);
        self.addons.fold(&envelope.event);
        self.fold_known(envelope);
        self.fold_end(&envelope.event);
        self.fold_phase(envelope);
    }

    /// Folds what is known of the boot, its machine and its node.
    fn fold_known(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::BootStarted {
                boot,
                version,
                command,
            } => {
                self.boot = Some(boot.clone());
                self.version.clone_from(version);
                self.command.clone_from(command);
                self.started = envelope.at;
                self.phases = all_pending();
            }
            Event::KernelKnown { boot, uptime_ms } => {
                self.kernel = Some(KernelRecord {
                    boot: boot.clone(),
                    began_ms: uptime_ms.saturating_sub(envelope.elapsed_ms),
                });
            }
            Event::InstanceKnown { instance } => self.instance = Some(instance.clone()),
            Event::SpecKnown {
                cluster,
                instance_group,
                role,
                kubernetes,
                source,
                digest,
            } => {
                self.spec = Some(SpecRecord {
                    cluster: cluster.clone(),
                    instance_group: instance_group.clone(),
                    role: role.clone(),
                    kubernetes: kubernetes.clone(),
                    source: source.clone(),
                    digest: digest.clone(),
                });
            }
            Event::NodeExpected { expected } => self.expected = Some((**expected).clone()),
            Event::CallsCounted { calls, throttled } => {
                self.calls.clone_from(calls);
                self.throttled.clone_from(throttled);
            }
            Event::CertificatesHeld { certificates } => self.certificates.clone_from(certificates),
            _ => {}
        }
    }

    /// Folds a warning, or how the boot ended. What the outside was not told is a warning too, unless it is known already.
    fn fold_end(&mut self, event: &Event) {
        match event {
            Event::NotificationFailed { known: true, .. } => {}
            Event::Warning { fault } | Event::NotificationFailed { fault, .. } => {
                self.warnings.push(fault.clone());
            }
            // Said once, however often it is tried.
            Event::CertificatesNotRenewed { fault }
            | Event::NodeNotLabelled { fault }
            | Event::NodeConditionsNotReported { fault }
            | Event::DnsNotPublished { fault } => {
                self.warnings.retain(|known| known.code != fault.code);
                self.warnings.push(fault.clone());
            }
            Event::CertificatesRenewed { .. } => {
                self.forget(|it| it == Code::CredentialsNotRenewed);
            }
            Event::NodeLabelled { .. } => self.forget(is_of_node_object),
            Event::NodeConditionsReported { .. } => self.forget(is_of_conditions),
            Event::DnsPublished { .. } => self.forget(dns::keeps_from_names),
            Event::BootReady { .. } => self.state = BootState::Ready,
            Event::BootFailed { fault, .. } => self.end(BootState::Failed, fault),
            Event::BootStopped { fault } => self.end(BootState::Stopped, fault),
            _ => {}
        }
    }

    fn end(&mut self, state: BootState, fault: &Fault) {
        (self.state, self.fault) = (state, Some(fault.clone()));
    }

    fn forget(&mut self, is_over: impl Fn(Code) -> bool) {
        self.warnings.retain(|warning| !is_over(warning.code));
    }

    fn fold_phase(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::PhaseStarted { phase } => {
                self.state = BootState::in_phase(*phase).max_of(self.state);
                let entry = self.phases.entry(*phase).or_default();
                entry.status = PhaseStatus::Running;
                entry.started_ms = Some(envelope.elapsed_ms);
            }
            Event::PhasePlanned { phase, steps } => {
                let entry = self.phases.entry(*phase).or_default();
                entry.steps = *steps;
                entry.steps_done = 0;
                entry.unmet.clear();
            }
            Event::PhaseDone { phase, changed } => {
                let entry = self.end_phase(*phase, PhaseStatus::Done);
                entry.changed = *changed;
                entry.unmet.clear();
            }
            Event::PhaseFailed { phase, fault } => {
                self.end_phase(*phase, PhaseStatus::Failed).fault = Some(fault.clone());
            }
            _ => self.fold_step(envelope),
        }
    }

    fn end_phase(&mut self, phase: Phase, status: PhaseStatus) -> &mut PhaseRecord {
        let entry = self.phases.entry(phase).or_default();
        entry.status = status;
        entry.ended_ms = Some(self.elapsed_ms);
        entry
    }

    fn fold_step(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::StepDone {
                phase,
                step,
                outcome,
                took_ms,
            } => {
                let entry = self.phases.entry(*phase).or_default();
                entry.steps_done += 1;
                // A phase may do more than it planned at its start, such as a head start for the runtime.
                entry.steps = entry.steps.max(entry.steps_done);
                entry.unmet.remove(step);
                entry.unmet.remove(phase.name());
                self.steps.push(StepRecord {
                    phase: *phase,
                    step: step.clone(),
                    outcome: *outcome,
                    ended_ms: envelope.elapsed_ms,
                    took_ms: *took_ms,
                });
            }
            Event::Waiting {
                phase,
                step,
                attempt,
                retry_in_ms,
                deadline_in_ms,
                fault,
            } => {
                let entry = self.phases.entry(*phase).or_default();
                entry.retries += 1;
                let since = entry
                    .unmet
                    .get(step)
                    .map_or(envelope.at, |unmet| unmet.since);
                let unmet = PendingCondition {
                    step: step.clone(),
                    attempt: *attempt,
                    since,
                    next_at: Timestamp(envelope.at.0 + retry_in_ms),
                    deadline: Timestamp(envelope.at.0 + deadline_in_ms),
                    fault: fault.clone(),
                };
                // A phase waits as a whole, under its own name, or for its steps.
                let name = phase.name();
                entry.unmet.retain(|other, _| step != name && other != name);
                entry.unmet.insert(step.clone(), unmet);
            }
            _ => {}
        }
    }

    /// Whether the boot has ended.
    pub fn is_terminal(&self) -> bool {
        matches!(
            self.state,
            BootState::Ready | BootState::Failed | BootState::Stopped
        )
    }

    /// Whether the node is ready: it became so, and what made it so still holds.
    pub fn is_ready(&self) -> bool {
        self.state == BootState::Ready && self.losses.is_empty()
    }

    /// Milliseconds that the kernel had run at the boot's first event, where that is known.
    pub fn began_ms(&self) -> Option<u64> {
        self.kernel.as_ref().map(|kernel| kernel.began_ms)
    }

    /// How many steps changed something on the node.
    pub fn writes(&self) -> usize {
        self.steps
            .iter()
            .filter(|step| step.outcome == Outcome::Changed)
            .count()
    }

    /// The exit status of a process whose boot ended like this: 0 ready, 75 when it has not ended.
    pub fn exit_status(&self) -> u8 {
        match (self.state, &self.fault) {
            (BootState::Ready, _) => 0,
            (_, Some(fault)) => fault.class().exit_status(),
            (_, None) => 75,
        }
    }
}

/// The phases of a boot that has just started.
fn all_pending() -> BTreeMap<Phase, PhaseRecord> {
    let rows = PHASES.iter();
    rows.map(|row| (row.phase, PhaseRecord::default()))
        .collect()
}

#[cfg(test)]
mod tests;
