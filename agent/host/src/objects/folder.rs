//! Objects that are files of this machine.

use quake_model::location::Location;
use quake_model::ports::{Condition, Object, PortError};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
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

/// Lists the names in the first of `candidates` that is a directory, sorted; none when none is.
///
/// # Errors
///
/// `Denied` or `Io` when it cannot be read.
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
