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
    /// Which of the mirrors, from 1, a URL that is shown without user information and query belongs to.
    pub fn mirror_of(&self, shown: &str) -> Option<usize> {
        let at = self.urls.iter().position(|url| bare(url) == bare(shown))?;
        Some(at + 1)
    }

    /// Whether this is the archive of CNI plugins, by the directory its URL names in every Kubernetes
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

/// A URL's scheme, host and path.
fn bare(url: &str) -> (&str, &str) {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split('/').next().unwrap_or_default();
    (scheme, host.rfind('@').map_or(rest, |at| &rest[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Algorithm;

    #[test]
    fn a_mirror_is_known_by_what_may_be_shown_of_its_url() {
        let asset = AssetSpec {
            name: "kubelet".into(),
            digest: Digest::from_bytes(Algorithm::Sha256, &[0; 32]),
            urls: vec![
                "https://one.example.com/v1/kubelet".into(),
                "https://user:word@two.example.com/v1/kubelet?X-Amz-Signature=abc".into(),
            ],
            kind: AssetKind::Plain,
        };
        assert_eq!(
            asset.mirror_of("https://one.example.com/v1/kubelet"),
            Some(1)
        );
        assert_eq!(
            asset.mirror_of("https://two.example.com/v1/kubelet"),
            Some(2)
        );
        assert_eq!(asset.mirror_of("https://two.example.com/v2/kubelet"), None);
    }
}
