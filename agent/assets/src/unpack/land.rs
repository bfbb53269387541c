//! Writes the entries of an archive below its directory: each byte once, in large writes.

use super::bytes::Bytes;
use super::headers::{Entry, is_file, kind_name};
use super::names::{ArchivedEntry, Names, check_link, file_and_folder, inner_path};
use super::{Member, dangerous, shown};
use crate::failure::store_failure;
use quake_model::ports::PortError;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use tar::EntryType;

/// What the bytes of a hole are hashed from.
static ZEROS: [u8; 16 << 10] = [0; 16 << 10];

/// A directory that an archive is unpacked into.
pub(super) struct Destination<'t> {
    target: &'t Path,
    names: Names,
    members: Vec<Member>,
    /// The directory made last; most files lie in the same one as the file before.
    made: Option<String>,
}

impl<'t> Destination<'t> {
    pub(super) fn new(target: &'t Path) -> Self {
        Self {
            target,
            names: Names::default(),
            members: Vec::new(),
            made: None,
        }
    }

    /// The files that were written, in the order of their paths.
    pub(super) fn into_members(mut self) -> Vec<Member> {
        self.members.sort_by(|a, b| a.path.cmp(&b.path));
        self.members
    }

    /// Takes one entry and exactly the bytes that it stores.
    ///
    /// # Errors
    ///
    /// `Unsafe` when no asset needs it, `NoSpace` or `Io` when it cannot be written, and as
    /// [`Bytes::expected`].
    pub(super) fn take(&mut self, entry: &Entry, bytes: &mut Bytes<'_>) -> Result<(), PortError> {
        // The oldest format marks directories by the slash alone.
        let has_slash = entry.path.ends_with(b"/");
        let path = inner_path(&entry.path)?;
        let name = shown(&entry.path);
        match (entry.kind, path) {
            (EntryType::Directory, None) => Ok(()),
            (EntryType::Directory, Some(path)) => self.names.hold(&path, ArchivedEntry::Folder),
            (EntryType::Regular, Some(path)) if has_slash && entry.stored == 0 => {
                self.names.hold(&path, ArchivedEntry::Folder)
            }
            (EntryType::Symlink, Some(path)) => {
                check_link(&path, &entry.link)?;
                self.names.hold(&path, ArchivedEntry::Link)
            }
            (EntryType::Link, Some(path)) => self.link(path, &entry.link),
            (kind, Some(path)) if is_file(kind) && !has_slash => self.write(path, entry, bytes),
            (kind, Some(_)) => Err(dangerous(format!("holds {name}, {}", kind_name(kind)))),
            (kind, None) => {
                let kind = kind_name(kind);
                Err(dangerous(format!(
                    "holds {kind} in place of its directory: {name:?}"
                )))
            }
        }
    }

    /// A second name for a file that this archive brought. Nothing on the way to either is a link, because
    /// none is ever made.
    fn link(&mut self, path: String, link: &[u8]) -> Result<(), PortError> {
        let old = inner_path(link)?.and_then(|old| self.names.file(&old));
        let Some(old) = old.and_then(|old| self.members.get(old)).cloned() else {
            let (name, link) = (shown(path.as_bytes()), shown(link));
            return Err(dangerous(format!(
                "holds {name}, a hard link to {link}, which is no file that came before it"
            )));
        };
        self.names
            .hold(&path, ArchivedEntry::File(self.members.len()))?;
        self.make_parents(&path)?;
        let place = self.target.join(&path);
        let linked = std::fs::hard_link(self.target.join(&old.path), &place);
        linked.map_err(|error| clashes_or_fails(&path, &place, &error))?;
        self.members.push(Member { path, ..old });
        Ok(())
    }

    fn write(
        &mut self,
        path: String,
        entry: &Entry,
        bytes: &mut Bytes<'_>,
    ) -> Result<(), PortError> {
        self.names
            .hold(&path, ArchivedEntry::File(self.members.len()))?;
        self.make_parents(&path)?;
        let place = self.target.join(&path);
        let mut options = OpenOptions::new();
        let opened = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&place);
        let file = opened.map_err(|error| clashes_or_fails(&path, &place, &error))?;
        let mut pouring = Pouring {
            file,
            place: &place,
            hasher: blake3::Hasher::new(),
            at: 0,
        };
        match &entry.sparse {
            None => pouring.pour(entry.stored, bytes)?,
            Some(map) => {
                for (offset, length) in &map.pieces {
                    pouring.leave_hole(*offset, bytes)?;
                    pouring.pour(*length, bytes)?;
                }
                pouring.leave_hole(map.size, bytes)?;
            }
        }
        self.members.push(Member {
            path,
            size: pouring.at,
            mode: if entry.is_executable { 0o755 } else { 0o644 },
            check: pouring.hasher.finalize().to_hex().to_string(),
        });
        Ok(())
    }

    fn make_parents(&mut self, path: &str) -> Result<(), PortError> {
        let Some((parent, _)) = path.rsplit_once('/') else {
            return Ok(());
        };
        if self.made.as_deref() == Some(parent) {
            return Ok(());
        }
        let place = self.target.join(parent);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&place);
        made.map_err(|error| clashes_or_fails(path, &place, &error))?;
        self.made = Some(parent.to_owned());
        Ok(())
    }
}

/// A file that is being written and hashed, up to `at`.
struct Pouring<'p> {
    file: File,
    place: &'p Path,
    hasher: blake3::Hasher,
    at: u64,
}

impl Pouring<'_> {
    fn pour(&mut self, mut count: u64, bytes: &mut Bytes<'_>) -> Result<(), PortError> {
        while count > 0 {
            let some = bytes.expected(count)?;
            self.hasher.update(some);
            let written = self.file.write_all(some);
            written.map_err(|error| store_failure(self.place, "written", &error))?;
            count -= some.len() as u64;
            self.at += some.len() as u64;
        }
        Ok(())
    }

    /// Leaves the bytes up to `to` unwritten: they read as zeros.
    fn leave_hole(&mut self, to: u64, bytes: &mut Bytes<'_>) -> Result<(), PortError> {
        let mut count = to.saturating_sub(self.at);
        if count == 0 {
            return Ok(());
        }
        bytes.charge(count)?;
        let made = self
            .file
            .set_len(to)
            .and_then(|()| self.file.seek(SeekFrom::Start(to)));
        made.map_err(|error| store_failure(self.place, "written", &error))?;
        while count > 0 {
            let some = usize::try_from(count).map_or(ZEROS.len(), |count| count.min(ZEROS.len()));
            self.hasher.update(&ZEROS[..some]);
            count -= some as u64;
        }
        self.at = to;
        Ok(())
    }
}

/// A name that is there already is the archive's fault; anything else is the disk's.
fn clashes_or_fails(path: &str, place: &Path, error: &std::io::Error) -> PortError {
    match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory | ErrorKind::IsADirectory => {
            file_and_folder(path)
        }
        ErrorKind::TooManyLinks => {
            let name = shown(path.as_bytes());
            dangerous(format!(
                "holds {name}, one hard link more than a file can have"
            ))
        }
        _ => store_failure(place, "written", error),
    }
}
