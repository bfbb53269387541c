//! What the node sees around it: metadata, names, hosts, permissions.

use crate::facts::InstanceFacts;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What the metadata service said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MetadataSeen {
    pub instance: InstanceFacts,
    /// The name of its role; `None` when it has none.
    #[serde(default)]
    pub role: Option<String>,
    /// When the role's credentials end.
    #[serde(default)]
    pub credentials_end: Option<Timestamp>,
    /// Why the role has no credentials, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_problem: Option<String>,
    /// How long one read took, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
    /// The user data, as far as it may be shown; `None` when there is none.
    #[serde(default)]
    pub user_data: Option<UserDataSeen>,
    /// The state in its autoscaling group, such as `InService` or `Warmed:Running`; `None` outside of one.
    #[serde(default)]
    pub lifecycle: Option<String>,
    /// The notice that EC2 takes a spot instance back, such as `terminate at 2026-11-22T03:00:00Z`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interruption: Option<String>,
    /// When EC2 began to recommend another instance in the place of this spot instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebalance: Option<String>,
}

/// The most bytes of user data that EC2 takes, before base64 (EC2 API reference, `RunInstances`, `UserData`).
pub const USER_DATA_LIMIT_BYTES: usize = 16_384;

/// The shape of user data, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserDataSeen {
    /// Its size in bytes, as the metadata service gives it.
    pub bytes: u64,
    /// What is wrong with it, one line each; empty when nothing is.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// A name and what it resolved to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NameSeen {
    pub name: String,
    /// What it is needed for, such as `api-server` or `state-store`.
    pub purpose: String,
    /// The server that was asked; empty for the system's own way (`/etc/hosts` first).
    #[serde(default)]
    pub server: String,
    #[serde(default)]
    pub addresses: Vec<String>,
    #[serde(default)]
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
}

/// A host that was connected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReachSeen {
    /// What it is needed for: `api-server`, `state-store`, `mirror` or `registry`.
    pub purpose: String,
    /// The host's name or address.
    pub host: String,
    pub port: u16,
    pub result: Reached,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
}

/// What came of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Reached {
    Connected {
        /// What its certificate says, where TLS is spoken.
        #[serde(default)]
        tls: Option<TlsSeen>,
    },
    /// It was refused: something answers there, and nothing listens.
    Refused,
    TimedOut,
    /// There is no way there.
    Unreachable {
        why: String,
    },
    /// The name has no address.
    NoAddress,
}

/// The certificate of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TlsSeen {
    /// Why it is not trusted, in one line; `None` when it is.
    #[serde(default)]
    pub distrusted: Option<String>,
    #[serde(default)]
    pub not_after: Option<Timestamp>,
    #[serde(default)]
    pub names: Vec<String>,
}

/// An action of IAM that the node's role needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionSeen {
    /// Such as `ec2:DescribeVolumes`.
    pub action: String,
    /// What it was tried on: an ARN, or `*`.
    pub resource: String,
    pub permitted: Permitted,
    /// The statement that would allow it, as JSON.
    #[serde(default)]
    pub statement: Option<String>,
}

/// Whether an action is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Permitted {
    Yes,
    No {
        message: String,
    },
    /// That could not be found out.
    Unknown {
        why: String,
    },
}
