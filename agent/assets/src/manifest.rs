//! The manifest of an asset: what was written, so that a later boot knows without reading it all again.
//!
//! A file whose size or time of writing differs from its manifest was changed after it was verified. A
//! placed file is a hard link to the store's, so a tool that writes into it in place changes the store
//! too; this is how it is noticed.

use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What was written for one asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The digest that was verified, or for a stub the one it stands in for.
    pub(super) asset: String,
    /// Where the bytes came from.
    pub(super) url: String,
    /// The files, in order of their paths.
    pub(super) files: Vec<StoredFile>,
}

/// One file as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredFile {
    /// Its path in the archive; empty for a plain asset.
    pub(super) path: String,
    /// Its size in bytes.
    pub(super) size: u64,
    /// When it was written, in nanoseconds since the epoch.
    pub(super) modified_ns: i64,
}

impl StoredFile {
    /// A file as `metadata` shows it.
    pub(super) fn of(path: &str, metadata: &Metadata) -> Self {
        Self {
            path: path.to_owned(),
            size: metadata.len(),
            modified_ns: modified_ns(metadata),
        }
    }

    /// Its base name.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl Manifest {
    /// Reads a manifest; `None` when there is none or it is not one, which both mean unverified.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes the manifest and makes it durable.
    ///
    /// # Errors
    ///
    /// Returns the error of the filesystem.
    pub(super) fn write(&self, file: &mut File) -> std::io::Result<()> {
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()
    }

    /// Whether every file below `base` is as it was written.
    pub(super) fn holds(&self, base: &Path) -> bool {
        self.files.iter().all(|file| {
            let path = if file.path.is_empty() {
                base.to_owned()
            } else {
                base.join(&file.path)
            };
            let metadata = path.symlink_metadata();
            metadata
                .is_ok_and(|found| found.is_file() && *file == StoredFile::of(&file.path, &found))
        })
    }

    /// The path of the file with this base name. Of several, the one in the fewest folders, then the
    /// first in order.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        let named = self.files.iter().filter(|file| file.name() == name);
        let best = named.min_by_key(|file| (file.path.matches('/').count(), file.path.as_str()));
        best.map(|file| file.path.as_str())
    }
}

fn modified_ns(metadata: &Metadata) -> i64 {
    metadata
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(metadata.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_files_of_one_name_the_one_in_the_fewest_folders_is_found() {
        let file = |path: &str| StoredFile {
            path: path.to_owned(),
            size: 0,
            modified_ns: 0,
        };
        let manifest = Manifest {
            asset: String::new(),
            url: String::new(),
            files: vec![file("a/b/ctr"), file("bin/ctr"), file("cin/ctr")],
        };
        assert_eq!(manifest.find("ctr"), Some("bin/ctr"));
        assert_eq!(manifest.find("bin"), None);
    }
}
