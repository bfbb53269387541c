//! The store itself: looks, fetches, keeps, lists and places.

use super::buckets::Buckets;
use super::commit::Committer;
use super::destination::Destination;
use super::entries::{Entries, Entry, EntryState, Key};
use super::failed::{FailedMirror, mismatch, sum_up};
use super::failure::{check_room, on_blocking_thread};
use super::fetch::{Fetch, Shared};
use super::ingest::take_in;
use super::ingest_reader::{IngestReader, Origin};
use super::layout::{Layout, archive_files, archive_manifest};
use super::manifest::Manifest;
use super::place;
use super::sets::{SetName, Sets};
use super::settings::AssetSettings;
use super::source::AssetSource;
use super::staging::{Staging, remove_stale};
use super::transport::Servers;
use super::unpack::Member;
use quake_http::{HttpSettings, shown};
use quake_model::digest::Digest;
use quake_model::facts::Placed;
use quake_model::ports::{Arriving, AssetFetched, Assets, Condition, PortError, ReportBytes};
use quake_model::spec::{AssetKind, AssetSpec};
use quake_model::step::Place;
use quake_tree::{Last, locate};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// How many requests run at once: enough to fill a link of which each connection gets a part, and few enough to be
/// polite to one server. What waits in memory is at most half a mebibyte for each.
const REQUESTS: usize = 6;

/// The content-addressed store of assets; its layout is in this module's documentation.
#[derive(Debug)]
pub struct AssetStore {
    root: PathBuf,
    pub(super) layout: Layout,
    pub(super) entries: Arc<Entries>,
    source: AssetSource,
    verify: bool,
    http: HttpSettings,
    buckets: Buckets,
    servers: OnceCell<Servers>,
    staging: OnceCell<Arc<Staging>>,
    shared: Shared,
}

impl AssetStore {
    /// Opens a store. Nothing is written, except that what an interrupted fetch left is removed, unless
    /// another agent is fetching at the moment.
    pub fn open(settings: AssetSettings) -> Self {
        let mut folder = settings.store;
        let is_stub = settings.source == AssetSource::Stub;
        if is_stub {
            folder.as_mut_os_string().push("-stub");
        }
        let layout = Layout::new(folder);
        remove_stale(&layout);
        Self {
            root: settings.root,
            entries: Arc::new(Entries::new(layout.clone(), is_stub)),
            layout,
            source: settings.source,
            verify: settings.verify && !is_stub,
            http: settings.http,
            buckets: settings.buckets,
            servers: OnceCell::new(),
            staging: OnceCell::new(),
            shared: Shared::new(REQUESTS),
        }
    }

    async fn committer(&self) -> Result<Committer, PortError> {
        let layout = self.layout.clone();
        let opened = self
            .staging
            .get_or_try_init(|| on_blocking_thread(move || Staging::open(&layout)));
        Ok(Committer {
            layout: self.layout.clone(),
            entries: Arc::clone(&self.entries),
            staging: Arc::clone(opened.await?),
        })
    }

    /// Takes the lock under which files are brought into the store, and holds it for as long as the store is open.
    ///
    /// # Errors
    ///
    /// `NotReady` while another process holds it alone; `NoSpace` or `Io`.
    pub async fn hold(&self) -> Result<(), PortError> {
        self.committer().await.map(|_| ())
    }

    async fn servers(&self) -> Result<&Servers, PortError> {
        let made = self.servers.get_or_try_init(|| async {
            Ok(Servers {
                client: self.http.build_client()?,
                buckets: self.buckets.reader.clone(),
            })
        });
        made.await
    }

    /// The files of this machine that stand for a URL; `None` where the network does.
    fn files(&self, url: &str) -> Option<Vec<PathBuf>> {
        let files = self.source.files(url);
        files.or_else(|| self.buckets.files(url))
    }

    /// Takes the bytes of an asset from `reader`, as from a bundle; returns how many there were.
    ///
    /// # Errors
    ///
    /// `DigestMismatch`, `Unsafe`, `NoSpace` or `Io`.
    pub async fn ingest(
        &self,
        asset: &AssetSpec,
        url: &str,
        reader: impl Read + Send + 'static,
    ) -> Result<u64, PortError> {
        let committer = self.committer().await?;
        let (asset, url) = (asset.clone(), shown(url));
        on_blocking_thread(move || {
            let landing = Destination::open(&committer.layout, &committer.staging, &asset)?;
            landing.empty()?;
            let origin = Origin::Machine(Box::new(reader));
            let arrived = take_in(landing, IngestReader::new(origin, asset.digest.algorithm()))?;
            if arrived.tally.digest != asset.digest {
                arrived.content.discard();
                return Err(mismatch(&asset, &arrived.tally));
            }
            let size = arrived.tally.size;
            committer.keep(&asset, &url, arrived)?;
            Ok(size)
        })
        .await
    }

    /// Fetches an asset that this machine has a file of.
    async fn fetch_here(
        &self,
        asset: &AssetSpec,
        report: ReportBytes<'_>,
    ) -> Result<AssetFetched, Vec<FailedMirror>> {
        let mut failed = Vec::new();
        for url in &asset.urls {
            let Some(paths) = self.files(url) else {
                continue;
            };
            let taken = match super::source::open(url, &paths) {
                Ok((file, size)) => match check_room(self.layout.folder(), size) {
                    Ok(()) => self.ingest(asset, url, file).await,
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            };
            match taken {
                Ok(bytes) => {
                    report(Arriving {
                        done: bytes,
                        total: Some(bytes),
                        slow: None,
                    });
                    return Ok(AssetFetched {
                        url: shown(url),
                        bytes,
                        requests: 0,
                        failed_mirrors: failed.iter().map(FailedMirror::line).collect(),
                    });
                }
                Err(error) => failed.push(FailedMirror::new(asset, url, error)),
            }
        }
        Err(failed)
    }

    async fn fetch(
        &self,
        asset: &AssetSpec,
        report: ReportBytes<'_>,
    ) -> Result<AssetFetched, PortError> {
        let failed = match self.fetch_here(asset, report).await {
            Ok(fetched) => return Ok(fetched),
            Err(failed) => failed,
        };
        let is_here = |url: &String| self.files(url).is_some();
        if !failed.is_empty() && asset.urls.iter().all(is_here) {
            return Err(sum_up(asset, &failed));
        }
        let committer = self.committer().await?;
        let servers = self.servers().await?;
        Fetch::new(asset, servers, &self.shared, committer, report)
            .run()
            .await
    }

    /// Marks what was fetched since as being on the disk, once it is: a later boot of this machine then believes it
    /// without reading it.
    ///
    /// # Errors
    ///
    /// `Io` when the filesystem does not take it.
    pub async fn settle(&self) -> Result<(), PortError> {
        let entries = Arc::clone(&self.entries);
        on_blocking_thread(move || entries.settle()).await
    }

    /// Everything that is in the store, by digest.
    ///
    /// # Errors
    ///
    /// `Io` when the store cannot be read.
    pub async fn list(&self) -> Result<Vec<Entry>, PortError> {
        let entries = Arc::clone(&self.entries);
        on_blocking_thread(move || entries.list()).await
    }

    /// Every asset that is in the store, be it broken, by digest.
    ///
    /// # Errors
    ///
    /// `Io` when the store cannot be read.
    pub async fn keys(&self) -> Result<BTreeSet<Key>, PortError> {
        let entries = Arc::clone(&self.entries);
        on_blocking_thread(move || entries.keys()).await
    }

    /// A set; `None` when there is none of that name.
    ///
    /// # Errors
    ///
    /// `Io` when it cannot be read, `Malformed` when it is none.
    pub async fn set(&self, name: SetName) -> Result<Option<BTreeSet<Key>>, PortError> {
        let layout = self.layout.clone();
        on_blocking_thread(move || Sets::new(&layout).read(name)).await
    }

    /// Reads every byte of an asset of the store.
    ///
    /// # Errors
    ///
    /// `Io` when the store cannot be read.
    pub async fn prove(&self, key: &Key) -> Result<EntryState, PortError> {
        let (entries, key) = (Arc::clone(&self.entries), key.clone());
        on_blocking_thread(move || entries.prove(&key)).await
    }

    /// Where the bytes of a plain asset are, if it is there.
    pub fn file(&self, digest: &Digest) -> PathBuf {
        self.layout.file(digest)
    }

    /// The directory of the store.
    pub fn folder(&self) -> &Path {
        self.layout.folder()
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
    async fn record_assets(&self, assets: &[AssetSpec]) -> Result<(), PortError> {
        let layout = self.layout.clone();
        let keys = assets.iter().map(|it| (it.digest.clone(), it.kind));
        let wanted: BTreeSet<Key> = keys.collect();
        on_blocking_thread(move || Sets::new(&layout).record(&wanted)).await
    }

    async fn has_asset(&self, asset: &AssetSpec) -> Result<bool, PortError> {
        let entries = Arc::clone(&self.entries);
        let key = (asset.digest.clone(), asset.kind);
        let verify = self.verify;
        on_blocking_thread(move || {
            let state = if verify {
                entries.prove(&key)?
            } else {
                entries.look(&key)?
            };
            if let EntryState::Broken(path) = &state {
                tracing::warn!(path, "a file of the store is not what it was");
            }
            Ok(state.is_good())
        })
        .await
    }

    async fn fetch_asset(
        &self,
        asset: &AssetSpec,
        report: ReportBytes<'_>,
    ) -> Result<AssetFetched, PortError> {
        match &self.source {
            AssetSource::Fetch | AssetSource::Folder(_) => self.fetch(asset, report).await,
            AssetSource::Stub => {
                let (committer, asset) = (self.committer().await?, asset.clone());
                on_blocking_thread(move || committer.keep_stub(&asset)).await
            }
            AssetSource::Cache => {
                let summary = format!("{} ({}) is not in the store", asset.name, asset.digest);
                Err(PortError::new(Condition::Missing, summary)
                    .remedied_by("fetch it into the store first; this run may not use the network"))
            }
        }
    }

    async fn list_members(&self, asset: &Digest) -> Result<Vec<String>, PortError> {
        let (path, asset) = (archive_manifest(&self.layout.archive(asset)), asset.clone());
        on_blocking_thread(move || {
            let manifest = Manifest::read(&path).ok_or_else(|| no_archive(&asset))?;
            let names: BTreeSet<_> = manifest.files.iter().map(Member::name).collect();
            Ok(names.into_iter().map(str::to_owned).collect())
        })
        .await
    }

    async fn look_placed(&self, place: &Place) -> Result<Placed, PortError> {
        let source = self.stored_path(place)?;
        let (root, place) = (self.root.clone(), place.clone());
        on_blocking_thread(move || {
            let target = locate(&root, &place.path, Last::Kept)?;
            place::look(&source, &target, place.mode)
        })
        .await
    }

    async fn place(&self, place: &Place) -> Result<(), PortError> {
        let source = self.stored_path(place)?;
        let (root, path, mode) = (self.root.clone(), place.path.clone(), place.mode);
        let entries = Arc::clone(&self.entries);
        let kind = match place.member {
            Some(_) => AssetKind::Archive,
            None => AssetKind::Plain,
        };
        let key = (place.asset.clone(), kind);
        on_blocking_thread(move || {
            let target = locate(&root, &path, Last::Kept)?;
            entries.linking(&key, &source, || place::put(&source, &target, mode))
        })
        .await
    }
}

fn no_archive(asset: &Digest) -> PortError {
    let summary = format!("the store holds no unpacked archive {asset}");
    PortError::new(Condition::Missing, summary)
}

#[cfg(test)]
mod tests;
