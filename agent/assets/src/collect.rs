//! Finds and removes what nothing wants: assets in no set, and what interrupted fetches left.

use super::entries::{Entries, Key};
use super::layout::{Layout, archive_files};
use super::lock::{Lock, LockMode, is_free};
use super::sets::{SetName, Sets};
use super::staging::{remove, stale};
use quake_model::ports::PortError;
use quake_model::spec::AssetKind;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// An asset that a collection looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighed {
    pub key: Key,
    /// How many bytes its files have. Removing it frees none of those that are linked to a place of their own.
    pub bytes: u64,
}

/// Something on its way that nobody is bringing any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub path: PathBuf,
    /// How many bytes it has.
    pub bytes: u64,
}

/// What a collection came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Collection {
    /// Assets in none of the sets.
    pub unwanted: Vec<Weighed>,
    pub leftovers: Vec<Leftover>,
    /// How many assets each set has; a set that is not there is not listed.
    pub sets: BTreeMap<SetName, usize>,
}

/// What is done with what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collect {
    Show,
    /// It is removed. Placed files stay: they are links of their own.
    Remove,
}

/// Collects. While no boot and no seed has said what it wants, every asset is wanted.
///
/// # Errors
///
/// `Io` when the store cannot be read, `Malformed` when a set cannot, `NotReady` while another process changes a set:
/// nothing is removed then.
pub(crate) fn collect(
    layout: &Layout,
    entries: &Entries,
    act: Collect,
) -> Result<Collection, PortError> {
    // A boot notes its set before it looks for an asset, and waits for this lock to do so: what it finds stays.
    let locked = match act {
        Collect::Remove if layout.folder().is_dir() => Some(Sets::new(layout).lock()?),
        _ => None,
    };
    let mut collection = Collection::default();
    let mut wanted = BTreeSet::new();
    for name in SetName::ALL {
        if let Some(set) = Sets::new(layout).read(name)? {
            collection.sets.insert(name, set.len());
            wanted.extend(set);
        }
    }
    collection.leftovers = leftovers(layout);
    if !collection.sets.is_empty() {
        for key in entries
            .keys()?
            .into_iter()
            .filter(|it| !wanted.contains(it))
        {
            let bytes = weigh(&match key.1 {
                AssetKind::Plain => layout.file(&key.0),
                AssetKind::Archive => archive_files(&layout.archive(&key.0)),
            });
            collection.unwanted.push(Weighed { key, bytes });
        }
    }
    if act == Collect::Remove {
        for unwanted in &collection.unwanted {
            entries.remove(&unwanted.key);
        }
        remove_leftovers(layout, &collection.leftovers);
    }
    drop(locked);
    Ok(collection)
}

/// What interrupted fetches left in the store at `folder`; nothing is changed.
pub fn find_leftovers(folder: &Path) -> Vec<Leftover> {
    leftovers(&Layout::new(folder.to_owned()))
}

fn leftovers(layout: &Layout) -> Vec<Leftover> {
    let mut found: Vec<PathBuf> = Vec::new();
    let staged = stale(layout);
    if !staged.is_empty() && is_free(&layout.staging_lock()) {
        found.extend(staged);
    }
    let partial = names_in(&layout.partials());
    found.extend(partial.into_iter().filter(|path| is_free(path)));
    found.sort();
    let weighed = found.into_iter().map(|path| Leftover {
        bytes: weigh(&path),
        path,
    });
    weighed.collect()
}

fn remove_leftovers(layout: &Layout, leftovers: &[Leftover]) {
    if leftovers.is_empty() {
        return;
    }
    // If someone began to stage since the look, which of them is alive is not ours to tell.
    let lock = Lock::take(&layout.staging_lock(), LockMode::Alone).ok();
    let staged = match &lock {
        Some(_) => stale(layout),
        None => Vec::new(),
    };
    for leftover in leftovers {
        if !leftover.path.starts_with(layout.partials()) {
            if staged.contains(&leftover.path) {
                remove(&leftover.path);
            }
        } else if let Ok(file) = File::open(&leftover.path)
            && file.try_lock().is_ok()
        {
            remove(&leftover.path);
        }
    }
}

fn names_in(folder: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
    listed.map(|entry| entry.path()).collect()
}

/// The bytes of a file, or of all files below a directory.
fn weigh(path: &Path) -> u64 {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => names_in(path).iter().map(|path| weigh(path)).sum(),
        Ok(found) => found.size(),
        Err(_) => 0,
    }
}
