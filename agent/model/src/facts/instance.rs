//! Instances: this one from its metadata, and any from the EC2 API.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the metadata service says of this instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceFacts {
    /// `i-…`.
    #[serde(alias = "instance_id")]
    pub instance_id: String,
    /// Such as `m5.large`.
    #[serde(alias = "instance_type")]
    pub instance_type: String,
    /// The availability zone, such as `us-west-2a`.
    pub zone: String,
    /// The region, such as `us-west-2`.
    pub region: String,
    #[serde(alias = "account_id")]
    pub account_id: String,
    /// `ami-…`.
    #[serde(alias = "image_id")]
    pub image_id: String,
    /// The primary private IPv4 address; empty on an IPv6-only instance.
    #[serde(alias = "private_ip")]
    pub private_ip: String,
    /// The private DNS name, which is the node's name unless the spec says otherwise.
    #[serde(alias = "local_hostname")]
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
#[serde(rename_all = "camelCase")]
pub struct InstanceView {
    /// `i-…`.
    #[serde(alias = "instance_id")]
    pub instance_id: String,
    pub state: InstanceState,
    pub launched: Timestamp,
    #[serde(default)]
    pub zone: String,
    /// Its primary private IPv4 address; empty where EC2 shows none.
    #[serde(
        alias = "private_ip",
        default,
        skip_serializing_if = "String::is_empty"
    )]
    pub private_ip: String,
    pub tags: BTreeMap<String, String>,
    /// Device names in use, such as `/dev/xvda`.
    #[serde(alias = "device_names")]
    pub device_names: Vec<String>,
}
