//! Where a path of a tree is on this machine.

use super::blocking::find_blocking_link;
use super::{is_machine, open};
use nix::errno::Errno;
use nix::fcntl::{OFlag, readlink};
use quake_model::ports::{Condition, PortError};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// What becomes of a symbolic link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// It is what the path names, as for a rename over it.
    Kept,
    /// It is followed, as by a reader.
    Followed,
}

/// Where `path` of the tree below `root` is on this machine. No part of the answer below `root` is a link, but
/// the last where it is kept. What is not there yet is named where it would be made.
///
/// The answer holds for as long as nobody else changes the tree: an image belongs to whoever installs into it.
///
/// # Errors
///
/// `Occupied` for a link that leads nowhere below the root, with the link and where it leads; `Denied` for a path
/// with `..` or a NUL; `Io` where the kernel cannot tell, as before Linux 5.6.
pub fn locate(root: &Path, path: impl AsRef<Path>, last: Last) -> Result<PathBuf, PortError> {
    let path = path.as_ref();
    let parts = parts(path)?;
    if is_machine(root) {
        return Ok(root.join(parts.join("/")));
    }
    let fail = |errno: Errno| failed(root, path, errno);
    let there = open(root, "/", OFlag::O_PATH | OFlag::O_DIRECTORY).map_err(fail)?;
    let there = path_of(&there).map_err(fail)?;
    let kept = usize::from(last == Last::Kept);
    for known in (0..=parts.len().saturating_sub(kept)).rev() {
        let prefix = format!("/{}", parts[..known].join("/"));
        match open(root, &prefix, OFlag::O_PATH) {
            Ok(found) => {
                let found = path_of(&found).map_err(fail)?;
                let below = found.strip_prefix(&there).map_err(|_| moved(root, path))?;
                let rest = parts[known..].join("/");
                // Joined part by part: joining an empty path adds a slash, which asks for a directory.
                let parts = below.components().chain(Path::new(&rest).components());
                return Ok(parts.fold(root.to_owned(), |at, part| at.join(part)));
            }
            // A file in the place of a directory is for whoever uses the path to meet.
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => {
                if let Some(link) = find_blocking_link(root, &prefix).map_err(fail)? {
                    return Err(link.into_error(root));
                }
            }
            Err(errno) => return Err(fail(errno)),
        }
    }
    Err(fail(Errno::ENOENT))
}

fn parts(path: &Path) -> Result<Vec<&str>, PortError> {
    let unsound = || {
        let summary = format!("{path:?} is not a path without `..`");
        PortError::new(Condition::Denied, summary)
    };
    let text = path.to_str().filter(|text| !text.contains('\0'));
    let parts = text.ok_or_else(unsound)?.split('/');
    let parts: Vec<&str> = parts.filter(|part| !matches!(*part, "" | ".")).collect();
    match parts.contains(&"..") {
        true => Err(unsound()),
        false => Ok(parts),
    }
}

/// Where an open entry is.
fn path_of(entry: &OwnedFd) -> nix::Result<PathBuf> {
    let name = format!("/proc/self/fd/{}", entry.as_raw_fd());
    readlink(name.as_str()).map(PathBuf::from)
}

fn moved(root: &Path, path: &Path) -> PortError {
    let summary = format!(
        "{} was moved out of {} meanwhile",
        path.display(),
        root.display()
    );
    PortError::new(Condition::Conflict, summary)
}

fn failed(root: &Path, path: &Path, errno: Errno) -> PortError {
    let condition = match errno {
        Errno::EACCES | Errno::EPERM | Errno::EROFS => Condition::Denied,
        Errno::ENOENT => Condition::Missing,
        _ => Condition::Io,
    };
    let summary = format!("find {} below {}", path.display(), root.display());
    let error = PortError::new(condition, summary).because(&io::Error::from(errno));
    match errno {
        Errno::ENOSYS => error.remedied_by("a --root needs Linux 5.6 or newer: see uname -r"),
        _ => error,
    }
}

#[cfg(test)]
mod tests;
