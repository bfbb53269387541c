//! The names inside the cluster's network that its nodes go by.

use crate::dns::{ZoneKind, ZoneReference};
use serde::Serialize;

/// Where a control plane publishes its names, and which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InternalNames {
    /// The name of the API server, such as `api.internal.<cluster>`; `None` where it leads to a load balancer, which nodes
    /// have no say about.
    pub api: Option<String>,
    pub place: NamesPlace,
}

/// Where names are published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "in")]
pub enum NamesPlace {
    /// In a hosted zone of Route 53.
    Zone {
        zone: ZoneReference,
        /// Who is to resolve them, where the spec says so.
        visible: Option<ZoneKind>,
    },
    /// In the node's own `/etc/hosts`, for want of a name service.
    HostsFile,
}
