//! Everything that was seen of a node at one moment, for judging it: files of its tree, and what is no file.
//!
//! A survey is taken of the running machine, or read back from a tree that was captured earlier: files are in the tree
//! as they were, all else in one JSON document beside them. A judgement cannot tell the two apart.

mod cluster;
mod environment;
mod etcd;
mod machine;
mod seen;
mod source;

pub use cluster::{
    NodeCondition, NodeObject, PodEnd, PodFound, PodSeen, PodsSeen, ProbeSeen, RuntimeSeen,
    TaintSeen,
};
pub use environment::{
    MetadataSeen, NameSeen, PermissionSeen, Permitted, ReachSeen, Reached, TlsSeen,
    USER_DATA_LIMIT_BYTES, UserDataSeen,
};
pub use etcd::{MemberSeen, MemberStatus, Membership};
pub use machine::{ClockFacts, DeviceSeen, Listener, SpaceFacts};
pub use seen::{LookError, Seen, Unseen};
pub use source::Source;

use super::{BucketFacts, EntryKind, InstanceView, NetworkFacts, Owner, UnitFacts, VolumeFacts};
use crate::record::Record;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The form of the JSON document of a survey.
pub const SURVEY_SCHEMA: &str = "quake-agent/survey/v1";

/// Where the JSON document of a survey is in a captured tree.
pub const SURVEY_FILE: &str = "quake-agent-survey.json";

/// A file or files that a survey looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedFile {
    /// An absolute path; `*` stands for any part of a name, in any of its components.
    pub path: &'static str,
    pub part: WantedPart,
}

/// What a survey wants of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedPart {
    /// Its text, up to this many bytes.
    Text(u64),
    /// That it is there, its mode and its owner. Keys are looked at in no other way.
    Entry,
}

/// What stands at a path, without what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryFacts {
    pub kind: EntryKind,
    /// The permission bits, such as `0o644`.
    pub mode: u32,
    pub owner: Owner,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: Timestamp,
    /// Where it leads, if it is a symbolic link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// What was seen of a node. Fields of the JSON document that are absent read as not looked at.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Survey {
    /// [`SURVEY_SCHEMA`].
    pub schema_version: String,
    /// When it was taken, by the node's clock.
    pub taken: Timestamp,
    pub agent_version: String,
    /// SHA-256 of that agent's binary, hexadecimal.
    pub agent_digest: Seen<String>,
    /// Whether it was taken by root, who may see everything.
    pub by_root: bool,
    /// The texts that were read, by path. They are files of the tree and not of the document.
    #[serde(skip)]
    pub texts: BTreeMap<String, Seen<String>>,
    /// What stands at the paths that were looked at; what is not here was not there. A document may name entries that
    /// its tree does not hold, such as keys, and gives others the modes and owners they had.
    pub entries: BTreeMap<String, EntryFacts>,
    /// Why paths could not be looked at, by path.
    pub unreadable: BTreeMap<String, String>,
    /// The latest boot, from the agent's ledger and status file in the tree.
    #[serde(skip)]
    pub record: Option<Record>,
    pub spaces: Seen<Vec<SpaceFacts>>,
    pub units: Seen<Vec<UnitFacts>>,
    /// The last journal lines of units, oldest first.
    pub journals: Seen<BTreeMap<String, Vec<String>>>,
    /// Warnings and errors of the kernel's log, oldest first.
    pub kernel_log: Seen<Vec<String>>,
    /// The last lines of log files, oldest first, by path.
    pub logs: Seen<BTreeMap<String, Vec<String>>>,
    pub network: Seen<NetworkFacts>,
    /// What programs of the host print of its network, by their command line.
    pub programs: Seen<BTreeMap<String, Vec<String>>>,
    /// Who listens on which port.
    pub listeners: Seen<Vec<Listener>>,
    /// Block devices and what is on them.
    pub devices: Seen<Vec<DeviceSeen>>,
    pub clock: Seen<ClockFacts>,
    /// What the metadata service said.
    pub metadata: Seen<MetadataSeen>,
    pub names: Seen<Vec<NameSeen>>,
    /// Hosts that were connected to.
    pub reach: Seen<Vec<ReachSeen>>,
    /// What the node's role may do.
    pub permissions: Seen<Vec<PermissionSeen>>,
    /// The bucket of the state store as S3 shows it.
    pub bucket: Seen<BucketFacts>,
    /// etcd's volumes as EC2 shows them.
    pub volumes: Seen<Vec<VolumeFacts>>,
    /// Instances as EC2 shows them: this one, and those that hold etcd's volumes.
    pub instances: Seen<Vec<InstanceView>>,
    /// Digests of placed binaries by path, such as `sha256:…`, each of the algorithm that its asset is pinned with.
    pub digests: Seen<BTreeMap<String, String>>,
    /// The instant of the newest backup of etcd, by the place of the backups; `None` where there is none.
    pub backups: Seen<BTreeMap<String, Option<Timestamp>>>,
    /// Components that were asked for their health.
    pub probes: Seen<Vec<ProbeSeen>>,
    /// Members of etcd that were asked with the node's own certificate.
    pub etcd: Seen<Vec<MemberSeen>>,
    pub runtime: Seen<RuntimeSeen>,
    /// The node as the API server shows it; `None` when it does not know it.
    pub node: Seen<Option<NodeObject>>,
}
