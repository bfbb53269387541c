//! What is in the store, and whether it can be believed.

use super::failure::{metadata_of, store_failure};
use super::hasher::digest_of;
use super::layout::{Layout, archive_files, archive_manifest};
use super::manifest::Manifest;
use super::names::Named;
use super::staging::{remove, remove_whole};
use super::stamp::{Inode, Stamp, boot_and_mount};
use quake_model::digest::Digest;
use quake_model::ports::PortError;
use quake_model::spec::AssetKind;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An asset by what it is kept as.
pub type Key = (Digest, AssetKind);

/// One asset of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The digest that it is kept under.
    pub digest: Digest,
    /// Whether it is kept as it came, or unpacked.
    pub kind: AssetKind,
    pub manifest: Manifest,
}

/// What a look at an asset came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryState {
    Trusted,
    /// Its bytes were read, and are right.
    Proven,
    /// It is there and not what it was: which file.
    Broken(String),
    /// It is not there, or not whole.
    Absent,
}

impl EntryState {
    /// Whether it can be used.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Trusted | Self::Proven)
    }
}

/// The assets of a store.
#[derive(Debug)]
pub(crate) struct Entries {
    layout: Layout,
    boot: String,
    /// A store of placeholders, whose bytes prove nothing.
    is_stub: bool,
    /// Assets whose stamps do not say yet that they reached the disk. It also keeps two changes of one stamp apart.
    unsettled: Mutex<BTreeSet<Key>>,
}

impl Entries {
    pub(crate) fn new(layout: Layout, is_stub: bool) -> Self {
        let boot = boot_and_mount(layout.folder());
        Self {
            layout,
            boot,
            is_stub,
            unsettled: Mutex::default(),
        }
    }

    /// Looks at an asset: by its stamp, and by its bytes where the stamp says nothing.
    pub(crate) fn look(&self, key: &Key) -> Result<EntryState, PortError> {
        if self.is_stub {
            return Ok(self.look_at_stub(key));
        }
        let Some(paths) = self.paths(key) else {
            return Ok(EntryState::Absent);
        };
        match Stamp::read(&self.layout.stamp(key)) {
            Some(stamp) if stamp.holds(&paths, &self.boot) => {
                if !stamp.durable {
                    self.lock().insert(key.clone());
                }
                Ok(EntryState::Trusted)
            }
            _ => self.prove(key),
        }
    }

    /// Reads every byte of an asset, and stamps it if they are right.
    pub(crate) fn prove(&self, key: &Key) -> Result<EntryState, PortError> {
        let Some(paths) = self.paths(key) else {
            return Ok(EntryState::Absent);
        };
        let before = Stamp::from_paths(&paths, &self.boot, false);
        let state = match key.1 {
            AssetKind::Plain => self.prove_file(&key.0)?,
            AssetKind::Archive => self.prove_members(&key.0)?,
        };
        // Stamped as it was before it was read: a change while it was read is not blessed.
        if let Some(stamp) = before
            && state.is_good()
        {
            self.stamp(key, &stamp);
        }
        Ok(state)
    }

    fn prove_file(&self, digest: &Digest) -> Result<EntryState, PortError> {
        let path = self.layout.file(digest);
        let Some(file) = open(&path)? else {
            return Ok(EntryState::Absent);
        };
        let found = digest_of(digest.algorithm(), file);
        let found = found.map_err(|error| store_failure(&path, "read", &error))?;
        Ok(if found == *digest {
            EntryState::Proven
        } else {
            EntryState::Broken(path.display().to_string())
        })
    }

    fn prove_members(&self, digest: &Digest) -> Result<EntryState, PortError> {
        let archive = self.layout.archive(digest);
        let Some(manifest) = Manifest::read(&archive_manifest(&archive)) else {
            return Ok(EntryState::Absent);
        };
        if manifest.asset != digest.to_string() {
            return Ok(EntryState::Broken(archive.display().to_string()));
        }
        for member in &manifest.files {
            let path = archive_files(&archive).join(&member.path);
            let Some(file) = open(&path)? else {
                return Ok(EntryState::Broken(path.display().to_string()));
            };
            let mut hasher = blake3::Hasher::new();
            let read = hasher.update_reader(file);
            read.map_err(|error| store_failure(&path, "read", &error))?;
            if hasher.finalize().to_hex().as_str() != member.check {
                return Ok(EntryState::Broken(path.display().to_string()));
            }
        }
        Ok(EntryState::Proven)
    }

    /// A placeholder is believed as long as it is as it was made, at the beginning of time.
    fn look_at_stub(&self, key: &Key) -> EntryState {
        let (Some(manifest), Some(paths)) = (self.manifest(key), self.paths(key)) else {
            return EntryState::Absent;
        };
        let same = manifest.files.iter().zip(&paths).all(|(file, path)| {
            let found = path.symlink_metadata().ok();
            found.is_some_and(|found| {
                let made = found.modified().ok();
                found.len() == file.size && made == Some(std::time::SystemTime::UNIX_EPOCH)
            })
        });
        if same {
            EntryState::Trusted
        } else {
            EntryState::Absent
        }
    }

    /// Notes that an asset was just written and verified.
    pub(crate) fn kept(&self, key: &Key) {
        if self.is_stub {
            return;
        }
        // Another agent may be replacing it at this moment; then the stamp is that agent's to write.
        let stamp = self
            .paths(key)
            .and_then(|paths| Stamp::from_paths(&paths, &self.boot, false));
        if let Some(stamp) = stamp {
            self.stamp(key, &stamp);
        }
    }

    /// Runs `change`, which may change nothing of the file at `path` but how often it is linked, and keeps its asset's
    /// stamp true.
    pub(crate) fn linking<T>(&self, key: &Key, path: &Path, change: impl FnOnce() -> T) -> T {
        if self.is_stub {
            return change();
        }
        let held = self.lock();
        let before = Inode::at(path);
        let changed = change();
        let stamp_path = self.layout.stamp(key);
        if let (Some(before), Some(after)) = (before, Inode::at(path))
            && before != after
            && let Some(mut stamp) = Stamp::read(&stamp_path)
            && stamp.follow(before, after)
        {
            self.write_stamp(&stamp_path, &stamp);
        }
        drop(held);
        changed
    }

    /// Marks what was written since as being on the disk, once it is.
    ///
    /// # Errors
    ///
    /// `Io` when the filesystem does not take it.
    pub(crate) fn settle(&self) -> Result<(), PortError> {
        let waiting: Vec<Key> = self.lock().iter().cloned().collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let folder = self.layout.folder();
        let synced = File::open(folder)
            .and_then(|folder| nix::unistd::syncfs(&folder).map_err(std::io::Error::from));
        synced.map_err(|error| store_failure(folder, "made durable", &error))?;
        let mut unsettled = self.lock();
        for key in waiting {
            let path = self.layout.stamp(&key);
            let paths = self.paths(&key).unwrap_or_default();
            if let Some(mut stamp) = Stamp::read(&path)
                && stamp.holds(&paths, &self.boot)
            {
                stamp.durable = true;
                self.write_stamp(&path, &stamp);
            }
            unsettled.remove(&key);
        }
        Ok(())
    }

    /// Everything that is in the store, by digest.
    pub(crate) fn list(&self) -> Result<Vec<Entry>, PortError> {
        let mut entries = Vec::new();
        for key in self.keys()? {
            if let Some(manifest) = self.manifest(&key) {
                let (digest, kind) = key;
                entries.push(Entry {
                    digest,
                    kind,
                    manifest,
                });
            }
        }
        Ok(entries)
    }

    /// Every asset that is in the store, be it broken, in their order. A manifest or a stamp without its asset is none.
    pub(crate) fn keys(&self) -> Result<BTreeSet<Key>, PortError> {
        Named::read(&self.layout).map(|named| named.keys)
    }

    pub(crate) fn remove(&self, key: &Key) {
        let (digest, kind) = key;
        // The stamp first: without it nothing else of the asset is believed unread.
        remove(&self.layout.stamp(key));
        match kind {
            AssetKind::Plain => {
                remove(&self.layout.file(digest));
                remove(&self.layout.file_manifest(digest));
            }
            AssetKind::Archive => remove_whole(&self.layout, &self.layout.archive(digest)),
        }
        self.lock().remove(key);
    }

    /// The manifest of an asset. A file can lose its own; what it says follows from the file, all but its source.
    pub(crate) fn manifest(&self, (digest, kind): &Key) -> Option<Manifest> {
        match kind {
            AssetKind::Plain => {
                let read = Manifest::read(&self.layout.file_manifest(digest));
                read.or_else(|| Manifest::of_file(digest, &self.layout.file(digest)))
            }
            AssetKind::Archive => Manifest::read(&archive_manifest(&self.layout.archive(digest))),
        }
    }

    /// The files of an asset; `None` when it is not there.
    fn paths(&self, key: &Key) -> Option<Vec<PathBuf>> {
        let (digest, kind) = key;
        match kind {
            AssetKind::Plain => {
                let path = self.layout.file(digest);
                path.is_file().then(|| vec![path])
            }
            AssetKind::Archive => {
                let files = archive_files(&self.layout.archive(digest));
                let manifest = self.manifest(key)?;
                let paths = manifest.files.iter().map(|file| files.join(&file.path));
                Some(paths.collect())
            }
        }
    }

    fn stamp(&self, key: &Key, stamp: &Stamp) {
        let mut unsettled = self.lock();
        self.write_stamp(&self.layout.stamp(key), stamp);
        unsettled.insert(key.clone());
    }

    /// A stamp that cannot be written costs a later boot a read of the bytes, and nothing else.
    fn write_stamp(&self, path: &Path, stamp: &Stamp) {
        let beside = path.with_extension(format!("stamp-{}", std::process::id()));
        let written = File::create(&beside)
            .and_then(|mut file| file.write_all(&stamp.text()))
            .and_then(|()| std::fs::rename(&beside, path));
        if let Err(error) = written {
            tracing::debug!(path = %path.display(), %error, "a stamp could not be written");
            remove(&beside);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        // A panic elsewhere leaves a set of keys, which is true or costs a read of bytes.
        self.unsettled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(path: &Path) -> Result<Option<File>, PortError> {
    if !metadata_of(path)?.is_some_and(|found| found.is_file()) {
        return Ok(None);
    }
    let file = File::open(path);
    file.map(Some)
        .map_err(|error| store_failure(path, "read", &error))
}

#[cfg(test)]
mod tests;
