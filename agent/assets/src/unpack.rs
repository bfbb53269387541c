//! Unpacks a tar archive while it arrives, before its digest is known.
//!
//! Nothing is trusted: not the bytes, which may turn out to be somebody else's, and not an archive with the
//! right digest either, which may be pinned by someone who never looked inside. Only regular files are
//! written, only below the directory, each once, readable by the agent alone, and no more of them than an
//! honest archive can hold. The first thing that no asset needs refuses the whole archive; whoever called
//! removes the directory.
//!
//! What is taken: v7, ustar, pax and GNU tar, plain or compressed by gzip, xz or zstd; long names, sparse
//! files (GNU's own and pax 1.0), and hard links to files that the same archive brought before. A symbolic
//! link that stays inside is left out: nothing here needs one, and a link that is never made cannot be
//! followed. Empty directories are left out too. Owners, times, extended attributes and the set-id bits are
//! dropped.
//!
//! Nothing is made durable here; that is done once, by the caller, for all that it keeps.

mod bytes;
pub(crate) mod compression;
mod extension;
mod headers;
mod land;
mod names;
mod sparse;

use super::failure::store_failure;
use bytes::Bytes;
use headers::Headers;
use land::Destination;
use quake_model::ports::{Condition, PortError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The most an archive may unpack to, whatever its own size; the holes of sparse files count.
const MAX_UNPACKED_BYTES: u64 = 16 << 30;

/// How many times its own size an archive may unpack to. Archives of programs reach four; runs of one
/// byte reach a thousand.
const MAX_RATIO: u64 = 200;

/// What even the smallest archive may unpack to.
const ALWAYS_ALLOWED_BYTES: u64 = 64 << 20;

/// The most entries an archive may have.
const MAX_ENTRIES: usize = 100_000;

/// One file of an unpacked archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its path below the directory: relative, normal, without `.` and `..`; empty for a plain asset.
    pub path: String,
    /// Its size in bytes, the holes of a sparse file included.
    pub size: u64,
    /// The mode that [`unseal`] gives it: 0755 for what the archive calls executable, 0644 for the rest.
    pub mode: u32,
    /// The BLAKE3 of its bytes, in lower-case hex; empty where the asset's own digest is that of its bytes.
    pub check: String,
}

impl Member {
    /// Its base name.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    #[cfg(test)]
    pub(crate) fn named(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            size: 0,
            mode: 0o755,
            check: String::new(),
        }
    }
}

/// Unpacks a tar archive read from `stream` into the existing, empty directory `target`.
///
/// Returns the files in the order of their paths, with mode 0600 below directories of mode 0700. The stream
/// has then been read to its end, so that whoever hashes it has seen every byte; what stands behind the end of the
/// archive is not unpacked. After an error the rest of the stream is left unread, and what was written
/// is for the caller to remove. Memory does not grow with the archive's files: half a megabyte, the names, and
/// the decoder's window (32 KiB for gzip, at most 128 MiB for xz and zstd).
///
/// # Errors
///
/// `Unsafe` when it is no tar archive or holds what no asset needs; `NoSpace` or `Io` when `target`
/// cannot be written; `Io` when `stream` itself failed, which its owner knows better how to name.
pub(super) fn unpack(stream: impl Read, target: &Path) -> Result<Vec<Member>, PortError> {
    let mut headers = Headers::new(Bytes::open(stream)?);
    let mut landing = Destination::new(target);
    let mut count = 0;
    while let Some(entry) = headers.next_entry()? {
        count += 1;
        if count > MAX_ENTRIES {
            return Err(dangerous(format!("holds more than {MAX_ENTRIES} entries")));
        }
        landing.take(&entry, &mut headers.bytes)?;
        headers.bytes.skip(entry.padding())?;
    }
    headers.bytes.drain()?;
    Ok(landing.into_members())
}

/// Gives the files of a proven archive their modes, and their directories and `target` 0755.
///
/// The files come first and `target` last, so that nothing is reached before all of it is as it should be.
///
/// # Errors
///
/// `Io` when a mode cannot be set.
pub(super) fn unseal(target: &Path, members: &[Member]) -> Result<(), PortError> {
    for member in members {
        set_mode(&target.join(&member.path), member.mode)?;
    }
    let parents = members
        .iter()
        .filter_map(|file| Path::new(&file.path).parent());
    let folders: BTreeSet<&Path> = parents.flat_map(Path::ancestors).collect();
    for folder in folders
        .iter()
        .rev()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        set_mode(&target.join(folder), 0o755)?;
    }
    set_mode(target, 0o755)
}

fn set_mode(path: &Path, mode: u32) -> Result<(), PortError> {
    let set = std::fs::set_permissions(path, Permissions::from_mode(mode));
    set.map_err(|error| store_failure(path, "given its mode", &error))
}

fn dangerous(what: impl AsRef<str>) -> PortError {
    PortError::new(Condition::Unsafe, format!("the archive {}", what.as_ref()))
}

/// A name for a message: an attacker's escape sequences must not reach a terminal, nor a megabyte a log.
fn shown(name: &[u8]) -> String {
    const LONGEST: usize = 120;
    let text = String::from_utf8_lossy(&name[..name.len().min(4 * LONGEST)]);
    let mut shown: String = text
        .chars()
        .take(LONGEST)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        let _ = write!(shown, "… ({} bytes)", name.len());
    }
    shown
}

#[cfg(test)]
mod tests;
