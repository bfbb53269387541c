//! The store itself: looks, fetches, keeps, lists and places.

use super::failure::{on_blocking_thread, store_failure};
use super::fetch::{FailedMirror, at_mirror, sum_up, take_in};
use super::hasher::digest_of;
use super::keep::{has_archive, has_file, keep_archive, keep_file, write_stub};
use super::layout::{Layout, archive_files, archive_manifest};
use super::manifest::{Manifest, StoredFile};
use super::place;
use super::source::{AssetSource, Bytes, paths_below};
use super::staging::{Staging, remove_stale};
use quake_http::{HttpSettings, shown};
use quake_model::digest::Digest;
use quake_model::facts::Placed;
use quake_model::ports::{AssetFetched, Assets, Condition, PortError, ReportBytes};
use quake_model::spec::{AssetKind, AssetSpec};
use quake_model::step::Place;
use reqwest::{Client, Url};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct AssetSettings {
    /// What `/` means: the root itself on a node, a scratch folder in a rehearsal.
    pub root: PathBuf,
    /// The store's folder below the root, such as `/var/lib/quake-agent/assets`.
    pub store: PathBuf,
    /// How assets that are not in the store are had.
    pub source: AssetSource,
    /// How mirrors are reached.
    pub http: HttpSettings,
}

/// The content-addressed store of assets; its layout is in this module's documentation.
#[derive(Debug)]
pub struct AssetStore {
    root: PathBuf,
    layout: Layout,
    source: AssetSource,
    http: HttpSettings,
    client: OnceCell<Client>,
    staging: OnceCell<Arc<Staging>>,
}

impl AssetStore {
    /// Opens a store. Nothing is written, except that what an interrupted fetch left is removed, unless
    /// another agent is fetching at the moment.
    pub fn open(settings: AssetSettings) -> Self {
        let mut folder = below(&settings.root, &settings.store);
        if settings.source == AssetSource::Stub {
            folder.as_mut_os_string().push("-stub");
        }
        let layout = Layout::new(folder);
        remove_stale(&layout);
        Self {
            root: settings.root,
            layout,
            source: settings.source,
            http: settings.http,
            client: OnceCell::new(),
            staging: OnceCell::new(),
        }
    }

    async fn staging(&self) -> Result<Arc<Staging>, PortError> {
        let layout = self.layout.clone();
        let opened = self
            .staging
            .get_or_try_init(|| on_blocking_thread(move || Staging::open(&layout)));
        opened.await.cloned()
    }

    async fn client(&self) -> Result<&Client, PortError> {
        self.client
            .get_or_try_init(|| async { self.http.build_client() })
            .await
    }

    async fn open_source(&self, url: &str) -> Result<Bytes, PortError> {
        let parsed = Url::parse(url).map_err(|error| {
            let summary = format!("{} is not a url", shown(url));
            PortError::new(Condition::Missing, summary).because(&error)
        })?;
        match (&self.source, parsed.scheme()) {
            (AssetSource::Folder(folder), _) => {
                Bytes::open(url, &paths_below(folder, &parsed)).await
            }
            (_, "file") => Bytes::open(url, &[PathBuf::from(parsed.path())]).await,
            (_, "http" | "https") => Bytes::request(self.client().await?, url).await,
            (_, scheme) => {
                let summary = format!("{}: assets are not fetched over {scheme}", shown(url));
                Err(PortError::new(Condition::Missing, summary))
            }
        }
    }

    async fn try_mirror(
        &self,
        asset: &AssetSpec,
        url: &str,
        report: ReportBytes<'_>,
    ) -> Result<u64, FailedMirror> {
        let source = self.open_source(url).await?;
        let staging = self.staging().await?;
        let folder = self.layout.folder();
        let arrived = take_in(asset, source, Arc::clone(&staging), folder, report).await?;
        let size = arrived.size;
        let (layout, asset, url) = (self.layout.clone(), asset.clone(), shown(url));
        let kept = on_blocking_thread(move || match asset.kind {
            AssetKind::Plain => keep_file(&layout, &staging, &asset, &url, arrived),
            AssetKind::Archive => keep_archive(&layout, &staging, &asset, &url, arrived),
        });
        kept.await?;
        Ok(size)
    }

    async fn fetch_mirrors(
        &self,
        asset: &AssetSpec,
        report: ReportBytes<'_>,
    ) -> Result<AssetFetched, PortError> {
        let mut failed = Vec::new();
        for url in &asset.urls {
            match self.try_mirror(asset, url, report).await {
                Ok(bytes) => {
                    return Ok(AssetFetched {
                        url: shown(url),
                        bytes,
                        failed_mirrors: failed.iter().map(FailedMirror::line).collect(),
                    });
                }
                Err(error) => {
                    let error = at_mirror(asset, url, error);
                    let last = error.is_final();
                    failed.push(error);
                    if last {
                        break;
                    }
                }
            }
        }
        Err(sum_up(asset, failed))
    }

    async fn make_stub(&self, asset: &AssetSpec) -> Result<AssetFetched, PortError> {
        let (layout, staging, asset) = (self.layout.clone(), self.staging().await?, asset.clone());
        on_blocking_thread(move || write_stub(&layout, &staging, &asset)).await
    }

    /// The file of the store that a place wants.
    fn stored_path(&self, place: &Place) -> Result<PathBuf, PortError> {
        let Some(member) = &place.member else {
            return Ok(self.layout.file(&place.asset));
        };
        let archive = self.layout.archive(&place.asset);
        let manifest = Manifest::read(&archive_manifest(&archive));
        let manifest = manifest.ok_or_else(|| no_archive(&place.asset))?;
        let path = manifest.find(member).ok_or_else(|| {
            let summary = format!("the archive {} holds no file {member}", place.asset);
            PortError::new(Condition::Missing, summary).seen("url", &manifest.url)
        })?;
        Ok(archive_files(&archive).join(path))
    }
}

impl Assets for AssetStore {
    async fn has_asset(&self, asset: &AssetSpec) -> Result<bool, PortError> {
        let (layout, asset) = (self.layout.clone(), asset.clone());
        let is_stub = self.source == AssetSource::Stub;
        on_blocking_thread(move || match asset.kind {
            AssetKind::Archive => Ok(has_archive(&layout, &asset.digest)),
            AssetKind::Plain if has_file(&layout, &asset.digest) => Ok(true),
            // A stub's bytes have another digest than the one it stands in for.
            AssetKind::Plain if is_stub => Ok(false),
            AssetKind::Plain => has_same_digest(&layout.file(&asset.digest), &asset.digest),
        })
        .await
    }

    async fn fetch_asset(
        &self,
        asset: &AssetSpec,
        report: ReportBytes<'_>,
    ) -> Result<AssetFetched, PortError> {
        match &self.source {
            AssetSource::Fetch | AssetSource::Folder(_) => self.fetch_mirrors(asset, report).await,
            AssetSource::Stub => self.make_stub(asset).await,
            AssetSource::Cache => {
                let summary = format!("{} ({}) is not in the store", asset.name, asset.digest);
                Err(PortError::new(Condition::Missing, summary).remedied_by(
                    "fetch it into the store first; this run was told not to use the network",
                ))
            }
        }
    }

    async fn list_members(&self, asset: &Digest) -> Result<Vec<String>, PortError> {
        let (path, asset) = (archive_manifest(&self.layout.archive(asset)), asset.clone());
        on_blocking_thread(move || {
            let manifest = Manifest::read(&path).ok_or_else(|| no_archive(&asset))?;
            let names: BTreeSet<_> = manifest.files.iter().map(StoredFile::name).collect();
            Ok(names.into_iter().map(str::to_owned).collect())
        })
        .await
    }

    async fn look_placed(&self, place: &Place) -> Result<Placed, PortError> {
        let source = self.stored_path(place)?;
        let (target, mode) = (below(&self.root, Path::new(&place.path)), place.mode);
        on_blocking_thread(move || place::look(&source, &target, mode)).await
    }

    async fn place(&self, place: &Place) -> Result<(), PortError> {
        let source = self.stored_path(place)?;
        let (target, mode) = (below(&self.root, Path::new(&place.path)), place.mode);
        on_blocking_thread(move || place::put(&source, &target, mode)).await
    }
}

/// An absolute path as it is below `root`.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn no_archive(asset: &Digest) -> PortError {
    let summary = format!("the store holds no unpacked archive {asset}");
    PortError::new(Condition::Missing, summary)
}

/// Reads a file whose manifest does not vouch for it, as after a copy of the whole store.
fn has_same_digest(path: &Path, digest: &Digest) -> Result<bool, PortError> {
    let unreadable = |error: std::io::Error| store_failure(path, "read", &error);
    match File::open(path) {
        Ok(file) if file.metadata().map_err(unreadable)?.is_file() => {
            let found = digest_of(digest.algorithm(), file).map_err(unreadable)?;
            Ok(found == *digest)
        }
        Ok(_) => Ok(false),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unreadable(error)),
    }
}

#[cfg(test)]
mod tests;
