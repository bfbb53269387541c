//! Puts files of the store where they belong, without a second copy of their bytes where that can be.
//!
//! A hard link shares the mode with the store's file, so only a file wanted with the mode it has in the
//! store is linked; one wanted with another mode, or on another filesystem, is copied (the kernel shares
//! the blocks where the filesystem can).

use super::failure::{metadata_of, store_failure};
use super::staging::sync_folder;
use quake_model::facts::Placed;
use quake_model::ports::{Condition, PortError};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Compares what stands at `target` with the store's file.
///
/// # Errors
///
/// `Missing` when the store does not hold the file, `Io` when either cannot be read.
pub(super) fn look(source: &Path, target: &Path, mode: u32) -> Result<Placed, PortError> {
    let wanted = metadata_of(source)?.ok_or_else(|| not_in_store(source))?;
    let Some(found) = metadata_of(target)? else {
        return Ok(Placed::Absent);
    };
    if !found.is_file() || found.mode() & 0o7777 != mode || found.len() != wanted.len() {
        return Ok(Placed::Different);
    }
    if is_same_file(&wanted, &found) || have_same_bytes(source, target)? {
        return Ok(Placed::Same);
    }
    Ok(Placed::Different)
}

/// Puts the store's file at `target` with `mode`, atomically; makes missing parents with mode 0755.
///
/// # Errors
///
/// `Missing`, `NoSpace`, `Occupied` when a directory stands there, or a file where a parent belongs, or
/// `Io`.
pub(super) fn put(source: &Path, target: &Path, mode: u32) -> Result<(), PortError> {
    let wanted = metadata_of(source)?.ok_or_else(|| not_in_store(source))?;
    if metadata_of(target)?.is_some_and(|found| found.is_dir()) {
        return Err(occupied(target, "a directory stands there"));
    }
    let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(occupied(target, "it names no file"));
    };
    make_parents(parent)?;
    // The same name at every attempt, so that what a killed agent left is replaced and not added to.
    let beside = Beside(parent.join(format!(".{}.quake-placing", name.to_string_lossy())));
    beside.clear();
    let linked = wanted.mode() & 0o7777 == mode && std::fs::hard_link(source, &beside.0).is_ok();
    if !linked {
        let copied = copy(source, &beside.0, mode);
        copied.map_err(|error| store_failure(target, "written", &error))?;
    }
    let moved = std::fs::rename(&beside.0, target);
    moved.map_err(|error| store_failure(target, "written", &error))?;
    sync_folder(parent)
}

/// The name beside the target under which the file is made ready. Cleared on every way out: a rename
/// between two links of one file does nothing and leaves this one (POSIX, rename).
struct Beside(PathBuf);

impl Beside {
    fn clear(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.clear();
    }
}

fn copy(source: &Path, target: &Path, mode: u32) -> std::io::Result<()> {
    let mut from = File::open(source)?;
    let mut options = OpenOptions::new();
    let mut to = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(target)?;
    std::io::copy(&mut from, &mut to)?;
    to.set_permissions(Permissions::from_mode(mode))?;
    to.sync_all()
}

fn make_parents(parent: &Path) -> Result<(), PortError> {
    let mut builder = std::fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o755).create(parent);
    made.map_err(|error| match error.kind() {
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            occupied(parent, "a file stands where a directory belongs")
        }
        _ => store_failure(parent, "made", &error),
    })
}

fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

fn have_same_bytes(a: &Path, b: &Path) -> Result<bool, PortError> {
    let open = |path: &Path| File::open(path).map_err(|error| store_failure(path, "read", &error));
    let (mut first, mut second) = (open(a)?, open(b)?);
    let (mut left, mut right) = (vec![0_u8; 128 << 10], vec![0_u8; 128 << 10]);
    loop {
        let count = first.read(&mut left);
        let count = count.map_err(|error| store_failure(a, "read", &error))?;
        if count == 0 {
            // Their sizes were equal a moment ago; one that grew since differs.
            return Ok(second.read(&mut right).is_ok_and(|more| more == 0));
        }
        match second.read_exact(&mut right[..count]) {
            Ok(()) if left[..count] == right[..count] => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(store_failure(b, "read", &error)),
        }
    }
}

fn not_in_store(source: &Path) -> PortError {
    let summary = format!("the store does not hold {}", source.display());
    PortError::new(Condition::Missing, summary)
}

fn occupied(target: &Path, why: &str) -> PortError {
    let summary = format!("{} cannot be written: {why}", target.display());
    PortError::new(Condition::Occupied, summary)
}

#[cfg(test)]
mod tests;
