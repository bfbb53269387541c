//! Moves what arrived and was verified to its name in the store. Each asset appears whole or not at all.

use super::arrival::Arrived;
use super::failure::store_failure;
use super::layout::{Layout, archive_files, archive_manifest};
use super::manifest::{Manifest, StoredFile};
use super::staging::{Staged, Staging, sync_folder};
use super::stub::{stub_names, stub_text};
use super::unpack::unpack;
use quake_model::digest::Digest;
use quake_model::ports::{AssetFetched, PortError};
use quake_model::spec::{AssetKind, AssetSpec};
use std::collections::BTreeSet;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The mode of a plain asset in the store: nearly all are programs, which can then be linked into place.
const FILE_MODE: u32 = 0o755;

/// Whether a plain asset is there as its manifest says.
pub(super) fn has_file(layout: &Layout, digest: &Digest) -> bool {
    let manifest = Manifest::read(&layout.file_manifest(digest));
    manifest.is_some_and(|manifest| manifest.holds(&layout.file(digest)))
}

/// Whether an unpacked archive is there as its manifest says.
pub(super) fn has_archive(layout: &Layout, digest: &Digest) -> bool {
    let archive = layout.archive(digest);
    let manifest = Manifest::read(&archive_manifest(&archive));
    manifest.is_some_and(|manifest| manifest.holds(&archive_files(&archive)))
}

/// Keeps a verified file under its digest.
///
/// # Errors
///
/// `NoSpace` or `Io`.
pub(super) fn keep_file(
    layout: &Layout,
    staging: &Arc<Staging>,
    asset: &AssetSpec,
    url: &str,
    arrived: Arrived,
) -> Result<(), PortError> {
    let Arrived { staged, file, .. } = arrived;
    staged.set_mode(FILE_MODE)?;
    let broken = |error: std::io::Error| store_failure(staged.path(), "made durable", &error);
    file.sync_all().map_err(broken)?;
    let stored = StoredFile::of("", &file.metadata().map_err(broken)?);
    let family = make_family(layout, &asset.digest)?;
    // The manifest first: a manifest without its file means nothing, a file without one costs a hash.
    let manifest = write_manifest(staging, asset, url, vec![stored])?;
    manifest.keep(&layout.file_manifest(&asset.digest))?;
    staged.keep(&layout.file(&asset.digest))?;
    sync_folder(&family)
}

/// Unpacks a verified archive and keeps what was in it; the archive itself goes.
///
/// # Errors
///
/// `Unsafe`, `NoSpace` or `Io`.
pub(super) fn keep_archive(
    layout: &Layout,
    staging: &Arc<Staging>,
    asset: &AssetSpec,
    url: &str,
    mut arrived: Arrived,
) -> Result<(), PortError> {
    let folder = staging.make_folder()?;
    let files = archive_files(folder.path());
    let prepared = arrived
        .file
        .rewind()
        .and_then(|()| std::fs::create_dir(&files));
    prepared.map_err(|error| store_failure(&files, "made", &error))?;
    let stored = unpack(&arrived.file, arrived.size, &files)?;
    keep_folder(layout, staging, asset, url, (folder, stored))
}

/// Gives a staged folder its manifest and moves it to its name, replacing a damaged one.
fn keep_folder(
    layout: &Layout,
    staging: &Arc<Staging>,
    asset: &AssetSpec,
    url: &str,
    (folder, stored): (Staged, Vec<StoredFile>),
) -> Result<(), PortError> {
    let listed = stored.clone();
    let manifest = write_manifest(staging, asset, url, stored)?;
    manifest.keep(&archive_manifest(folder.path()))?;
    sync_tree(folder.path(), &listed)?;
    let family = make_family(layout, &asset.digest)?;
    let target = layout.archive(&asset.digest);
    let old = staging.make_folder()?;
    old.swallow(&target)?;
    if let Err(error) = folder.keep(&target) {
        // Another agent that fetched the same asset may have been faster by this much.
        return has_archive(layout, &asset.digest)
            .then_some(())
            .ok_or(error);
    }
    sync_folder(&family)
}

/// Makes the names in a folder of an archive, and in all folders of its files, durable.
fn sync_tree(folder: &Path, stored: &[StoredFile]) -> Result<(), PortError> {
    let files = archive_files(folder);
    let parents = stored
        .iter()
        .filter_map(|file| Path::new(&file.path).parent());
    let all: BTreeSet<_> = parents.flat_map(Path::ancestors).collect();
    for parent in all {
        sync_folder(&files.join(parent))?;
    }
    sync_folder(&files)?;
    sync_folder(folder)
}

fn write_manifest(
    staging: &Arc<Staging>,
    asset: &AssetSpec,
    url: &str,
    files: Vec<StoredFile>,
) -> Result<Staged, PortError> {
    let (staged, mut file) = staging.make_file()?;
    let manifest = Manifest {
        asset: asset.digest.to_string(),
        url: url.to_owned(),
        files,
    };
    let written = manifest.write(&mut file);
    written.map_err(|error| store_failure(staged.path(), "written", &error))?;
    Ok(staged)
}

fn make_family(layout: &Layout, digest: &Digest) -> Result<PathBuf, PortError> {
    let family = layout.family(digest);
    let made = std::fs::create_dir_all(&family);
    made.map_err(|error| store_failure(&family, "made", &error))?;
    Ok(family)
}

/// Keeps a placeholder for an asset.
///
/// # Errors
///
/// `NoSpace` or `Io`.
pub(super) fn write_stub(
    layout: &Layout,
    staging: &Arc<Staging>,
    asset: &AssetSpec,
) -> Result<AssetFetched, PortError> {
    let url = format!("stub:{}", asset.name);
    let folder = staging.make_folder()?;
    let files = archive_files(folder.path());
    let made = std::fs::create_dir(&files);
    made.map_err(|error| store_failure(&files, "made", &error))?;
    let (mut stored, mut bytes) = (Vec::new(), 0);
    for name in stub_names(asset) {
        let text = stub_text(asset, name);
        let (staged, mut file) = staging.make_file()?;
        staged.set_mode(FILE_MODE)?;
        // Two rehearsals leave the same tree, times in manifests included.
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.set_modified(std::time::SystemTime::UNIX_EPOCH))
            .and_then(|()| file.metadata());
        let metadata = written.map_err(|error| store_failure(staged.path(), "written", &error))?;
        bytes += metadata.len();
        stored.push(StoredFile::of(name, &metadata));
        match asset.kind {
            AssetKind::Archive => staged.keep(&files.join(name))?,
            AssetKind::Plain => {
                make_family(layout, &asset.digest)?;
                let manifest = write_manifest(staging, asset, &url, stored.clone())?;
                manifest.keep(&layout.file_manifest(&asset.digest))?;
                staged.keep(&layout.file(&asset.digest))?;
            }
        }
    }
    if asset.kind == AssetKind::Archive {
        keep_folder(layout, staging, asset, &url, (folder, stored))?;
    }
    Ok(AssetFetched {
        url,
        bytes,
        failed_mirrors: Vec::new(),
    })
}
