//! The store's list of container images: `<store>/images.json`, which archives are images and what is in each.
//!
//! An archive is read once, when it is added; a boot then knows from the list which digests to ask the runtime
//! for, and reads the archive again only to import it. An archive is listed by a seed, which means that every node of
//! the machine image is to have it, or by a boot whose spec asked for it, which means nothing to a later boot.

mod archive;

use super::failure::{on_blocking_thread, store_failure};
use super::layout::Layout;
use super::lock::{Lock, LockMode};
use super::store::AssetStore;
use super::unpack::compression::{Compression, decoder};
use quake_http::shown;
use quake_model::digest::Digest;
use quake_model::ports::{Condition, PortError};
use quake_model::spec::{ArchivedImage, AssetKind, AssetSpec, ImageSpec};
use quake_model::step::Need;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The list, below the store's directory.
const LIST: &str = "images.json";

/// Whose lock says that someone changes the list.
const LOCK: &str = "images.lock";

/// The changes of this process, one at a time.
static CHANGES: Mutex<()> = Mutex::new(());

/// How much of an archive is read at once.
const BUFFER_BYTES: usize = 128 << 10;

/// One archive of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedImage {
    pub name: String,
    /// The digest of the archive, under which the store has it.
    pub digest: Digest,
    /// How many bytes the archive has.
    pub size: u64,
    /// Where it can be had again, without user and query.
    #[serde(default)]
    pub urls: Vec<String>,
    /// Whether a node is not to boot without it.
    #[serde(default)]
    pub required: bool,
    /// Whether a seed put it there, for every node of the machine image.
    #[serde(default)]
    pub seeded: bool,
    pub images: Vec<ArchivedImage>,
}

impl ListedImage {
    /// The archive as a node's spec would name it.
    pub fn spec(&self) -> ImageSpec {
        ImageSpec {
            name: self.name.clone(),
            archive: AssetSpec {
                name: self.name.clone(),
                digest: self.digest.clone(),
                urls: self.urls.clone(),
                kind: AssetKind::Plain,
            },
            need: if self.required {
                Need::Required
            } else {
                Need::Optional
            },
        }
    }
}

/// Writes an archive's tar, as it is without its compression, to where it is wanted; blocks.
pub type ImageFeed = Box<dyn FnOnce(&mut dyn Write) -> std::io::Result<u64> + Send>;

impl AssetStore {
    /// Lists the archives that are images, by digest. A store without a list has none.
    ///
    /// # Errors
    ///
    /// `Malformed` when the list is not one, `Io` when it cannot be read.
    pub async fn list_images(&self) -> Result<Vec<ListedImage>, PortError> {
        let folder = self.folder().to_owned();
        on_blocking_thread(move || read(&folder)).await
    }

    /// Adds an archive that the store holds to the list, as a seed does; one of the same digest is replaced.
    ///
    /// # Errors
    ///
    /// `Missing` when the store does not hold it, `Malformed` when it is no image's archive, `NoSpace` or `Io`.
    pub async fn seed_image(&self, image: &ImageSpec) -> Result<ListedImage, PortError> {
        let (folder, image) = (self.folder().to_owned(), image.clone());
        on_blocking_thread(move || {
            let listed = ListedImage {
                name: image.name.clone(),
                urls: image.archive.urls.iter().map(|url| shown(url)).collect(),
                required: image.need == Need::Required,
                seeded: true,
                ..describe(&folder, &image.archive.digest)?
            };
            add(&folder, &listed)?;
            Ok(listed)
        })
        .await
    }

    /// Which images an archive of the store holds: by the list, else by reading it, which puts it on the list.
    ///
    /// # Errors
    ///
    /// As [`AssetStore::seed_image`].
    pub async fn look_image(&self, archive: &Digest) -> Result<Vec<ArchivedImage>, PortError> {
        let (folder, archive) = (self.folder().to_owned(), archive.clone());
        on_blocking_thread(move || {
            // A list that cannot be read is reported where it is listed; here the archive itself tells.
            let listed = read(&folder).unwrap_or_default();
            let known = listed.into_iter().find(|image| image.digest == archive);
            // Nothing to look for would be there at once.
            if let Some(known) = known.filter(|image| !image.images.is_empty()) {
                return Ok(known.images);
            }
            let found = describe(&folder, &archive)?;
            if let Err(error) = add(&folder, &found) {
                tracing::debug!(%error, "an image could not be listed; a later boot reads it again");
            }
            Ok(found.images)
        })
        .await
    }

    /// What writes an archive's tar to a runtime that imports it.
    ///
    /// # Errors
    ///
    /// `Missing` when the store does not hold it, `Io`.
    pub async fn feed_image(&self, archive: &Digest) -> Result<ImageFeed, PortError> {
        let path = path_of(self.folder(), archive);
        on_blocking_thread(move || {
            let (file, _) = open(&path)?;
            let feed = move |output: &mut dyn Write| {
                let mut input = BufReader::with_capacity(BUFFER_BYTES, file);
                let compression = Compression::new(input.fill_buf()?);
                std::io::copy(&mut decoder(compression, input)?, output)
            };
            Ok(Box::new(feed) as ImageFeed)
        })
        .await
    }
}

fn path_of(folder: &Path, archive: &Digest) -> PathBuf {
    Layout::new(folder.to_owned()).file(archive)
}

fn open(path: &Path) -> Result<(File, u64), PortError> {
    let opened = File::open(path).and_then(|file| file.metadata().map(|found| (file, found.len())));
    opened.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let summary = format!("the store does not hold {}", path.display());
            PortError::new(Condition::Missing, summary)
        }
        _ => store_failure(path, "read", &error),
    })
}

/// Reads what is in an archive of the store; nothing of it says yet that anyone wants it.
fn describe(folder: &Path, archive: &Digest) -> Result<ListedImage, PortError> {
    let path = path_of(folder, archive);
    let (file, size) = open(&path)?;
    let mut input = BufReader::with_capacity(BUFFER_BYTES, file);
    let head = input.fill_buf().map(Compression::new);
    let images = head
        .and_then(|compression| decoder(compression, input))
        .map_err(archive::ArchiveError::from)
        .and_then(|input: Box<dyn Read + '_>| archive::images(input));
    let images = images.map_err(|error| {
        let summary = format!("{archive} is not the archive of an image");
        PortError::new(Condition::Malformed, summary).because(&error)
    })?;
    let name = images.iter().find_map(|image| image.refs.first());
    Ok(ListedImage {
        name: name.cloned().unwrap_or_else(|| archive.to_string()),
        digest: archive.clone(),
        size,
        urls: Vec::new(),
        required: false,
        seeded: false,
        images,
    })
}

fn read(folder: &Path) -> Result<Vec<ListedImage>, PortError> {
    let path = folder.join(LIST);
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            let summary = format!("{} is not a list of images", path.display());
            PortError::new(Condition::Malformed, summary)
                .because(&error)
                .remedied_by(format!("remove {}; a seed writes it anew", path.display()))
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(store_failure(&path, "read", &error)),
    }
}

/// Adds an archive. A boot that read a seeded one anew does not make it less of one.
fn add(folder: &Path, image: &ListedImage) -> Result<(), PortError> {
    change(folder, |listed| {
        let is_it = |known: &ListedImage| known.digest == image.digest;
        if !image.seeded && listed.iter().any(|known| is_it(known) && known.seeded) {
            return;
        }
        listed.retain(|known| !is_it(known));
        listed.push(image.clone());
    })
}

/// Changes the list: a reader sees the old one or the new one, and of two changes at once none is lost.
fn change(folder: &Path, change: impl FnOnce(&mut Vec<ListedImage>)) -> Result<(), PortError> {
    let failed = |path: &Path, error: &std::io::Error| store_failure(path, "written", error);
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    // Two changes of this process wait for each other; one of another process is tried again.
    let _turn = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
    let _lock = Lock::take(&folder.join(LOCK), LockMode::Alone)?;
    let mut listed = read(folder)?;
    let before = listed.clone();
    change(&mut listed);
    listed.sort_by(|a, b| a.digest.cmp(&b.digest));
    if listed == before {
        return Ok(());
    }
    let path = folder.join(LIST);
    let beside = folder.join(format!("{LIST}.new"));
    let written = text(&listed)
        .and_then(|text| std::fs::write(&beside, text))
        .and_then(|()| File::open(&beside)?.sync_all())
        .and_then(|()| std::fs::rename(&beside, &path));
    written.map_err(|error| failed(&path, &error))
}

fn text(listed: &[ListedImage]) -> std::io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(listed)?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests;
