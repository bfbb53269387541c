//! Repair of a node that stays unhealthy: what is wrong with it, what is seen of its group, and why nothing is done.
//!
//! A repair is one request: that the Auto Scaling group replaces the instance. Most of this file is reasons not to ask.

use crate::event::{Envelope, Event};
use crate::location::Location;
use crate::time::Timestamp;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

words! {
    /// One thing that is wrong with a node, and that another instance would not have.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    Symptom {
        /// The container runtime does not answer, or its unit is down.
        Runtime = "runtime",
        /// kubelet does not answer its health check, or its unit is down.
        Kubelet = "kubelet",
        /// There is no configuration of the pod network, or another's.
        PodNetwork = "pod-network",
        /// A filesystem that must be writable is mounted read-only.
        DiskReadOnly = "disk-read-only",
        /// A filesystem has no space or no inodes left.
        DiskFull = "disk-full",
        /// The kernel counted errors of a filesystem.
        DiskErrors = "disk-errors",
        /// The clock is so far off that requests are about to be refused.
        Clock = "clock",
        /// A certificate of the node has expired and was not renewed.
        Certificate = "certificate",
        /// This node's member of etcd does not answer its health check.
        EtcdMember = "etcd-member",
    }
}

impl Symptom {
    /// How long it must last, seen at every look, before it counts. Guesses: a restart by systemd takes seconds, a rolling
    /// update of the pod network's DaemonSet minutes, and kubelet's eviction frees a full disk within some more.
    pub fn lasts(self) -> Duration {
        let minutes = match self {
            Self::DiskReadOnly => 5,
            Self::Runtime | Self::Kubelet | Self::DiskErrors => 10,
            Self::PodNetwork | Self::EtcdMember => 15,
            Self::DiskFull | Self::Clock | Self::Certificate => 30,
        };
        Duration::from_secs(minutes * 60)
    }
}

words! {
    /// A cause that others have, too: a new instance would meet it again.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    SharedCause {
        /// The API server does not answer.
        ApiServer = "api-server",
        /// Names are not resolved.
        Dns = "dns",
        /// The state store cannot be read or written.
        StateStore = "state-store",
        /// There is a conflict over etcd's volumes, or one of them is the trouble: it follows the member.
        Volume = "volume",
        /// EC2 or Auto Scaling throttles.
        Throttled = "throttled",
        /// EC2 or Auto Scaling refuses, as with a role that lacks a permission.
        Denied = "denied",
        /// EC2 or Auto Scaling does not answer.
        Cloud = "cloud",
        /// The cluster's CA has expired.
        ClusterCa = "cluster-ca",
    }
}

words! {
    /// Why a node that is not healthy is not replaced.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    SkipReason {
        /// No symptom has lasted long enough.
        NotLasting = "not-lasting",
        /// The node has been ready for a few minutes only.
        JustReady = "just-ready",
        /// This agent asked once already.
        AlreadyRequested = "already-requested",
        /// The cause is one that others have, too.
        SharedCause = "shared-cause",
        /// The group's instances cannot be seen.
        GroupUnseen = "group-unseen",
        /// The peers' notes cannot be seen.
        PeersUnseen = "peers-unseen",
        /// The group does not replace now, or would not launch another instance.
        GroupSuspended = "group-suspended",
        /// The instance is not in service: it is leaving, in standby, or marked unhealthy already.
        NotInService = "not-in-service",
        /// The group is so small that its share is less than one instance.
        GroupTooSmall = "group-too-small",
        /// Too many nodes of the group have the same symptom at once.
        SharedSymptom = "shared-symptom",
        /// Too many nodes of the group have any symptom at once.
        ManyUnhealthy = "many-unhealthy",
        /// Most nodes of the group in this zone are unhealthy or gone.
        ZoneUnhealthy = "zone-unhealthy",
        /// Instances were replaced for this symptom before, and it came back.
        Recurring = "recurring",
        /// Without this member, etcd would have no quorum.
        Quorum = "quorum",
        /// The share of the group is used by instances that are away, or by nodes that asked before.
        ShareUsed = "share-used",
        /// The node's request must be readable to its peers for a while before it acts.
        Announcing = "announcing",
    }
}

/// What is decided about a node after a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum RepairDecision {
    /// Nothing is wrong.
    Healthy,
    /// Something is wrong, and nothing is done.
    Skip {
        reason: SkipReason,
        /// Which, where the reason is a shared cause.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<SharedCause>,
    },
    /// The group is asked to replace the instance.
    Replace,
}

impl RepairDecision {
    /// Nothing is done for this reason.
    pub fn skip(reason: SkipReason) -> Self {
        Self::Skip {
            reason,
            cause: None,
        }
    }

    /// Nothing is done, because others have this cause, too.
    pub fn shared(cause: SharedCause) -> Self {
        Self::Skip {
            reason: SkipReason::SharedCause,
            cause: Some(cause),
        }
    }

    /// Whether the node would ask if it were its turn: then its note says so, and it keeps its place among its peers.
    pub fn asks(&self) -> bool {
        match self {
            Self::Replace => true,
            Self::Skip { reason, .. } => {
                matches!(reason, SkipReason::ShareUsed | SkipReason::Announcing)
            }
            Self::Healthy => false,
        }
    }
}

impl fmt::Display for RepairDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Healthy => f.write_str("healthy"),
            Self::Skip {
                reason,
                cause: None,
            } => write!(f, "skip: {reason}"),
            Self::Skip {
                reason,
                cause: Some(cause),
            } => write!(f, "skip: {reason}: {cause}"),
            Self::Replace => f.write_str("replace"),
        }
    }
}

/// A decision in one line: `replace the instance: runtime`, `not replaced (shared-cause: dns): runtime, kubelet`.
pub fn repair_text(decision: &RepairDecision, symptoms: &BTreeSet<Symptom>) -> String {
    let words: Vec<&str> = symptoms.iter().map(|symptom| symptom.name()).collect();
    let words = words.join(", ");
    match decision {
        RepairDecision::Healthy => "nothing is wrong any more".to_owned(),
        RepairDecision::Replace => format!("replace the instance: {words}"),
        RepairDecision::Skip {
            reason,
            cause: None,
        } => format!("not replaced ({reason}): {words}"),
        RepairDecision::Skip {
            reason,
            cause: Some(cause),
        } => {
            format!("not replaced ({reason}: {cause}): {words}")
        }
    }
}

/// The most of a group that may be away at a time because of repairs, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairShare(u8);

/// Why a word is no share.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not a share from 1% to 100%")]
pub struct ParseShareError {
    word: String,
}

impl Default for RepairShare {
    /// A tenth. A guess: what a group is usually sized to lose.
    fn default() -> Self {
        Self(10)
    }
}

impl RepairShare {
    /// How many instances of a group of this size: at least one where there are two.
    pub fn of(self, size: usize) -> usize {
        let least = usize::from(size >= 2);
        (size * usize::from(self.0) / 100).max(least)
    }
}

impl FromStr for RepairShare {
    type Err = ParseShareError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let number = word.strip_suffix('%').unwrap_or(word).parse::<u8>();
        match number {
            Ok(percent @ 1..=100) => Ok(Self(percent)),
            _ => Err(ParseShareError {
                word: word.to_owned(),
            }),
        }
    }
}

impl fmt::Display for RepairShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

/// What an operator allows: nothing, unless this is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepairConfig {
    pub share: RepairShare,
    /// The cluster's directory in a state store, where notes are exchanged; that of the boot reports where none is named.
    pub store: Option<Location>,
}

/// What was decided last of a ready node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RepairRecord {
    pub decision: RepairDecision,
    pub symptoms: BTreeSet<Symptom>,
    /// Since when it is decided so.
    pub since: Timestamp,
}

impl RepairRecord {
    /// Folds one event.
    pub fn fold(known: &mut Option<Self>, envelope: &Envelope) {
        if let Event::RepairDecided { decision, symptoms } = &envelope.event {
            let same = known.as_ref().filter(|known| known.decision == *decision);
            *known = Some(Self {
                decision: decision.clone(),
                symptoms: symptoms.clone(),
                since: same.map_or(envelope.at, |known| known.since),
            });
        }
    }
}

/// Where an instance of a group is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberState {
    InService,
    /// Launching, or warming up.
    Pending,
    /// On its way out, or detached.
    Leaving,
    /// Taken out of service by an operator.
    Standby,
}

/// One instance of an Auto Scaling group, as the group shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupMember {
    pub instance_id: String,
    pub zone: String,
    pub state: MemberState,
    /// Whether the group takes it for healthy.
    pub healthy: bool,
}

/// An Auto Scaling group, as far as a repair depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupView {
    pub name: String,
    /// How many instances it is to have.
    pub desired: usize,
    pub members: Vec<GroupMember>,
    /// The processes that an operator suspended, such as `ReplaceUnhealthy`.
    pub suspended: BTreeSet<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_down_and_is_one_of_two() {
        let ten = RepairShare::default();
        for (size, most) in [
            (0, 0),
            (1, 0),
            (2, 1),
            (9, 1),
            (19, 1),
            (20, 2),
            (1000, 100),
        ] {
            assert_eq!(ten.of(size), most, "{size}");
        }
        let all = "100%".parse::<RepairShare>().expect("a share");
        assert_eq!((all.of(1), all.of(7)), (1, 7));
        assert_eq!(
            "5".parse::<RepairShare>().map(|it| it.to_string()),
            Ok("5%".to_owned())
        );
        for word in ["", "0", "101%", "-1", "ten", "5%%"] {
            assert!(word.parse::<RepairShare>().is_err(), "{word:?}");
        }
    }

    #[test]
    fn a_decision_is_one_object_with_its_reason() {
        let json =
            |decision: &RepairDecision| serde_json::to_string(decision).expect("it serialises");
        let shared = RepairDecision::shared(SharedCause::ApiServer);
        assert_eq!(
            json(&shared),
            r#"{"verdict":"skip","reason":"shared-cause","cause":"api-server"}"#
        );
        assert_eq!(json(&RepairDecision::Replace), r#"{"verdict":"replace"}"#);
        assert_eq!(shared.to_string(), "skip: shared-cause: api-server");
        for reason in SkipReason::ALL {
            let asks = RepairDecision::skip(*reason).asks();
            let waits = [SkipReason::ShareUsed, SkipReason::Announcing].contains(reason);
            assert_eq!(asks, waits, "{reason}");
        }
    }
}
