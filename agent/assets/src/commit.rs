//! Moves what was verified to its name in the store. Each asset appears whole or not at all.

use super::destination::Content;
use super::entries::Entries;
use super::failure::store_failure;
use super::ingest::Arrived;
use super::layout::{Layout, archive_files, archive_manifest};
use super::manifest::Manifest;
use super::staging::{Staged, Staging};
use super::stub::{stub_names, stub_text};
use super::unpack::{Member, unseal};
use quake_model::digest::Digest;
use quake_model::ports::{AssetFetched, PortError};
use quake_model::spec::{AssetKind, AssetSpec};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The mode of a plain asset in the store: nearly all are programs, which can then be linked into place.
const FILE_MODE: u32 = 0o755;

/// Where things are kept.
#[derive(Debug, Clone)]
pub(super) struct Committer {
    pub(super) layout: Layout,
    pub(super) entries: Arc<Entries>,
    pub(super) staging: Arc<Staging>,
}

impl Committer {
    /// Keeps what arrived and was verified, under its digest.
    ///
    /// # Errors
    ///
    /// `Unsafe` for an archive that could not be unpacked although its digest is right; `NoSpace` or `Io`.
    pub(super) fn keep(
        &self,
        asset: &AssetSpec,
        url: &str,
        arrived: Arrived,
    ) -> Result<(), PortError> {
        let size = arrived.tally.size;
        match arrived.content {
            Content::File(landed) => {
                landed.set_mode(FILE_MODE)?;
                self.make_family(&asset.digest)?;
                let member = Member {
                    path: String::new(),
                    size,
                    mode: FILE_MODE,
                    check: String::new(),
                };
                // The manifest first: an agent that is killed between the two leaves no file without one.
                let manifest = self.write_manifest(asset, url, size, vec![member])?;
                manifest.keep(&self.layout.file_manifest(&asset.digest))?;
                landed.keep(&self.layout.file(&asset.digest))?;
            }
            Content::Folder(folder, unpacked) => {
                let members = unpacked?;
                unseal(&archive_files(folder.path()), &members)?;
                folder.set_mode(0o755)?;
                self.keep_folder(asset, (url, size), (folder, members))?;
            }
        }
        self.entries.kept(&(asset.digest.clone(), asset.kind));
        Ok(())
    }

    /// Gives a staged directory its manifest and moves it to its name, replacing a damaged one.
    fn keep_folder(
        &self,
        asset: &AssetSpec,
        (url, size): (&str, u64),
        (folder, members): (Staged, Vec<Member>),
    ) -> Result<(), PortError> {
        let manifest = self.write_manifest(asset, url, size, members)?;
        manifest.keep(&archive_manifest(folder.path()))?;
        self.make_family(&asset.digest)?;
        let target = self.layout.archive(&asset.digest);
        let old = self.staging.make_folder()?;
        old.swallow(&target)?;
        keep_unless_kept(folder, &target)
    }

    fn write_manifest(
        &self,
        asset: &AssetSpec,
        url: &str,
        size: u64,
        files: Vec<Member>,
    ) -> Result<Staged, PortError> {
        let (staged, mut file) = self.staging.make_file()?;
        let manifest = Manifest {
            asset: asset.digest.to_string(),
            url: url.to_owned(),
            size,
            files,
        };
        let written = serde_json::to_vec(&manifest)
            .map_err(std::io::Error::from)
            .and_then(|text| file.write_all(&text));
        written.map_err(|error| store_failure(staged.path(), "written", &error))?;
        Ok(staged)
    }

    fn make_family(&self, digest: &Digest) -> Result<PathBuf, PortError> {
        let family = self.layout.family(digest);
        let made = std::fs::create_dir_all(&family);
        made.map_err(|error| store_failure(&family, "made", &error))?;
        Ok(family)
    }

    pub(super) fn keep_stub(&self, asset: &AssetSpec) -> Result<AssetFetched, PortError> {
        let url = format!("stub:{}", asset.name);
        let folder = self.staging.make_folder()?;
        let files = archive_files(folder.path());
        let made = std::fs::create_dir(&files);
        made.map_err(|error| store_failure(&files, "made", &error))?;
        let (mut members, mut bytes) = (Vec::new(), 0);
        for name in stub_names(asset) {
            let text = stub_text(asset, name);
            let (staged, file) = self.staging.make_file()?;
            write_ageless(&staged, file, &text)?;
            staged.set_mode(FILE_MODE)?;
            bytes += text.len() as u64;
            members.push(Member {
                path: (*name).to_owned(),
                size: text.len() as u64,
                mode: FILE_MODE,
                check: String::new(),
            });
            match asset.kind {
                AssetKind::Archive => staged.keep(&files.join(name))?,
                AssetKind::Plain => {
                    self.make_family(&asset.digest)?;
                    let manifest = self.write_manifest(asset, &url, bytes, members.clone())?;
                    manifest.keep(&self.layout.file_manifest(&asset.digest))?;
                    staged.keep(&self.layout.file(&asset.digest))?;
                }
            }
        }
        if asset.kind == AssetKind::Archive {
            self.keep_folder(asset, (&url, bytes), (folder, members))?;
        }
        Ok(AssetFetched {
            url,
            bytes,
            requests: 0,
            failed_mirrors: Vec::new(),
        })
    }
}

/// Moves an unpacked archive to its name, where nothing stood a moment ago: another agent that fetched the same asset
/// may have been faster by this much.
fn keep_unless_kept(folder: Staged, target: &Path) -> Result<(), PortError> {
    match folder.keep(target) {
        Err(_) if archive_manifest(target).is_file() => Ok(()),
        kept => kept,
    }
}

/// Two rehearsals leave the same tree, times included.
fn write_ageless(staged: &Staged, mut file: File, text: &str) -> Result<(), PortError> {
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.set_modified(std::time::SystemTime::UNIX_EPOCH));
    written.map_err(|error| store_failure(staged.path(), "written", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_another_agent_kept_a_moment_ago_stays_and_anything_else_is_an_error() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let staging = Staging::open(&Layout::new(scratch.path().join("store"))).expect("ours");
        let target = scratch.path().join("archive");
        let keep = |text: &str| {
            let folder = staging.make_folder().expect("ours");
            std::fs::write(archive_manifest(folder.path()), text).expect("ours");
            keep_unless_kept(folder, &target)
        };
        std::fs::create_dir_all(archive_files(&target)).expect("ours");
        let error = keep("mine").expect_err("a directory without a manifest is no archive");
        assert_eq!(error.condition, quake_model::ports::Condition::Io);
        std::fs::remove_dir_all(&target).expect("ours");
        assert_eq!(keep("the first"), Ok(()));
        assert_eq!(keep("the second"), Ok(()));
        let kept = std::fs::read_to_string(archive_manifest(&target));
        assert_eq!(kept.expect("it is there"), "the first");
    }
}
