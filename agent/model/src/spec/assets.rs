//! Pinned files.

use crate::digest::Digest;
use serde::{Deserialize, Serialize};

/// How the bytes of an asset are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssetKind {
    /// One file, used as it is.
    Plain,
    /// A tar archive, of which the files are used; how it is compressed, its first bytes tell.
    Archive,
}

impl AssetKind {
    /// The kind of a file of this name.
    pub fn of_name(name: &str) -> Self {
        const ARCHIVES: [&str; 8] = [
            ".tar",
            ".tar.gz",
            ".tgz",
            ".tar.xz",
            ".txz",
            ".tar.zst",
            ".tzst",
            ".tar.zstd",
        ];
        match ARCHIVES.iter().any(|ending| name.ends_with(ending)) {
            true => Self::Archive,
            false => Self::Plain,
        }
    }
}

/// One pinned file and where it may be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AssetSpec {
    /// The last path segment of the first URL, such as `kubelet`.
    pub name: String,
    /// The digest its bytes must have.
    pub digest: Digest,
    /// Where to fetch it, in order of preference; at least one.
    pub urls: Vec<String>,
    /// How it is packed, from its name.
    pub kind: AssetKind,
}

impl AssetSpec {
    /// Whether this is the archive of CNI plugins, by the folder its URL names in every Kubernetes
    /// release (`network-plugins/`, later `containernetworking/plugins/`).
    pub fn is_cni_plugins(&self) -> bool {
        self.kind == AssetKind::Archive
            && self.urls.iter().any(|url| {
                url.contains("/network-plugins/")
                    || url.contains("containernetworking/plugins/")
                    || self.name.starts_with("cni-")
            })
    }
}
