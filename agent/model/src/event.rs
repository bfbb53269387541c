//! The one event stream: the only truth about a boot.

mod kind;

pub use kind::{EventKind, Priority, Scope};

use crate::addon::{AddonState, AddonStatus, ReconcilerRef};
use crate::boot::{BootId, BootState};
use crate::certificates::CertificateDates;
use crate::drift::Drifted;
use crate::expected::Expected;
use crate::facts::InstanceFacts;
use crate::fault::{Code, Fault};
use crate::notification::Notification;
use crate::outcome::Outcome;
use crate::phase::Phase;
use crate::repair::{RepairDecision, Symptom};
use crate::time::Timestamp;
use crate::transfer::Fetched;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An event with its place in the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// Counts from 1 without gaps within a boot.
    pub seq: u64,
    /// When, by the wall clock.
    pub at: Timestamp,
    /// Milliseconds since the boot's first event, by a clock that never steps.
    #[serde(alias = "elapsed_ms")]
    pub elapsed_ms: u64,
    #[serde(flatten)]
    pub event: Event,
}

/// The `MESSAGE_ID` of kinds that nobody searches by.
const OTHER: &str = "f678aa1cfcde41dbabaadcc57b570b5e";

/// Writes the enum and the table of kinds from one list. An entry is
/// `Variant = [name, message id, priority, scope] { fields }`.
macro_rules! events {
    ($($(#[$attribute:meta])* $variant:ident = [$name:tt, $id:expr, $priority:ident, $scope:ident] $fields:tt,)*) => {
        /// Something that happened. Kinds written by a newer agent read as [`Event::Unknown`].
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all_fields = "camelCase", tag = "event")]
        pub enum Event {
            $($(#[$attribute])* #[serde(rename = $name)] $variant $fields,)*
            /// A kind written by a newer agent.
            #[serde(other, rename = "unknown")]
            Unknown,
        }

        impl Event {
            fn table_entry(&self) -> EventKind {
                let (name, message_id, priority, scope) = match self {
                    $(Self::$variant { .. } => ($name, $id, Priority::$priority, Scope::$scope),)*
                    Self::Unknown => ("unknown", OTHER, Priority::Debug, Scope::Boot),
                };
                EventKind { name, message_id, priority, scope }
            }
        }
    };
}

events! {
    /// The first event of a boot.
    BootStarted = ["boot-started", "3ba4d29f873f43a3bb629421a8de0e84", Notice, Boot] {
        boot: BootId,
        version: String,
        /// What was started: `boot`, `rehearse`, …
        command: String,
    },
    /// How long the kernel has run. The timeline places the boot after the events before it.
    KernelKnown = ["kernel-known", OTHER, Debug, Boot] {
        /// The kernel's boot id (`/proc/sys/kernel/random/boot_id`).
        boot: String,
        /// Milliseconds since the kernel started, by its monotonic clock.
        #[serde(alias = "uptime_ms")]
        uptime_ms: u64,
    },
    /// Who this instance is.
    InstanceKnown = ["instance-known", OTHER, Info, Boot] {
        instance: InstanceFacts,
    },
    /// The configuration was read.
    SpecKnown = ["spec-known", OTHER, Info, Boot] {
        cluster: String,
        #[serde(alias = "instance_group")]
        instance_group: String,
        role: String,
        kubernetes: String,
        /// Where the configuration came from.
        source: String,
        /// Digest over the configuration's exact bytes.
        digest: String,
    },
    /// kops-controller accepted the node's proof of identity.
    TokenAccepted = ["token-accepted", OTHER, Info, Boot] {
        server: String,
        /// The token's version: 1 or 2.
        version: u8,
    },
    /// What the node must have once it has booted.
    NodeExpected = ["node-expected", OTHER, Debug, Boot] {
        expected: Box<Expected>,
    },
    /// A phase begins; the phases before it are done.
    PhaseStarted = ["phase-started", "20d1034267c74deba7e96618226d6d39", Info, Boot] {
        phase: Phase,
    },
    /// A phase was planned.
    PhasePlanned = ["phase-planned", OTHER, Debug, Boot] {
        phase: Phase,
        /// How many steps it has.
        steps: usize,
    },
    /// A phase is done.
    PhaseDone = ["phase-done", "34a0e41a783f443f87aa13454237f3b6", Info, Boot] {
        phase: Phase,
        /// How many of its steps changed something.
        changed: usize,
    },
    /// A phase failed.
    PhaseFailed = ["phase-failed", "d462d4ba34854ceb93c864dd3fc20e55", Error, Boot] {
        phase: Phase,
        fault: Fault,
    },
    /// A step begins to act. A step whose result is already there has no start.
    StepStarted = ["step-started", "893e4038f0ed48958124166ef5c3db61", Debug, Boot] {
        phase: Phase,
        step: String,
    },
    /// A step is done.
    StepDone = ["step-done", "16c52cd9ee554af1bbbbc0be2c1376dc", Debug, Boot] {
        phase: Phase,
        step: String,
        outcome: Outcome,
        /// With attempts and waits.
        #[serde(alias = "took_ms")]
        took_ms: u64,
    },
    /// An attempt failed, or a condition is not met yet. There will be another attempt.
    Waiting = ["waiting", "51c11efd39854404a8edcf1f18079e9e", Info, Boot] {
        phase: Phase,
        /// The step's id, or the phase's name while observing.
        step: String,
        /// The attempt that failed, from 1.
        attempt: u32,
        #[serde(alias = "retry_in_ms")]
        retry_in_ms: u64,
        #[serde(alias = "deadline_in_ms")]
        deadline_in_ms: u64,
        fault: Fault,
    },
    /// Bytes arrived. A slow reader may miss this event, and no other.
    Progress = ["progress", OTHER, Debug, Boot] {
        step: String,
        done: u64,
        /// Bytes in all, where known.
        total: Option<u64>,
    },
    /// An asset was downloaded and verified.
    AssetFetched = ["asset-fetched", "1a23efbe0f7c4ded9c7f33279aa31b6b", Info, Boot] (Fetched),
    /// Files that a boot from this store touches were read ahead.
    ReadAhead = ["read-ahead", "b26ca70d31604049b6231989b6049db4", Info, Boot] {
        extents: usize,
        bytes: u64,
        /// Files that are gone or were replaced.
        skipped: usize,
        #[serde(alias = "took_ms")]
        took_ms: u64,
    },
    /// A fault that stops nothing.
    Warning = ["warning", "f53b69fa17a54bcda85cc82d9936c984", Warning, Boot] {
        fault: Fault,
    },
    /// Cloud calls so far, by `service:Operation`.
    CallsCounted = ["calls-counted", OTHER, Debug, Boot] {
        calls: BTreeMap<String, u64>,
        /// How many of them were throttled.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        throttled: BTreeMap<String, u64>,
    },
    /// Terminal: the node is ready. Only events of the ready node, of add-ons and notifications
    /// follow.
    BootReady = ["boot-ready", "d7b18986e3294f71ab8f86f519da8a94", Notice, End] {
        /// How many steps changed something.
        changed: usize,
    },
    /// Terminal: the boot failed. Only notifications follow.
    BootFailed = ["boot-failed", "0e6e6b6b04224d00be6290bb0770c457", Error, End] {
        /// The phase it failed in.
        phase: Phase,
        fault: Fault,
    },
    /// Terminal: the boot was asked to stop. Only notifications follow.
    BootStopped = ["boot-stopped", "bc237f7898be43cf87505d0b593a20b4", Warning, End] {
        fault: Fault,
    },
    /// A condition of the ready node is lost, or its reason changed.
    ConditionLost = ["condition-lost", "86ac7629d07c49be90c81deada55822a", Error, Node] {
        phase: Phase,
        step: String,
        fault: Fault,
    },
    /// A lost condition is met again.
    ConditionRegained = ["condition-regained", "75b498f8cd8d410ea3dc649969972a74", Notice, Node] {
        phase: Phase,
        step: String,
        #[serde(alias = "lost_ms")]
        lost_ms: u64,
    },
    /// Drift changed: the complete list of files and units that differ from what the agent wrote.
    DriftChanged = ["drift-changed", "4edecb56cb4b46f39e346b5eb903ec72", Warning, Node] {
        /// At most [`crate::drift::MOST_NAMED`].
        drifted: Vec<Drifted>,
        /// How many more there are.
        more: usize,
    },
    /// Whether an unhealthy node is replaced was decided anew, where an operator allows repairs.
    RepairDecided = ["repair-decided", "6a0d3c1f9b7e4e52a8f4c2d7e1b09365", Notice, Node] {
        decision: RepairDecision,
        /// What is wrong with it.
        symptoms: BTreeSet<Symptom>,
    },
    /// All certificates of the node with their dates. Emitted once it is ready, and on each
    /// change.
    CertificatesHeld = ["certificates-held", OTHER, Debug, Node] {
        certificates: Vec<CertificateDates>,
    },
    /// Certificates that the node signs itself were renewed.
    CertificatesRenewed = ["certificates-renewed", "0f4b9f0e6d5c4c1e9b7a52d1c3e8a6b4", Notice, Node] {
        names: Vec<String>,
        /// When the first of them expires.
        until: Timestamp,
    },
    /// Certificates are due and could not be renewed. The agent retries, unless kops must renew them.
    CertificatesNotRenewed = ["certificates-not-renewed", "a2d8c47b19e34f60b5c1e7f3d9084a6e", Warning, Node] {
        fault: Fault,
    },
    /// Who applies the cluster's add-ons, as this node sees it, and from which channels.
    #[serde(alias = "addons-kept")]
    AddonsReconciled = ["addons-reconciled", "c8e55858ade6425a9fb7ee2bb53a84b6", Info, Cluster] {
        #[serde(alias = "keeper")]
        reconciler: ReconcilerRef,
        channels: Vec<String>,
    },
    /// The state of an add-on changed.
    AddonChanged = ["addon-changed", "803cda5973d34d94a755514516f1a3d1", Info, Cluster] (AddonStatus),
    /// Add-ons that no channel names any more. Their objects stay, unless another add-on prunes them.
    #[serde(alias = "addons-forgotten")]
    AddonForgotten = ["addon-forgotten", "82496836f53e43219c5ce8eacf4da9a3", Notice, Cluster] {
        names: Vec<String>,
    },
    /// Add-ons cannot be reconciled: a channel or the API server cannot be read. The agent retries.
    #[serde(alias = "addons-not-kept")]
    AddonsDegraded = ["addons-degraded", "347386a4afee49d08de07fa418f411f1", Warning, Cluster] {
        fault: Fault,
    },
    /// A part of a channel is invalid and skipped; the rest is reconciled. Emitted once.
    AddonsWarned = ["addons-warned", "f8070adf689d48dc89d22316d033f280", Warning, Cluster] {
        fault: Fault,
    },
    /// Warnings about channels that no longer apply, or that another node reports now.
    #[serde(alias = "addons-warnings-over")]
    AddonsWarningsCleared = ["addons-warnings-cleared", "b6159a08911846289c63134ba23f8ee7", Info, Cluster] {
        faults: Vec<Fault>,
    },
    /// The Node object has the labels and taints that the node must have.
    #[serde(alias = "node-identified")]
    NodeLabelled = ["node-labelled", "6855dcb4fb904417a746450bfc4a0e0d", Notice, Cluster] {
        node: String,
        /// What was set just now; empty where all of it was there.
        #[serde(alias = "says")]
        changes: Vec<String>,
    },
    /// The Node object lacks labels, or there is none. The agent retries.
    #[serde(alias = "node-not-identified")]
    NodeNotLabelled = ["node-not-labelled", "0489ee81964f4a3db78b37a7052c53b8", Warning, Cluster] {
        fault: Fault,
    },
    /// Conditions of the Node object changed, or its startup taint was removed.
    NodeConditionsReported = ["node-conditions-reported", "1c5f3b0a7d2e4f86a94b60d8e3c7f215", Info, Cluster] {
        changes: Vec<String>,
    },
    /// The Node object's conditions, or its taint, are not as they should be. The agent retries.
    NodeConditionsNotReported = ["node-conditions-not-reported", "7e94d2c86b0f4a31b5d8f1a2c3e60947", Warning, Cluster] {
        fault: Fault,
    },
    /// DNS records of this node were repaired, or can be read again.
    #[serde(alias = "names-kept")]
    DnsPublished = ["dns-published", "c504e0ccb52348cea96e53b8efc5dc03", Notice, Node] {
        zone: String,
        /// The names that were repaired just now; empty where an earlier failure ended.
        names: Vec<String>,
    },
    /// DNS records of this node cannot be read or repaired. The agent retries.
    #[serde(alias = "names-not-kept")]
    DnsNotPublished = ["dns-not-published", "05f30f76156844548295f89de73c6873", Warning, Node] {
        fault: Fault,
    },
    /// A notification of the boot's end was sent.
    #[serde(alias = "told")]
    NotificationSent = ["notification-sent", "db061b7f8ce142a19e2ba9879660e217", Info, Notification] {
        what: Notification,
        /// Where it was written, or who received it.
        to: String,
        #[serde(alias = "took_ms")]
        took_ms: u64,
    },
    /// A notification of the boot's end failed.
    #[serde(alias = "not-told")]
    NotificationFailed = ["notification-failed", "ca13ca37104d434d9770630e13c9b51b", Warning, Notification] {
        what: Notification,
        fault: Fault,
        /// Whether an earlier boot of this instance already failed in the same way.
        known: bool,
    },
    /// A notification that an operator asked for was deliberately not sent.
    #[serde(alias = "withheld")]
    NotificationSkipped = ["notification-skipped", "5d1c0f0f6f2b4a5f9d0e4a3b7c61e2d8", Notice, Notification] {
        what: Notification,
        why: String,
    },
}

impl Event {
    /// Its kind, with the priority of this event.
    pub fn kind(&self) -> EventKind {
        let kind = self.table_entry();
        let priority = match self {
            Self::AddonChanged(addon) => match addon.state {
                AddonState::Failed => Priority::Warning,
                AddonState::Applied if !addon.warnings.is_empty() => Priority::Warning,
                AddonState::Applied => Priority::Notice,
                _ => kind.priority,
            },
            Self::NotificationFailed { known: true, .. } => Priority::Info,
            Self::RepairDecided {
                decision: RepairDecision::Replace,
                ..
            } => Priority::Warning,
            _ => kind.priority,
        };
        EventKind { priority, ..kind }
    }

    /// Whether it may follow while the boot is in `state`.
    pub fn may_follow(&self, state: BootState) -> bool {
        let scope = self.kind().scope;
        match state {
            BootState::Ready => {
                // The host may run out of resources at any time.
                let is_of_host = matches!(self, Self::Warning { fault } if fault.code == Code::BootResourcesExhausted);
                is_of_host || !matches!(scope, Scope::Boot | Scope::End)
            }
            BootState::Failed | BootState::Stopped => scope == Scope::Notification,
            _ => matches!(scope, Scope::Boot | Scope::End | Scope::Cluster),
        }
    }

    /// Whether no event of the boot may follow.
    pub fn is_terminal(&self) -> bool {
        self.kind().scope == Scope::End
    }

    /// Whether a slow reader may miss it.
    pub fn is_progress(&self) -> bool {
        matches!(self, Self::Progress { .. })
    }
}

#[cfg(test)]
mod tests;
