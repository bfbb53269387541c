//! The data directory of a member: whether an etcd has it open, and its replacement. What was there
//! is moved aside and never deleted.

use crate::linux::condition_of;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use quake_model::ports::{Condition, PortError};
use std::fs::{self, OpenOptions};
use std::path::Path;

/// The database, which bbolt locks with flock(2) as long as it is open.
const DATABASE: &str = "member/snap/db";

pub(super) fn is_open(data_directory: &str) -> Result<bool, PortError> {
    let path = Path::new(data_directory).join(DATABASE);
    let unread = |error: &std::io::Error| {
        let summary = format!("look whether {} is locked", path.display());
        PortError::new(condition_of(error), summary).because(error)
    };
    let file = match OpenOptions::new().read(true).write(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(unread(&error)),
    };
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        // The lock ends with this value.
        Ok(_lock) => Ok(false),
        Err((_, Errno::EWOULDBLOCK)) => Ok(true),
        Err((_, error)) => Err(unread(&error.into())),
    }
}

pub(super) fn replace(
    data_directory: &str,
    restored: &str,
    aside: &str,
) -> Result<Option<String>, PortError> {
    let failed = |what: String| {
        move |error: std::io::Error| PortError::new(condition_of(&error), what).because(&error)
    };
    let exists = |path: &str| Path::new(path).symlink_metadata().is_ok();
    if !exists(restored) {
        let summary = format!("there is no {restored}");
        return Err(PortError::new(Condition::Missing, summary));
    }
    if exists(aside) {
        let summary = format!("something is at {aside}");
        return Err(PortError::new(Condition::Occupied, summary));
    }
    let had_data = exists(data_directory);
    if had_data {
        let what = format!("move {data_directory} to {aside}");
        fs::rename(data_directory, aside).map_err(failed(what))?;
    }
    if let Err(error) = fs::rename(restored, data_directory) {
        if had_data {
            // Back, so that either both happened or none.
            let _ = fs::rename(aside, data_directory);
        }
        return Err(failed(format!("move {restored} to {data_directory}"))(
            error,
        ));
    }
    let parent = Path::new(data_directory).parent().unwrap_or(Path::new("/"));
    let flushed = fs::File::open(parent).and_then(|directory| directory.sync_all());
    flushed.map_err(failed(format!("flush {}", parent.display())))?;
    Ok(had_data.then(|| aside.to_owned()))
}
