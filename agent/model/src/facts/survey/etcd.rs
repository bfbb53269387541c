//! Members of etcd as they answer.

use crate::facts::ProbeFacts;
use serde::{Deserialize, Serialize};

/// A member of etcd that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberSeen {
    /// The etcd cluster, such as `main`.
    pub cluster: String,
    pub url: String,
    /// Whether it is the member of this node.
    pub own: bool,
    /// What it answered to the health check.
    pub health: ProbeFacts,
    /// How it stands; `None` where it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<MemberStatus>,
    /// The alarms of the cluster, each as etcd writes it: `NOSPACE`, `CORRUPT`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<String>,
    /// The members of the cluster as this one knows them; `None` where it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<Membership>>,
}

/// How a member stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MemberStatus {
    pub version: String,
    /// The size of its database in bytes.
    pub database_bytes: u64,
    /// Its quota in bytes; `None` where this version does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_bytes: Option<u64>,
    pub has_leader: bool,
    /// Whether it only learns, and has no vote.
    pub is_learner: bool,
}

/// A member in the list of its cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Membership {
    /// Its name, such as `etcd-a`; empty until it has started.
    pub name: String,
    /// Where its peers reach it.
    pub peer_urls: Vec<String>,
    /// Whether it only learns, and has no vote.
    pub is_learner: bool,
}
