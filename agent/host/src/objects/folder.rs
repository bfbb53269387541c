//! Objects that are files of this machine.

use quake_model::location::Location;
use quake_model::ports::{
    Condition, Object, ObjectBytes, ObjectPiece, OpenObject, PortError, Reading,
};
use std::collections::BTreeSet;
use std::io::{ErrorKind, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use tokio::io::AsyncReadExt;

/// The largest object that is read. Cluster specs are some tens of kilobytes, keysets less; this is the
/// point beyond which something else was named by mistake.
pub(crate) const MAX_OBJECT_BYTES: u64 = 16 << 20;

/// Reads the first of `candidates` that is a file.
///
/// # Errors
///
/// `Missing` when none is, `Denied` or `Io` when it cannot be read, `Malformed` when it is too large.
pub(super) async fn read_file(
    location: &Location,
    candidates: &[PathBuf],
) -> Result<Object, PortError> {
    for path in candidates {
        let file = match tokio::fs::File::open(path).await {
            Ok(file) => file,
            Err(error) if is_absent(error.kind()) => continue,
            Err(error) => return Err(unreadable(location, &error)),
        };
        let metadata = file.metadata().await;
        let metadata = metadata.map_err(|error| unreadable(location, &error))?;
        if !metadata.is_file() {
            continue;
        }
        let mut bytes = Vec::new();
        let read = file
            .take(MAX_OBJECT_BYTES + 1)
            .read_to_end(&mut bytes)
            .await;
        read.map_err(|error| unreadable(location, &error))?;
        if bytes.len() as u64 > MAX_OBJECT_BYTES {
            return Err(too_large(location));
        }
        return Ok(Object {
            location: location.clone(),
            bytes,
        });
    }
    let summary = format!("there is no object {location}");
    let missing = PortError::new(Condition::Missing, summary);
    Err(candidates.iter().fold(missing, |error, path| {
        error.seen("looked-at", path.display())
    }))
}

/// How many bytes of a file are read at once.
const CHUNK: usize = 256 << 10;

/// Opens the first of `candidates` that is a file, at the piece's first byte. A file has no tag.
pub(super) fn open_file(
    location: &Location,
    candidates: &[PathBuf],
    piece: &ObjectPiece,
) -> Result<OpenObject, PortError> {
    for path in candidates {
        let mut file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) if is_absent(error.kind()) => continue,
            Err(error) => return Err(unreadable(location, &error)),
        };
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| unreadable(location, &error))?;
        if !metadata.is_file() {
            continue;
        }
        let length = metadata.len();
        let end = piece.until.unwrap_or(length).min(length);
        let begun = file.seek(SeekFrom::Start(piece.from));
        begun.map_err(|error| unreadable(location, &error))?;
        return Ok(OpenObject {
            total: Some(length),
            tag: None,
            is_piece: piece.range().is_some(),
            bytes: Box::new(FileBytes {
                location: location.clone(),
                file: tokio::fs::File::from_std(file).take(end.saturating_sub(piece.from)),
            }),
        });
    }
    let summary = format!("there is no object {location}");
    Err(PortError::new(Condition::Missing, summary))
}

/// A piece of a file.
struct FileBytes {
    location: Location,
    file: tokio::io::Take<tokio::fs::File>,
}

impl ObjectBytes for FileBytes {
    fn chunk(&mut self) -> Reading<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let mut bytes = vec![0; CHUNK];
            let read = self.file.read(&mut bytes).await;
            let read = read.map_err(|error| unreadable(&self.location, &error))?;
            bytes.truncate(read);
            Ok((read > 0).then_some(bytes))
        })
    }
}

/// Lists the names in the first of `candidates` that is a directory, sorted; none when none is.
pub(super) async fn list_directory(
    location: &Location,
    candidates: &[PathBuf],
) -> Result<Vec<String>, PortError> {
    for path in candidates {
        let mut entries = match tokio::fs::read_dir(path).await {
            Ok(entries) => entries,
            Err(error) if is_absent(error.kind()) => continue,
            Err(error) => return Err(unreadable(location, &error)),
        };
        let mut names = BTreeSet::new();
        while let Some(entry) = entries
            .next_entry()
            .await
            .map_err(|error| unreadable(location, &error))?
        {
            names.insert(entry.file_name().to_string_lossy().into_owned());
        }
        return Ok(names.into_iter().collect());
    }
    Ok(Vec::new())
}

/// Writes the object as a file: over the first of `candidates` that is there, else as the first whose bucket's directory is,
/// else as the last. It gets its name when it is whole.
pub(super) async fn write_file(object: &Object, candidates: &[PathBuf]) -> Result<(), PortError> {
    let there = |path: &&PathBuf| path.is_file();
    let bucket = object.location.key().split('/').count();
    let known = |path: &&PathBuf| path.ancestors().nth(bucket).is_some_and(Path::is_dir);
    let chosen = candidates.iter().find(there);
    let chosen = chosen.or_else(|| candidates.iter().find(known));
    let Some(path) = chosen.or(candidates.last()) else {
        let summary = format!("{} is no file", object.location);
        return Err(PortError::new(Condition::Unknown, summary));
    };
    let written = write_whole(path, &object.bytes).await;
    written.map_err(|error| unwritten(&object.location, &error))
}

async fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        tokio::fs::create_dir_all(parent).await?;
    }
    // A name of this process': two of them may write one object, and the last one stays.
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = async {
        tokio::fs::write(&temporary, bytes).await?;
        tokio::fs::rename(&temporary, path).await
    };
    let written = written.await;
    if written.is_err() {
        // What is not there any more is what is wanted.
        let _ = tokio::fs::remove_file(&temporary).await;
    }
    written
}

fn unwritten(location: &Location, error: &std::io::Error) -> PortError {
    let condition = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Condition::Denied,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Condition::NoSpace,
        _ => Condition::Io,
    };
    PortError::new(condition, format!("{location} cannot be written")).because(error)
}

/// The error of an object beyond the limit.
pub(crate) fn too_large(location: &Location) -> PortError {
    let summary = format!("{location} is larger than {MAX_OBJECT_BYTES} bytes");
    PortError::new(Condition::Malformed, summary)
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn unreadable(location: &Location, error: &std::io::Error) -> PortError {
    let condition = match error.kind() {
        ErrorKind::PermissionDenied => Condition::Denied,
        _ => Condition::Io,
    };
    PortError::new(condition, format!("{location} cannot be read")).because(error)
}
