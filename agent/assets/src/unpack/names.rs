//! The names in an archive: each is proper, stays inside, and is one thing only.

use super::{dangerous, shown};
use quake_model::ports::PortError;
use std::collections::BTreeMap;
use std::ops::Bound;

/// The longest path. Linux takes 4,096 bytes with the store's own part in front; archives of programs
/// stay below 300.
const MAX_PATH_BYTES: usize = 1024;

/// The longest part of a path that a Linux filesystem takes.
const MAX_PART_BYTES: usize = 255;

/// The most directories above a file.
const MAX_DEPTH: usize = 32;

/// What all names of an archive may take in memory.
const MAX_NAMES_BYTES: usize = 16 << 20;

/// What an archive has at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArchivedEntry {
    Folder,
    /// A symbolic link, which is never made.
    Link,
    /// The file with this index among the members.
    File(usize),
}

/// The entry's path below the archive's directory; `None` for the directory itself.
///
/// # Errors
///
/// `Unsafe` when it leaves the directory, is no text, or is longer or deeper than any honest path.
pub(super) fn inner_path(raw: &[u8]) -> Result<Option<String>, PortError> {
    let name = shown(raw);
    let Ok(path) = std::str::from_utf8(raw) else {
        return Err(dangerous(format!("holds {name}, which is no text")));
    };
    if path.starts_with('/') {
        return Err(dangerous(format!("holds the absolute path {name}")));
    }
    if path.chars().any(char::is_control) {
        return Err(dangerous(format!("holds {name} with a control character")));
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                return Err(dangerous(format!(
                    "holds {name}, which leaves its directory"
                )));
            }
            part if part.len() > MAX_PART_BYTES => {
                return Err(dangerous(format!(
                    "holds {name}, a name longer than a filesystem takes"
                )));
            }
            part => parts.push(part),
        }
    }
    let inner = parts.join("/");
    if inner.len() > MAX_PATH_BYTES || parts.len() > MAX_DEPTH {
        return Err(dangerous(format!(
            "holds {name}, a path too long or too deep"
        )));
    }
    Ok((!inner.is_empty()).then_some(inner))
}

/// A link that would leave the archive's directory is an attack, even though no link is ever made.
///
/// # Errors
///
/// `Unsafe` when it would.
pub(super) fn check_link(path: &str, target: &[u8]) -> Result<(), PortError> {
    let leaves = || {
        let (path, target) = (shown(path.as_bytes()), shown(target));
        dangerous(format!(
            "holds the link {path} to {target}, which leaves its directory"
        ))
    };
    if target.starts_with(b"/") {
        return Err(leaves());
    }
    let mut depth = path.matches('/').count();
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => depth = depth.checked_sub(1).ok_or_else(leaves)?,
            _ => depth += 1,
        }
    }
    Ok(())
}

/// All names of an archive so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    held: BTreeMap<String, ArchivedEntry>,
    bytes: usize,
}

impl Names {
    /// Notes that the archive has `what` at `path`. Directories may come again and again, and are implied by
    /// what is below them.
    ///
    /// # Errors
    ///
    /// `Unsafe` when the path, or one above or below it, is something else already.
    pub(super) fn hold(&mut self, path: &str, what: ArchivedEntry) -> Result<(), PortError> {
        let name = shown(path.as_bytes());
        match (self.held.get(path), what) {
            (None, _) => {}
            (Some(ArchivedEntry::Folder), ArchivedEntry::Folder) => return Ok(()),
            (Some(ArchivedEntry::File(_)), ArchivedEntry::Folder)
            | (Some(ArchivedEntry::Folder), ArchivedEntry::File(_)) => {
                return Err(file_and_folder(path));
            }
            (Some(_), _) => return Err(dangerous(format!("holds {name} twice"))),
        }
        for (end, _) in path.match_indices('/') {
            match self.held.get(&path[..end]) {
                Some(ArchivedEntry::File(_)) => return Err(file_and_folder(&path[..end])),
                Some(ArchivedEntry::Link) => {
                    let link = shown(&path.as_bytes()[..end]);
                    return Err(dangerous(format!(
                        "holds {name}, which lies behind its own link {link}"
                    )));
                }
                Some(ArchivedEntry::Folder) | None => {}
            }
        }
        if what != ArchivedEntry::Folder && self.has_below(path) {
            return Err(file_and_folder(path));
        }
        self.bytes += path.len();
        if self.bytes > MAX_NAMES_BYTES {
            return Err(dangerous(format!(
                "holds names of more than {MAX_NAMES_BYTES} bytes"
            )));
        }
        self.held.insert(path.to_owned(), what);
        Ok(())
    }

    /// The index of the file that the archive has brought at `path`.
    pub(super) fn file(&self, path: &str) -> Option<usize> {
        match self.held.get(path)? {
            ArchivedEntry::File(index) => Some(*index),
            ArchivedEntry::Folder | ArchivedEntry::Link => None,
        }
    }

    fn has_below(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        let below = (Bound::Excluded(folder.as_str()), Bound::Unbounded);
        let next = self.held.range::<str, _>(below).next();
        next.is_some_and(|(held, _)| held.starts_with(&folder))
    }
}

/// The error of a name that is a file, or a link, and a directory.
pub(super) fn file_and_folder(path: &str) -> PortError {
    let name = shown(path.as_bytes());
    dangerous(format!("holds {name} both as a file and as a directory"))
}
