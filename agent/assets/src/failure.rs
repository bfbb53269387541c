//! What a failure of the store's own filesystem means.

use nix::sys::statvfs::statvfs;
use quake_model::ports::{Condition, PortError};
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::Path;

/// The error of something done to `path`: a full filesystem is told apart, with its figures.
///
/// A permission the store itself lacks is `Io` and never `Denied`, which a mirror says.
pub(super) fn store_failure(path: &Path, what: &str, error: &std::io::Error) -> PortError {
    let full = matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    );
    let condition = if full {
        Condition::NoSpace
    } else {
        Condition::Io
    };
    let described = PortError::new(condition, format!("{} cannot be {what}", path.display()));
    let described = described.because(error);
    match free_bytes(path) {
        Some(free) if full => described.seen("free-bytes", free),
        _ => described,
    }
}

/// What stands at a path itself; `None` when nothing does.
pub(super) fn metadata_of(path: &Path) -> Result<Option<Metadata>, PortError> {
    match path.symlink_metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(store_failure(path, "looked at", &error)),
    }
}

/// Whether `needed` bytes fit on the filesystem of `folder`; where it does not say how many are left, the write will.
pub(super) fn check_room(folder: &Path, needed: u64) -> Result<(), PortError> {
    free_bytes(folder).map_or(Ok(()), |free| check_space(folder, needed, free))
}

/// Whether `needed` bytes fit where `free` are left.
///
/// # Errors
///
/// `NoSpace` with both figures when they do not.
fn check_space(folder: &Path, needed: u64, free: u64) -> Result<(), PortError> {
    if needed <= free {
        return Ok(());
    }
    let summary = format!("{} needs {needed} bytes and has {free}", folder.display());
    Err(PortError::new(Condition::NoSpace, summary)
        .seen("needed-bytes", needed)
        .seen("free-bytes", free))
}

/// Bytes that an ordinary process may still write on the filesystem of `path` or of its nearest
/// ancestor that exists.
pub(super) fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
    let figures = statvfs(existing).ok()?;
    Some(figures.blocks_available() * figures.fragment_size())
}

/// Runs file work on a thread that may block.
///
/// # Errors
///
/// Those of `work`; `Io` when its thread was ended from outside.
pub(super) async fn on_blocking_thread<T, F>(work: F) -> Result<T, PortError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, PortError> + Send + 'static,
{
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|error| {
        PortError::new(Condition::Io, "the thread of a file operation ended early").because(&error)
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_filesystem_is_told_apart_with_its_free_bytes() {
        let here = Path::new("/tmp/not/there");
        let full = std::io::Error::from_raw_os_error(nix::libc::ENOSPC);
        let error = store_failure(here, "written", &full);
        assert_eq!(error.condition, Condition::NoSpace);
        assert_eq!(error.evidence[0].name, "free-bytes");
        let denied = std::io::Error::from_raw_os_error(nix::libc::EACCES);
        assert_eq!(
            store_failure(here, "written", &denied).condition,
            Condition::Io
        );
    }

    #[test]
    fn a_path_that_nothing_stands_at_is_told_apart_from_one_that_cannot_be_looked_at() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let file = folder.path().join("file");
        std::fs::write(&file, "x").expect("ours");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).expect("ours");
        let too_long = folder.path().join("x".repeat(256));
        let is_file = |path: &Path| metadata_of(path).map(|found| found.map(|it| it.is_file()));
        assert_eq!(is_file(&file), Ok(Some(true)));
        assert_eq!(is_file(&link), Ok(Some(false)));
        for absent in [folder.path().join("absent"), file.join("below")] {
            assert_eq!(is_file(&absent), Ok(None), "{}", absent.display());
        }
        let error = is_file(&too_long).expect_err("no name is so long");
        assert_eq!(error.condition, Condition::Io);
    }

    #[test]
    fn a_file_larger_than_the_free_space_is_refused_with_both_figures() {
        let error = check_space(Path::new("/x"), 11, 10).expect_err("one byte is lacking");
        assert_eq!(error.condition, Condition::NoSpace);
        assert_eq!(error.summary, "/x needs 11 bytes and has 10");
        assert_eq!(check_space(Path::new("/x"), 10, 10), Ok(()));
    }
}
