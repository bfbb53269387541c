//! Removal of a file that was seen.

use super::attempt::os_error;
use super::files::{in_the_way, kind_of, read_contents};
use super::tree::Tree;
use nix::errno::Errno;
use nix::unistd::{UnlinkatFlags, fsync, unlinkat};
use quake_model::facts::EntryKind;
use quake_model::ports::{Condition, PortError};

/// Removes the file at `path` if it holds `seen`; the directory is flushed, so that it is not there again after a crash.
pub(super) fn remove(tree: &Tree, path: &str, seen: &[u8]) -> Result<(), PortError> {
    let fail = |errno: Errno| os_error(format!("remove {path}"), &errno.into());
    let Some(spot) = tree.find_spot(path)? else {
        return Ok(());
    };
    let Some(stat) = spot.look().map_err(fail)? else {
        return Ok(());
    };
    match kind_of(&stat) {
        EntryKind::File => {}
        EntryKind::Directory => return Err(in_the_way(path, "a directory")),
        EntryKind::Link => return Err(in_the_way(path, "a symbolic link")),
        EntryKind::Other => return Err(in_the_way(path, "a device, socket or pipe")),
    }
    let there = read_contents(&spot, seen.len() as u64);
    let there = there.map_err(|error| os_error(format!("read {path}"), &error))?;
    if there.as_deref() != Some(seen) {
        let summary = format!("another file than was seen stands at {path}");
        return Err(PortError::new(Condition::Conflict, summary));
    }
    match unlinkat(
        &spot.directory,
        spot.name.as_str(),
        UnlinkatFlags::NoRemoveDir,
    ) {
        Ok(()) | Err(Errno::ENOENT) => fsync(&spot.directory).map_err(fail),
        Err(errno) => Err(fail(errno)),
    }
}
