//! What an operator asks for: which backup, and what they allow beyond the usual.

use quake_model::time::Timestamp;

/// What is to be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The newest backup of the store that is complete.
    Newest,
    /// The backup of this name.
    Named(String),
    /// A snapshot file, and when it was last written.
    File { path: String, taken: Timestamp },
}

/// What an operator allowed beyond the usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Consent {
    /// Replace a cluster that works.
    pub replaces_healthy_quorum: bool,
    /// The pods of etcd-manager have `etcdutl`, whatever their manifest says.
    pub etcdutl_in_place: bool,
}
