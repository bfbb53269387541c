//! What a node that runs can say of its own disks and its clock.

use super::{ClockFacts, SpaceFacts};
use serde::{Deserialize, Serialize};

/// One look at the host, for the repair of nodes that stay unhealthy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostHealth {
    /// The filesystems that hold the system, kubelet's and the runtime's data, each once.
    pub filesystems: Vec<FilesystemHealth>,
    /// The clock; `None` where nothing here knows how far it is off.
    pub clock: Option<ClockFacts>,
}

/// One filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesystemHealth {
    pub space: SpaceFacts,
    /// How many errors the kernel has counted since the filesystem was last checked; `None` where it counts none.
    pub errors: Option<u64>,
}
