//! Files written whole or not at all.
//!
//! A write goes to a temporary file in the same directory, which gets its mode and owner, is flushed to the disk and renamed
//! over the target; then the directory is flushed. A crash at any moment leaves the old file or the new one, and at most a
//! temporary file, which the next write in that directory removes. Of several files each is flushed before it is renamed, and
//! a directory once: which of them a crash leaves old is open.

use super::attempt::os_error;
use super::files::{in_the_way, kind_of};
use super::leftovers::{fresh_name, is_abandoned};
use super::tree::{OwnerPolicy, Spot, Tree, Way, names_in, no_space_seen};
use nix::errno::Errno;
use nix::fcntl::{OFlag, PosixFadviseAdvice, openat, posix_fadvise, renameat};
use nix::sys::stat::{Mode, fstat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, fsync, unlinkat};
use quake_model::facts::EntryKind;
use quake_model::ports::PortError;
use quake_model::step::{Keep, WriteFile};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;

/// So many files are written before they are flushed together: until then each has two descriptors.
const TOGETHER: usize = 32;

/// Names tried for one temporary file; more than one only after process numbers wrapped around.
const NAMES_TRIED: usize = 16;

/// Device and inode of a directory.
type Folder = (u64, u64);

/// Writes files; what came of each, up to the first that cannot be written: none behind it is touched.
pub(super) fn write(tree: &Tree, files: &[WriteFile]) -> Vec<Result<(), PortError>> {
    let mut cleaned = BTreeSet::new();
    let mut ends = Vec::new();
    for group in files.chunks(TOGETHER) {
        ends.extend(write_group(tree, group, &mut cleaned));
        if matches!(ends.last(), Some(Err(_))) {
            break;
        }
    }
    ends
}

/// Writes as many as may be open at once. `cleaned` are the directories that hold nothing of dead processes any more.
fn write_group(
    tree: &Tree,
    files: &[WriteFile],
    cleaned: &mut BTreeSet<Folder>,
) -> Vec<Result<(), PortError>> {
    let mut prepared = Vec::new();
    for file in files {
        prepared.push(prepare(tree, file, cleaned));
        if matches!(prepared.last(), Some(Err(_))) {
            break;
        }
    }
    // The kernel begins to write all of them before the first is waited for, so that the waits share the journal's commits.
    for temporary in prepared.iter().flatten().flatten() {
        let all = PosixFadviseAdvice::POSIX_FADV_DONTNEED;
        // Where it is refused, each wait only does more.
        let _ = posix_fadvise(&temporary.opened, 0, 0, all);
    }
    for at in 0..prepared.len() {
        let Ok(Some(temporary)) = &mut prepared[at] else {
            continue;
        };
        if let Err(error) = temporary.put_in_place() {
            prepared[at] = Err(unwritten(&files[at], &error, &temporary.spot));
            prepared.truncate(at + 1);
            break;
        }
    }
    let mut flushed = BTreeMap::new();
    let ends = prepared.into_iter().zip(files).map(|(prepared, file)| {
        let Some(temporary) = prepared? else {
            return Ok(());
        };
        let directory = &temporary.spot.directory;
        let flushed = flushed
            .entry(temporary.folder)
            .or_insert_with(|| fsync(directory));
        flushed.map_err(|errno| unwritten(file, &errno.into(), &temporary.spot))
    });
    ends.collect()
}

/// A temporary file beside its target, with all that the target is to have; removed unless it was put in place.
struct Temporary {
    spot: Spot,
    folder: Folder,
    name: String,
    opened: File,
    in_place: bool,
}

impl Temporary {
    /// Flushes it, and gives it its name.
    fn put_in_place(&mut self) -> std::io::Result<()> {
        self.opened.sync_all()?;
        let directory = &self.spot.directory;
        let (from, to) = (self.name.as_str(), self.spot.name.as_str());
        renameat(directory, from, directory, to)?;
        self.in_place = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.in_place {
            let name = self.name.as_str();
            let _ = unlinkat(&self.spot.directory, name, UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// Writes the temporary file; `None` where what stands there is to stay. What dead processes left in a directory is removed
/// once for all of them.
fn prepare(
    tree: &Tree,
    file: &WriteFile,
    cleaned: &mut BTreeSet<Folder>,
) -> Result<Option<Temporary>, PortError> {
    let path = &file.path;
    let spot = tree.make_spot(path, Way::for_owner(file.owner))?;
    let fail = |errno: Errno| unwritten(file, &errno.into(), &spot);
    if let Some(there) = spot.look().map_err(fail)? {
        match kind_of(&there) {
            EntryKind::File | EntryKind::Link if file.keep == Keep::IfPresent => return Ok(None),
            EntryKind::File | EntryKind::Link => {}
            EntryKind::Directory => return Err(in_the_way(path, "a directory")),
            EntryKind::Other => return Err(in_the_way(path, "a device, socket or pipe")),
        }
    }
    let found = fstat(&spot.directory).map_err(fail)?;
    let folder = (found.st_dev, found.st_ino);
    if cleaned.insert(folder) {
        remove_leftovers(&spot.directory);
    }
    let (name, opened) = create(&spot.directory).map_err(fail)?;
    let mut temporary = Temporary {
        spot,
        folder,
        name,
        opened: File::from(opened),
        in_place: false,
    };
    match fill(&mut temporary.opened, tree, file) {
        Ok(()) => Ok(Some(temporary)),
        Err(error) => Err(unwritten(file, &error, &temporary.spot)),
    }
}

fn fill(opened: &mut File, tree: &Tree, file: &WriteFile) -> std::io::Result<()> {
    opened.write_all(&file.contents.0)?;
    if tree.owners == OwnerPolicy::Set {
        let (uid, gid) = (Uid::from_raw(file.owner.uid), Gid::from_raw(file.owner.gid));
        fchown(&*opened, Some(uid), Some(gid))?;
    }
    // After the owner: a change of owner takes set-user-id bits away.
    opened.set_permissions(Permissions::from_mode(file.mode))
}

/// A file of a name that is free, which nobody else may read: it could be a key.
fn create(directory: &OwnedFd) -> nix::Result<(String, OwnedFd)> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
    let mode = Mode::from_bits_truncate(0o600);
    for _ in 0..NAMES_TRIED {
        let name = fresh_name();
        match openat(directory, name.as_str(), flags, mode) {
            Err(Errno::EEXIST) => {}
            opened => return Ok((name, opened?)),
        }
    }
    Err(Errno::EEXIST)
}

fn unwritten(file: &WriteFile, error: &std::io::Error, spot: &Spot) -> PortError {
    let error = os_error(format!("write {}", file.path), error);
    no_space_seen(error, &spot.directory)
}

/// Removes what dead processes left; what cannot be removed harms nobody and stays.
pub(super) fn remove_leftovers(directory: &OwnedFd) {
    let names = names_in(directory).unwrap_or_default();
    for name in names.iter().filter(|name| is_abandoned(name)) {
        if let Err(errno) = unlinkat(directory, name.as_str(), UnlinkatFlags::NoRemoveDir) {
            tracing::debug!(%name, %errno, "a leftover temporary file stays");
        }
    }
}
