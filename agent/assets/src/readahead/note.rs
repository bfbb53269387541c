//! Notes which parts of files are in the page cache.
//!
//! The kernel is asked with a read that may not wait (`RWF_NOWAIT`, preadv2(2), Linux 4.14): it answers from the cache or
//! not at all. Some kernels begin to read what they did not have; the file is declared to be read at random, so that
//! this is one page and not the block. A fast disk has that page before the kernel answers: what this thread fetched
//! from a disk (proc_pid_io(5)) tells it from a page that was there.

use super::{BLOCK_BYTES, MAX_EXTENTS, NOTE, Touched, WANTED};
use crate::failure::store_failure;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use quake_model::ports::{Condition, PortError};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::IoSliceMut;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where in a block it is looked, as parts of eight: a fault reads around itself, wherever a block begins.
const PROBES: [u64; 2] = [0, 4];

/// What was noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noted {
    /// Files of which something was touched.
    pub files: usize,
    pub extents: usize,
    /// Bytes in them.
    pub bytes: u64,
}

/// Notes which parts of `files` are in memory, for later boots from the store at `store`. A file that is there twice, as
/// a placed program and the store's, is noted once; one smaller than a block, or not below `root`, is left out.
///
/// What this very boot wrote or verified is in memory too: a note is worth taking at a boot from a sealed image.
///
/// # Errors
///
/// `Impossible` when the filesystem cannot tell what is in memory; `NoSpace` or `Io`.
pub fn note(root: &Path, store: &Path, files: &[PathBuf]) -> Result<Noted, PortError> {
    let mut seen = BTreeSet::new();
    let mut touched = Vec::new();
    for path in files {
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        let mut is_new = || seen.insert((found.dev(), found.ino()));
        if !found.is_file() || found.len() < BLOCK_BYTES || !is_new() {
            continue;
        }
        let (Ok(relative), Ok(file)) = (path.strip_prefix(root), File::open(path)) else {
            continue;
        };
        let extents = cached(&file, found.len()).map_err(|error| cannot_tell(path, error))?;
        if !extents.is_empty() {
            touched.push(Touched {
                path: relative.to_owned(),
                size: found.len(),
                extents,
            });
        }
    }
    touched.sort_by(|a, b| a.path.cmp(&b.path));
    bound(&mut touched, MAX_EXTENTS);
    write(store, &touched)?;
    let lengths = touched.iter().flat_map(|file| &file.extents);
    Ok(Noted {
        files: touched.len(),
        extents: lengths.clone().count(),
        bytes: lengths.map(|(_, length)| length).sum(),
    })
}

/// The runs of blocks of which a page is in memory.
pub(super) fn cached(file: &File, size: u64) -> Result<Vec<(u64, u64)>, Errno> {
    // A hint: where it is not taken, a few more pages are read.
    let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM);
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for start in (0..size).step_by(usize::try_from(BLOCK_BYTES).unwrap_or(usize::MAX)) {
        if !is_cached(file, start, size)? {
            continue;
        }
        let length = BLOCK_BYTES.min(size - start);
        match runs.last_mut() {
            Some((from, run)) if *from + *run == start => *run += length,
            _ => runs.push((start, length)),
        }
    }
    Ok(runs)
}

fn is_cached(file: &File, start: u64, size: u64) -> Result<bool, Errno> {
    for eighth in PROBES {
        let at = start + eighth * BLOCK_BYTES / 8;
        if at >= size {
            break;
        }
        let mut byte = [0];
        let fetched = bytes_fetched();
        match preadv2(
            file,
            &mut [IoSliceMut::new(&mut byte)],
            at,
            ReadWriteFlags::NOWAIT,
        ) {
            Ok(1..) if bytes_fetched() == fetched => return Ok(true),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Bytes that this thread had fetched from disks. `None` where the kernel does not count them.
fn bytes_fetched() -> Option<u64> {
    let counts = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    let count = counts
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes: "))?;
    count.parse().ok()
}

/// Joins extents of a file whose gaps are smallest, until there are at most `limit`.
pub(super) fn bound(files: &mut [Touched], limit: usize) {
    let mut gap = BLOCK_BYTES;
    while files.iter().map(|file| file.extents.len()).sum::<usize>() > limit
        && files.iter().any(|file| file.extents.len() > 1)
    {
        for file in files.iter_mut() {
            file.extents = joined(&file.extents, gap);
        }
        gap = gap.saturating_mul(2);
    }
}

fn joined(extents: &[(u64, u64)], gap: u64) -> Vec<(u64, u64)> {
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, length) in extents {
        match joined.last_mut() {
            Some((from, run)) if start.saturating_sub(*from + *run) <= gap => {
                *run = start + length - *from;
            }
            _ => joined.push((*start, *length)),
        }
    }
    joined
}

/// Writes the note whole or not at all, and takes back what asked for it.
fn write(store: &Path, touched: &[Touched]) -> Result<(), PortError> {
    let path = store.join(NOTE);
    let beside = store.join(format!("{NOTE}.new"));
    let written = serde_json::to_vec(touched)
        .map_err(std::io::Error::from)
        .and_then(|text| std::fs::write(&beside, text))
        .and_then(|()| std::fs::rename(&beside, &path));
    written.map_err(|error| store_failure(&path, "written", &error))?;
    // Where it cannot be removed, the next boot takes the note once more.
    let _ = std::fs::remove_file(store.join(WANTED));
    Ok(())
}

fn cannot_tell(path: &Path, error: Errno) -> PortError {
    let error = std::io::Error::from(error);
    match error.kind() {
        std::io::ErrorKind::Unsupported => {
            let summary = format!(
                "the filesystem of {} does not report what is in memory",
                path.display()
            );
            PortError::new(Condition::Impossible, summary).because(&error)
        }
        _ => store_failure(path, "read", &error),
    }
}
