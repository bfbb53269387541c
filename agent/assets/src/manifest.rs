//! The manifest of an asset: what it is and which files it came to. It is written once, with the asset.

use crate::unpack::Member;
use quake_model::digest::Digest;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What was kept of one asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The digest that was verified, or for a stub the one it stands in for.
    pub asset: String,
    /// Where the bytes came from, without user and query; empty when that is not known any more.
    pub url: String,
    /// How many bytes came.
    pub size: u64,
    /// The files, in order of their paths; one with an empty path for a plain asset.
    pub files: Vec<Member>,
}

impl Manifest {
    /// Reads a manifest; `None` when there is none or it is not one.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// The manifest of the plain asset at `path` whose own is lost; `None` when there is no such file.
    pub(crate) fn of_file(digest: &Digest, path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok().filter(Metadata::is_file)?;
        let member = Member {
            path: String::new(),
            size: found.len(),
            mode: found.mode() & 0o7777,
            check: String::new(),
        };
        Some(Self {
            asset: digest.to_string(),
            url: String::new(),
            size: found.len(),
            files: vec![member],
        })
    }

    /// The path of the file with this base name. Of several, the one in the fewest directories, then the
    /// first in order.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        let named = self.files.iter().filter(|file| file.name() == name);
        let best = named.min_by_key(|file| (file.path.matches('/').count(), file.path.as_str()));
        best.map(|file| file.path.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_manifest_is_lost_is_described_by_what_stands_there() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("kubelet");
        let digest = Digest::from_bytes(quake_model::digest::Algorithm::Sha256, &[7; 32]);
        std::fs::write(&path, "program").expect("ours");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o2751);
        std::fs::set_permissions(&path, mode).expect("ours");
        let manifest = Manifest::of_file(&digest, &path).expect("a file");
        let [file] = manifest.files.as_slice() else {
            panic!("{manifest:?}");
        };
        assert_eq!((manifest.size, file.size, file.mode), (7, 7, 0o2751));
        assert_eq!(manifest.asset, digest.to_string());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("ours");
        for other in [link.as_path(), folder.path(), &folder.path().join("absent")] {
            assert_eq!(Manifest::of_file(&digest, other), None, "{other:?}");
        }
    }

    #[test]
    fn of_several_files_of_one_name_the_one_in_the_fewest_folders_is_found() {
        let manifest = Manifest {
            asset: String::new(),
            url: String::new(),
            size: 0,
            files: ["a/b/ctr", "bin/ctr", "cin/ctr"].map(Member::named).into(),
        };
        assert_eq!(manifest.find("ctr"), Some("bin/ctr"));
        assert_eq!(manifest.find("bin"), None);
    }
}
