//! Where things are in the store.

use quake_model::digest::Digest;
use quake_model::spec::AssetKind;
use std::path::{Path, PathBuf};

/// The directory of the store and the names in it.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    folder: PathBuf,
}

impl Layout {
    /// The layout of the store at `folder`.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The directory of what is on its way.
    pub(super) fn staging(&self) -> PathBuf {
        self.folder.join("staging")
    }

    /// The file whose lock says that someone stages.
    pub(super) fn staging_lock(&self) -> PathBuf {
        self.folder.join("staging.lock")
    }

    /// The directory of all assets pinned with one algorithm.
    pub(super) fn family(&self, digest: &Digest) -> PathBuf {
        self.folder.join(digest.algorithm().name())
    }

    pub(super) fn file(&self, digest: &Digest) -> PathBuf {
        self.family(digest).join(digest.hex())
    }

    pub(super) fn file_manifest(&self, digest: &Digest) -> PathBuf {
        self.family(digest).join(format!("{}.json", digest.hex()))
    }

    pub(super) fn stamp(&self, (digest, kind): &(Digest, AssetKind)) -> PathBuf {
        let ending = match kind {
            AssetKind::Plain => "stamp",
            AssetKind::Archive => "d.stamp",
        };
        let name = format!("{}.{ending}", digest.hex());
        self.family(digest).join(name)
    }

    /// What has come of a plain asset so far.
    pub(super) fn partial(&self, digest: &Digest) -> PathBuf {
        let name = format!("{}-{}", digest.algorithm().name(), digest.hex());
        self.partials().join(name)
    }

    /// The directory of plain assets that came in part.
    pub(super) fn partials(&self) -> PathBuf {
        self.folder.join("partial")
    }

    pub(super) fn sets(&self) -> PathBuf {
        self.folder.join("sets")
    }

    pub(super) fn set(&self, name: &str) -> PathBuf {
        self.sets().join(format!("{name}.json"))
    }

    /// An unpacked archive with its manifest.
    pub(super) fn archive(&self, digest: &Digest) -> PathBuf {
        self.family(digest).join(format!("{}.d", digest.hex()))
    }
}

/// The files of the unpacked archive at `archive`.
pub(super) fn archive_files(archive: &Path) -> PathBuf {
    archive.join("files")
}

/// The manifest of the unpacked archive at `archive`.
pub(super) fn archive_manifest(archive: &Path) -> PathBuf {
    archive.join("manifest.json")
}
