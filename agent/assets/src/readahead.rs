//! Read-ahead of what a boot touches: one boot notes it (`<store>/readahead.json`), later ones warm exactly that.
//!
//! The first read of a block of a volume that was made of a snapshot is fetched from afar, and programs fault their
//! pages in one after another, so a node that starts from such a volume waits for each in turn. PendingRead for in order and many
//! at once, the same blocks come in a fraction of the time. Only what was touched is asked for: most of an archive's bytes
//! are never read.
//!
//! Nothing here may fail a boot, or write to what it looks at.

mod note;
mod warm;

pub use note::{Noted, note};
pub use warm::{ReadingAhead, Warmed};

use super::entries::Entry;
use super::failure::on_blocking_thread;
use super::layout::{Layout, archive_files};
use super::store::AssetStore;
use quake_model::ports::PortError;
use quake_model::spec::AssetKind;
use quake_tree::{Last, locate};
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

/// The note, below the store's directory.
const NOTE: &str = "readahead.json";

/// A file whose presence asks for a note once the node is ready; below the store's directory.
const WANTED: &str = "record";

/// The unit that is noted, which is the kernel's own read-ahead (`/sys/block/*/queue/read_ahead_kb` has 128 by default).
const BLOCK_BYTES: u64 = 128 << 10;

/// How many extents are noted. More would be more requests than a volume answers in a second.
const MAX_EXTENTS: usize = 4_096;

/// What is noted of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Touched {
    /// Its path below the root, relative.
    path: PathBuf,
    /// Its size; another one says that the note is of another file.
    size: u64,
    /// Offset and length of what was touched, in order.
    extents: Vec<(u64, u64)>,
}

impl Touched {
    /// Where it is; `None` for a path that leads out of the root.
    fn below(&self, root: &Path) -> Option<PathBuf> {
        let is_normal = |part: Component<'_>| matches!(part, Component::Normal(_));
        let stays = self.path.components().all(is_normal);
        stays.then(|| locate(root, &self.path, Last::Kept).ok())?
    }
}

impl AssetStore {
    /// Notes which parts of the store's files, and of `more` files such as those placed elsewhere, are in memory:
    /// [`note`]. Archives of images are left out: a later boot has their images and does not read them.
    ///
    /// # Errors
    ///
    /// As [`note`].
    pub async fn note_touched(&self, root: &Path, more: Vec<PathBuf>) -> Result<Noted, PortError> {
        let images = self.list_images().await.unwrap_or_default();
        let is_image = |entry: &Entry| images.iter().any(|image| image.digest == entry.digest);
        let mut files = Vec::new();
        let layout = Layout::new(self.folder().to_owned());
        for entry in self.list().await? {
            match entry.kind {
                AssetKind::Plain if is_image(&entry) => {}
                AssetKind::Plain => files.push(layout.file(&entry.digest)),
                AssetKind::Archive => {
                    let folder = archive_files(&layout.archive(&entry.digest));
                    let members = entry.manifest.files.iter();
                    files.extend(members.map(|member| folder.join(&member.path)));
                }
            }
        }
        files.extend(more);
        let (root, store) = (root.to_owned(), self.folder().to_owned());
        on_blocking_thread(move || note(&root, &store, &files)).await
    }
}

/// Asks for a note at the end of the next boot from this store.
///
/// # Errors
///
/// Returns the error of writing the file that asks.
pub fn want_note(store: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(store)?;
    std::fs::write(store.join(WANTED), "")
}

/// Whether the next boot was asked for a note.
pub fn is_note_wanted(store: &Path) -> bool {
    store.join(WANTED).exists()
}

fn read_note(store: &Path) -> Vec<Touched> {
    let read = std::fs::read(store.join(NOTE)).ok();
    let parsed = read.map(|bytes| serde_json::from_slice(&bytes));
    match parsed {
        Some(Ok(files)) => files,
        Some(Err(error)) => {
            tracing::debug!(%error, "the note of what boots touch is not one");
            Vec::new()
        }
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
