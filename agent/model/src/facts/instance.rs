//! Instances: this one from its metadata, and any from the EC2 API.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the metadata service says of this instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceFacts {
    /// `i-…`.
    pub instance_id: String,
    /// Such as `m5.large`.
    pub instance_type: String,
    /// The availability zone, such as `us-west-2a`.
    pub zone: String,
    /// The region, such as `us-west-2`.
    pub region: String,
    /// The account's number.
    pub account_id: String,
    /// `ami-…`.
    pub image_id: String,
    /// The primary private IPv4 address; empty on an IPv6-only instance.
    pub private_ip: String,
    /// The private DNS name, which is the node's name unless the spec says otherwise.
    pub local_hostname: String,
    /// The primary interface's hardware address.
    pub mac: String,
    /// The processor, `x86_64` or `arm64`.
    pub architecture: String,
}

/// An instance's state in EC2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceState {
    Pending,
    Running,
    /// On its way to terminated.
    ShuttingDown,
    Terminated,
    /// On its way to stopped.
    Stopping,
    /// Stopped; it keeps its volumes.
    Stopped,
    /// A state this agent does not know.
    Unknown,
}

impl InstanceState {
    /// Whether it is up or coming up.
    pub fn is_alive(self) -> bool {
        matches!(self, Self::Pending | Self::Running)
    }
}

/// An instance as `DescribeInstances` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceView {
    /// `i-…`.
    pub instance_id: String,
    pub state: InstanceState,
    pub launched: Timestamp,
    #[serde(default)]
    pub zone: String,
    /// Its primary private IPv4 address; empty where EC2 shows none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub private_ip: String,
    pub tags: BTreeMap<String, String>,
    /// Device names in use, such as `/dev/xvda`.
    pub device_names: Vec<String>,
}
