//! Snapshot files: fetched from a backup store and unpacked as they come, or opened where they are.

use super::scratch::Scratch;
use crate::linux::condition_of;
use crate::objects::StateStore;
use flate2::write::GzDecoder;
use quake_model::location::Location;
use quake_model::ports::{
    BucketReader, Condition, ObjectPiece, PortError, SnapshotBytes, SnapshotFile,
};
use quake_model::time::Timestamp;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The largest snapshot that is unpacked. etcd warns above a quota of 8 GiB; four times that is no
/// snapshot, but bytes that fill a disk.
const MOST_BYTES: u64 = 32 << 30;

/// Fetches a backup and unpacks it.
pub(super) async fn fetch(
    objects: &StateStore,
    backup: &Location,
) -> Result<SnapshotFile, PortError> {
    let scratch = Scratch::new()?;
    let path = scratch.path().join("snapshot.db");
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(&path);
    let unwritten = |error: &std::io::Error| {
        let condition = match error.kind() {
            std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData => {
                Condition::Malformed
            }
            std::io::ErrorKind::UnexpectedEof => Condition::Malformed,
            _ => condition_of(error),
        };
        PortError::new(condition, format!("unpack {backup}")).because(error)
    };
    let mut decoder = GzDecoder::new(Bounded {
        file: file.map_err(|error| unwritten(&error))?,
        left: MOST_BYTES,
    });
    let mut opened = objects.open_object(backup, &ObjectPiece::default()).await?;
    while let Some(chunk) = opened.bytes.chunk().await? {
        decoder
            .write_all(&chunk)
            .map_err(|error| unwritten(&error))?;
    }
    decoder.finish().map_err(|error| unwritten(&error))?;
    opened_file(&path, scratch)
}

/// Opens a file, which stays where it is.
pub(super) fn open(path: &str) -> Result<SnapshotFile, PortError> {
    opened_file(Path::new(path), Scratch::new()?)
}

fn opened_file(path: &Path, scratch: Scratch) -> Result<SnapshotFile, PortError> {
    let shown = path.display();
    let unreadable = |error: &std::io::Error| {
        PortError::new(condition_of(error), format!("{shown} cannot be read")).because(error)
    };
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let facts = file.metadata().map_err(|error| unreadable(&error))?;
    if !facts.is_file() {
        let summary = format!("{shown} is not a file");
        return Err(PortError::new(Condition::Malformed, summary));
    }
    let modified = facts.modified().ok();
    let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let millis = since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0));
    Ok(SnapshotFile {
        path: shown.to_string(),
        scratch: scratch.path().display().to_string(),
        modified: Timestamp(millis),
        bytes: Box::new(Bytes {
            file,
            length: facts.len(),
        }),
        guard: Box::new(scratch),
    })
}

/// A file that is read where it is asked for.
struct Bytes {
    file: File,
    length: u64,
}

impl SnapshotBytes for Bytes {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let end = offset.checked_add(u64::try_from(length).ok()?)?;
        if end > self.length {
            return None;
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

/// A file that does not grow without end: a small archive can hold a large one.
struct Bounded {
    file: File,
    left: u64,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let length = bytes.len() as u64;
        self.left = self.left.checked_sub(length).ok_or_else(|| {
            let text = format!("it unpacks to more than {MOST_BYTES} bytes");
            std::io::Error::new(std::io::ErrorKind::InvalidData, text)
        })?;
        self.file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
