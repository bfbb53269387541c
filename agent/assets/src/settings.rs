//! How the store of assets is opened.

use super::buckets::Buckets;
use super::source::AssetSource;
use quake_http::HttpSettings;
use std::path::PathBuf;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct AssetSettings {
    /// What `/` means: the root itself on a node, a scratch directory in a rehearsal.
    pub root: PathBuf,
    /// The store's directory as it is on this machine. Whoever opens a store below a root finds it there first
    /// ([`quake_tree::locate`]).
    pub store: PathBuf,
    /// How assets that are not in the store are had.
    pub source: AssetSource,
    /// Whether the bytes of what is in the store are read, instead of trusting their stamps.
    pub verify: bool,
    pub http: HttpSettings,
    /// How mirrors that are buckets are read.
    pub buckets: Buckets,
}
