//! The cluster's add-ons, as they are told of: what a channel wants, what the cluster has, and how far each one is.

use crate::fault::Fault;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What tells one version of an add-on from another, as kops tells them apart: by both words, whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonVersion {
    /// The channel's word for which manifest of several this is, such as `k8s-1.16`; empty when it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The add-on's own version, such as `1.2.3`, which channels of kops before 1.20 compare first; empty in newer ones.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// SHA-256 of the manifest as kops wrote it, hex; empty in channels of kops before 1.9.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub manifest_hash: String,
}

/// `k8s-1.16 79f8fd981beb`: the words, and enough of the hash to tell it by.
impl fmt::Display for AddonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = self.manifest_hash.get(..12).unwrap_or(&self.manifest_hash);
        let words = [self.version.as_str(), self.id.as_str(), hash];
        let said: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        match said.as_slice() {
            [] => f.write_str("unversioned"),
            said => f.write_str(&said.join(" ")),
        }
    }
}

/// How far one add-on is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddonState {
    /// The API server does not answer yet.
    WaitingForApi,
    /// It is wanted, and its turn has not come.
    #[default]
    Waiting,
    /// Its objects are being applied.
    Applying,
    /// The cluster has what the channel wants.
    Applied,
    /// Something of it could not be applied; the fault names the object, and it is tried again.
    Failed,
}

impl AddonState {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::WaitingForApi => "waiting-for-api",
            Self::Waiting => "waiting",
            Self::Applying => "applying",
            Self::Applied => "applied",
            Self::Failed => "failed",
        }
    }
}

/// One add-on, so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonStatus {
    /// Its name, such as `coredns.addons.k8s.io`.
    pub name: String,
    /// How far it is.
    pub state: AddonState,
    /// What the channel wants.
    pub wanted: AddonVersion,
    /// What the cluster has; `None` when it has none, or none is known of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<AddonVersion>,
    /// How many objects its manifest has; 0 until it was read.
    #[serde(default)]
    pub objects: usize,
    /// How many of them the last try changed.
    #[serde(default)]
    pub changed: usize,
    /// How many objects the last try removed, for the channel says so.
    #[serde(default)]
    pub pruned: usize,
    /// Tries that failed since it last was as wanted.
    #[serde(default)]
    pub failures: u32,
    /// When it is tried again, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    /// The object that failed, as `Kind/namespace/name`; the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Why it failed, or what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// Who applies the cluster's add-ons, seen from this node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "who")]
pub enum AddonKeeper {
    /// This agent, which holds the lease.
    Me,
    /// The agent of another node, which holds the lease; this one stands by.
    Other {
        /// The holder of the lease.
        holder: String,
    },
    /// A pod of kops's, which this agent only watches.
    Pod {
        /// The pod: `kops-channels` or `protokube`.
        pod: String,
    },
    /// Nobody knows yet: the API server does not answer.
    Unknown,
}

/// Everything known of the add-ons.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonsRecord {
    /// The channels, as they were asked for.
    #[serde(default)]
    pub channels: Vec<String>,
    /// Who applies them; `None` on a node that has nothing to do with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper: Option<AddonKeeper>,
    /// Each of them, by name.
    #[serde(default)]
    pub addons: BTreeMap<String, AddonStatus>,
    /// Why a channel or the API server cannot be read, while it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}
