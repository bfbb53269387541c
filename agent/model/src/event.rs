//! The one event stream: the only truth about a boot.

use crate::addon::{AddonKeeper, AddonStatus};
use crate::boot::BootId;
use crate::certificates::CertificateDates;
use crate::drift::Drifted;
use crate::expected::Expected;
use crate::facts::InstanceFacts;
use crate::fault::Fault;
use crate::notification::Notification;
use crate::outcome::Outcome;
use crate::phase::Phase;
use crate::time::Timestamp;
use crate::transfer::Fetched;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An event with its place in the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Counts from 1 without gaps within a boot.
    pub seq: u64,
    /// When, by the wall clock.
    pub at: Timestamp,
    /// Milliseconds since the boot's first event, by a clock that never steps.
    pub elapsed_ms: u64,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// Something that happened. Kinds written by a newer agent read as [`Event::Unknown`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// The first event of a boot.
    BootStarted {
        /// The boot's name.
        boot: BootId,
        version: String,
        /// What was started: `boot`, `rehearse`, …
        command: String,
    },
    /// How long the machine's kernel has run, so that the boot can be put beside what was before it.
    KernelKnown {
        /// The kernel's own name for this start of the machine (`/proc/sys/kernel/random/boot_id`).
        boot: String,
        /// Milliseconds since its start, by its clock, which never steps.
        uptime_ms: u64,
    },
    /// Who this instance is.
    InstanceKnown {
        /// Its facts.
        instance: InstanceFacts,
    },
    /// What the node is to be.
    SpecKnown {
        /// The cluster.
        cluster: String,
        /// The instance group.
        instance_group: String,
        role: String,
        kubernetes: String,
        /// Where the configuration came from.
        source: String,
        /// Digest over the configuration's exact bytes.
        digest: String,
    },
    /// kops-controller accepted the node's proof of who it is.
    TokenAccepted {
        /// The server's URL.
        server: String,
        /// The token's version: 1 or 2.
        version: u8,
    },
    /// What the node is expected to have once it is booted.
    NodeExpected {
        /// That.
        expected: Box<Expected>,
    },
    /// A phase's predecessors are done and it begins.
    PhaseStarted {
        /// The phase.
        phase: Phase,
    },
    /// A phase was planned.
    PhasePlanned {
        /// The phase.
        phase: Phase,
        /// How many steps it has.
        steps: usize,
    },
    /// A phase is done.
    PhaseDone {
        /// The phase.
        phase: Phase,
        /// How many of its steps changed something.
        changed: usize,
    },
    /// A phase failed.
    PhaseFailed {
        /// The phase.
        phase: Phase,
        fault: Fault,
    },
    /// A step begins to act; a step that already holds has no start.
    StepStarted {
        /// The phase.
        phase: Phase,
        step: String,
    },
    /// A step is done.
    StepDone {
        /// The phase.
        phase: Phase,
        step: String,
        outcome: Outcome,
        /// How long it took, tries and waits included.
        took_ms: u64,
    },
    /// A try failed, or what is waited for is not there yet, and there will be another.
    Waiting {
        /// The phase.
        phase: Phase,
        /// The step's id, or the phase's name while observing.
        step: String,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// Milliseconds to the next.
        retry_in_ms: u64,
        /// Milliseconds to the deadline.
        deadline_in_ms: u64,
        fault: Fault,
    },
    /// Bytes came in. Progress may be dropped; nothing else may.
    Progress {
        /// The step's id.
        step: String,
        done: u64,
        /// Bytes in all, where known.
        total: Option<u64>,
    },
    /// An asset came in whole and verified.
    AssetFetched(Fetched),
    /// What boots from this store touch was read ahead.
    ReadAhead {
        /// Extents that were read.
        extents: usize,
        bytes: u64,
        /// Files that are gone or were replaced.
        skipped: usize,
        /// How long it took.
        took_ms: u64,
    },
    /// Something an operator should know that stops nothing.
    Warning {
        /// What.
        fault: Fault,
    },
    /// Cloud calls so far, by `service:Operation`.
    CallsCounted {
        /// The counts.
        calls: BTreeMap<String, u64>,
    },
    /// Terminal: the node is ready. Nothing of the boot follows; only what is noticed of the ready node later,
    /// [`Event::ConditionLost`], [`Event::ConditionRegained`] and [`Event::DriftChanged`], and what is told to the outside.
    BootReady {
        /// How many steps changed something.
        changed: usize,
    },
    /// Terminal: the boot failed. Nothing of the boot follows; only what is told to the outside.
    BootFailed {
        /// The phase it failed in.
        phase: Phase,
        fault: Fault,
    },
    /// Terminal: the boot was told to stop. Nothing of the boot follows; only what is told to the outside.
    BootStopped {
        /// Why, as a fault so that it carries a code.
        fault: Fault,
    },
    /// What held when the node became ready does not hold any more, or for another reason than before.
    ConditionLost {
        /// The phase that brought it about.
        phase: Phase,
        step: String,
        fault: Fault,
    },
    /// It holds again.
    ConditionRegained {
        /// The phase that brought it about.
        phase: Phase,
        step: String,
        /// For how long it was lost, in milliseconds.
        lost_ms: u64,
    },
    /// What the agent wrote or enabled is not as it left it, or is so again: all there is of it now.
    DriftChanged {
        /// What drifted; at most [`crate::drift::MOST_NAMED`].
        drifted: Vec<Drifted>,
        /// How many more there are.
        more: usize,
    },
    /// Which certificates the node was issued and until when they are valid: all there are, told once it is ready, and again
    /// when that changed.
    CertificatesHeld {
        /// Each with its dates, by name.
        certificates: Vec<CertificateDates>,
    },
    /// Certificates that the node signs itself came of age, and were issued anew.
    CertificatesRenewed {
        /// The orders' names.
        names: Vec<String>,
        /// When the first of them expires.
        until: Timestamp,
    },
    /// Certificates came of age and could not be issued anew; it is tried again, or is not the node's to do.
    CertificatesNotRenewed {
        /// Why.
        fault: Fault,
    },
    /// Who applies the cluster's add-ons, as this node sees it, and from which channels.
    #[serde(alias = "addons-kept")]
    AddonsReconciled {
        /// Who.
        keeper: AddonKeeper,
        channels: Vec<String>,
    },
    /// An add-on is not as far as it was.
    AddonChanged(AddonStatus),
    /// Add-ons that no channel names any more. What they brought stays, unless another add-on's channel says otherwise.
    #[serde(alias = "addons-forgotten")]
    AddonForgotten {
        /// Their names.
        names: Vec<String>,
    },
    /// Add-ons cannot be reconciled: a channel or the API server cannot be read. The agent retries.
    #[serde(alias = "addons-not-kept")]
    AddonsDegraded {
        /// Why.
        fault: Fault,
    },
    /// Something of a channel is not as it should be, and so is not read; all else of it is looked after. Told once.
    AddonsWarned {
        /// What, and where.
        fault: Fault,
    },
    /// Warnings about channels that no longer apply, or that another node reports now.
    #[serde(alias = "addons-warnings-over")]
    AddonsWarningsCleared {
        /// What is not so any more.
        faults: Vec<Fault>,
    },
    /// The Node object has the labels and taints that the node must have.
    #[serde(alias = "node-identified")]
    NodeLabelled {
        /// The node's name.
        node: String,
        /// What was said of it, and granted to its components, just now; empty where all of it was there.
        says: Vec<String>,
    },
    /// The Node object lacks labels, or there is none. The agent retries.
    #[serde(alias = "node-not-identified")]
    NodeNotLabelled {
        /// Why.
        fault: Fault,
    },
    /// DNS records of this node were repaired, or can be read again.
    #[serde(alias = "names-kept")]
    DnsPublished {
        /// The hosted zone.
        zone: String,
        /// The names that were repaired just now; empty where an earlier failure ended.
        names: Vec<String>,
    },
    /// DNS records of this node cannot be read or repaired. The agent retries.
    #[serde(alias = "names-not-kept")]
    DnsNotPublished {
        /// Why.
        fault: Fault,
    },
    /// A notification of the boot's end was sent.
    #[serde(alias = "told")]
    NotificationSent {
        /// What.
        what: Notification,
        /// Where it was written, or who received it.
        to: String,
        /// How long that took, in milliseconds.
        took_ms: u64,
    },
    /// A notification of the boot's end failed.
    #[serde(alias = "not-told")]
    NotificationFailed {
        /// What.
        what: Notification,
        fault: Fault,
        /// Whether an earlier boot of this instance already failed in the same way.
        known: bool,
    },
    /// A notification that an operator asked for was deliberately not sent.
    #[serde(alias = "withheld")]
    NotificationSkipped {
        /// What.
        what: Notification,
        why: String,
    },
    /// A kind written by a newer agent.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// Whether no event of the boot may follow.
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::BootReady { .. } | Self::BootFailed { .. } | Self::BootStopped { .. }
        )
    }

    /// Whether it is of a node that was ready, and so may follow the end of a boot.
    pub fn is_of_ready_node(&self) -> bool {
        matches!(
            self,
            Self::ConditionLost { .. }
                | Self::ConditionRegained { .. }
                | Self::DriftChanged { .. }
                | Self::CertificatesHeld { .. }
                | Self::CertificatesRenewed { .. }
                | Self::CertificatesNotRenewed { .. }
                | Self::NodeLabelled { .. }
                | Self::NodeNotLabelled { .. }
                | Self::DnsPublished { .. }
                | Self::DnsNotPublished { .. }
        )
    }

    /// Whether it is of the cluster's add-ons, which are applied while a node boots and ever after.
    pub fn is_of_addons(&self) -> bool {
        matches!(
            self,
            Self::AddonsReconciled { .. }
                | Self::AddonChanged(_)
                | Self::AddonForgotten { .. }
                | Self::AddonsDegraded { .. }
                | Self::AddonsWarned { .. }
                | Self::AddonsWarningsCleared { .. }
        )
    }

    /// Whether it is of what is told to the outside, which follows the end of a boot and is no part of it.
    pub fn is_notification(&self) -> bool {
        matches!(
            self,
            Self::NotificationSent { .. }
                | Self::NotificationFailed { .. }
                | Self::NotificationSkipped { .. }
        )
    }

    /// Whether a slow reader may miss it.
    pub fn is_progress(&self) -> bool {
        matches!(self, Self::Progress { .. })
    }
}

#[cfg(test)]
mod tests;
