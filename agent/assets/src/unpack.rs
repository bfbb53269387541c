//! Unpacks a gzip-compressed tar archive whose digest is already proven.
//!
//! Proven bytes are not harmless bytes: an archive may be pinned by someone who never looked inside.
//! Only regular files are written, only below the folder, each once, and no more than an honest archive
//! of that size can hold. A symbolic link that stays inside is left out: nothing here needs one, and a
//! link that is never made cannot be followed.

use super::failure::store_failure;
use super::manifest::StoredFile;
use flate2::read::MultiGzDecoder;
use quake_model::ports::{Condition, PortError};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use tar::{Archive, Entry, EntryType};

/// The most an archive may unpack to, whatever its own size.
const MAX_UNPACKED_BYTES: u64 = 4 << 30;

/// How many times its own size an archive may unpack to. Archives of programs reach four; runs of one
/// byte reach a thousand.
const MAX_RATIO: u64 = 200;

/// What even the smallest archive may unpack to.
const ALWAYS_ALLOWED_BYTES: u64 = 64 << 20;

/// The most entries an archive may have.
const MAX_ENTRIES: usize = 100_000;

type Source<'a> = Bounded<MultiGzDecoder<BufReader<&'a File>>>;

/// Unpacks `archive` of `size` bytes into the empty folder `target`; every file is durable afterwards.
/// Returns the files in the order of their paths.
///
/// # Errors
///
/// `Unsafe` when the archive cannot be read or holds what no asset needs, `NoSpace` or `Io` when the
/// target cannot be written.
pub(super) fn unpack(
    archive: &File,
    size: u64,
    target: &Path,
) -> Result<Vec<StoredFile>, PortError> {
    let decoder = MultiGzDecoder::new(BufReader::with_capacity(128 << 10, archive));
    let mut tar = Archive::new(Bounded::new(decoder, allowed_bytes(size)));
    let mut unpacked = Unpacked::default();
    for (count, entry) in tar.entries().map_err(|e| unreadable(&e))?.enumerate() {
        if count >= MAX_ENTRIES {
            return Err(dangerous(&format!("holds more than {MAX_ENTRIES} entries")));
        }
        let mut entry = entry.map_err(|error| unreadable(&error))?;
        unpacked.take(&mut entry, target)?;
    }
    unpacked.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(unpacked.files)
}

fn allowed_bytes(size: u64) -> u64 {
    let by_ratio = size.saturating_mul(MAX_RATIO);
    by_ratio.clamp(ALWAYS_ALLOWED_BYTES, MAX_UNPACKED_BYTES)
}

#[derive(Default)]
struct Unpacked {
    paths: BTreeSet<String>,
    files: Vec<StoredFile>,
}

impl Unpacked {
    fn take(&mut self, entry: &mut Entry<'_, Source<'_>>, target: &Path) -> Result<(), PortError> {
        let raw = entry.path_bytes().into_owned();
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let Some(path) = inner_path(&raw)? else {
            return Ok(());
        };
        match kind {
            // Folders come about with their files; an empty one holds nothing that could be placed. The
            // oldest format marks them by the slash alone.
            EntryType::Directory => Ok(()),
            EntryType::Regular if raw.ends_with(b"/") => Ok(()),
            EntryType::Symlink => check_link(&path, entry),
            EntryType::Regular | EntryType::Continuous => {
                if !self.paths.insert(path.clone()) {
                    return Err(dangerous(&format!("holds {path} twice")));
                }
                self.files.push(write_entry(entry, &path, target)?);
                Ok(())
            }
            kind => Err(dangerous(&format!("holds {path} of the kind {kind:?}"))),
        }
    }
}

/// The entry's path below the archive's folder; `None` for the folder itself.
fn inner_path(raw: &[u8]) -> Result<Option<String>, PortError> {
    let shown = String::from_utf8_lossy(raw);
    let path = std::str::from_utf8(raw)
        .map_err(|_| dangerous(&format!("holds {shown:?}, which is no text")))?;
    if path.starts_with('/') {
        return Err(dangerous(&format!("holds the absolute path {path}")));
    }
    if path.chars().any(char::is_control) {
        return Err(dangerous(&format!(
            "holds {path:?} with a control character"
        )));
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(dangerous(&format!("holds {path}, which leaves its folder"))),
            part => parts.push(part),
        }
    }
    Ok((!parts.is_empty()).then(|| parts.join("/")))
}

/// A link that would leave the archive's folder is an attack, even though no link is ever made.
fn check_link(path: &str, entry: &Entry<'_, Source<'_>>) -> Result<(), PortError> {
    let target = entry.link_name_bytes().unwrap_or_default().into_owned();
    let target = String::from_utf8_lossy(&target).into_owned();
    let leaves = || {
        dangerous(&format!(
            "holds the link {path} to {target}, which leaves its folder"
        ))
    };
    if target.starts_with('/') {
        return Err(leaves());
    }
    let mut depth = path.matches('/').count();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => depth = depth.checked_sub(1).ok_or_else(leaves)?,
            _ => depth += 1,
        }
    }
    Ok(())
}

fn write_entry(
    entry: &mut Entry<'_, Source<'_>>,
    path: &str,
    target: &Path,
) -> Result<StoredFile, PortError> {
    let place = target.join(path);
    make_parents(&place, path)?;
    let executable = entry.header().mode().is_ok_and(|mode| mode & 0o111 != 0);
    let mode = if executable { 0o755 } else { 0o644 };
    let broken = |error: std::io::Error| store_failure(&place, "written", &error);
    let mut options = OpenOptions::new();
    let opened = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&place);
    let mut file = opened.map_err(|error| clashes_or_fails(path, &place, &error))?;
    let mut buffer = vec![0_u8; 128 << 10];
    loop {
        match entry
            .read(&mut buffer)
            .map_err(|error| unreadable(&error))?
        {
            0 => break,
            count => file.write_all(&buffer[..count]).map_err(broken)?,
        }
    }
    file.set_permissions(Permissions::from_mode(mode))
        .map_err(broken)?;
    file.sync_all().map_err(broken)?;
    let metadata = file.metadata().map_err(broken)?;
    Ok(StoredFile::of(path, &metadata))
}

fn make_parents(place: &Path, path: &str) -> Result<(), PortError> {
    let Some(parent) = place.parent() else {
        return Ok(());
    };
    std::fs::create_dir_all(parent).map_err(|error| clashes_or_fails(path, parent, &error))
}

/// A name that is both a file and a folder is the archive's fault; anything else is the disk's.
fn clashes_or_fails(path: &str, place: &Path, error: &std::io::Error) -> PortError {
    use std::io::ErrorKind as Kind;
    match error.kind() {
        Kind::AlreadyExists | Kind::NotADirectory | Kind::IsADirectory => {
            dangerous(&format!("holds {path} both as a file and as a folder"))
        }
        Kind::InvalidFilename => dangerous("holds a name longer than a filesystem takes"),
        _ => store_failure(place, "written", error),
    }
}

fn unreadable(error: &std::io::Error) -> PortError {
    if error.to_string().contains(TOO_MUCH) {
        return dangerous("unpacks to more than an archive of its size can hold");
    }
    dangerous("cannot be read").because(error)
}

fn dangerous(what: &str) -> PortError {
    PortError::new(Condition::Unsafe, format!("the archive {what}"))
}

/// The text by which the bound's error is known again after the tar reader wrapped it.
const TOO_MUCH: &str = "more bytes than the bound";

/// A reader that fails beyond a bound, so that even a header cannot fill the memory.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R> Bounded<R> {
    fn new(inner: R, bound: u64) -> Self {
        Self { inner, left: bound }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => return Err(std::io::Error::other(TOO_MUCH)),
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
