//! A bundle onto a disk: whole or not at all, and for its owner alone.

use super::contents::hex;
use super::{Bundle, Recipients};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::Redactions;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What becomes of a file that is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is written.
    Keep,
    Replace,
}

/// A bundle that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// How many bytes the file has.
    pub bytes: u64,
    /// The digest of the file, in hex.
    pub sha256: String,
    pub files: usize,
    /// How often each kind of secret was masked in them.
    pub masked: Redactions,
}

/// Refuses a target at which nothing could be written: for those who would otherwise collect in vain.
///
/// # Errors
///
/// `Occupied` when something is there that is to stay, or is no file; `Missing` when its directory is not.
pub fn check_target(target: &Path, existing: Existing) -> Result<(), PortError> {
    let folder = folder_of(target);
    if target.file_name().is_none() || !folder.is_dir() {
        let summary = format!("there is no directory {}", folder.display());
        return Err(PortError::new(Condition::Missing, summary));
    }
    match target.symlink_metadata() {
        Ok(found) if existing == Existing::Replace && found.is_file() => Ok(()),
        Ok(_) => Err(occupied(target)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(refused(target, &error)),
    }
}

impl Bundle {
    /// Writes the bundle to `target`, encrypted if there are recipients, with mode 0600. What one file showed to be a
    /// secret is masked in all of them first.
    ///
    /// A crash leaves the target as it was, and at most a hidden file beside it.
    ///
    /// # Errors
    ///
    /// As [`check_target`]; `NoSpace`, `Denied` or `Io` when it cannot be written.
    pub fn write(
        &mut self,
        target: &Path,
        existing: Existing,
        recipients: &Recipients,
    ) -> Result<Written, PortError> {
        check_target(target, existing)?;
        self.settle();
        let bytes = recipients.seal(self.pack()?)?;
        place(target, existing, &bytes).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => occupied(target),
            _ => refused(target, &error),
        })?;
        Ok(Written {
            bytes: bytes.len() as u64,
            sha256: hex(&Sha256::digest(&bytes)),
            files: self.len(),
            masked: self.masked(),
        })
    }
}

fn folder_of(target: &Path) -> PathBuf {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

fn place(target: &Path, existing: Existing, bytes: &[u8]) -> io::Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder_of(target).join(format!(".{name}.{}", std::process::id()));
    let placed = fill(&temporary, bytes).and_then(|()| match existing {
        Existing::Replace => std::fs::rename(&temporary, target),
        // A link, unlike a rename, never takes the place of what came there in the meantime.
        Existing::Keep => std::fs::hard_link(&temporary, target),
    });
    // After a rename it is gone.
    let _ = std::fs::remove_file(&temporary);
    placed?;
    File::open(folder_of(target))?.sync_all()
}

fn fill(temporary: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // One that a killed process of the same number left is not written through: it may be anything.
    let _ = std::fs::remove_file(temporary);
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(temporary)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn occupied(target: &Path) -> PortError {
    let summary = format!("{} is there already", target.display());
    PortError::new(Condition::Occupied, summary)
        .remedied_by("name another file, or remove this one")
}

fn refused(target: &Path, error: &io::Error) -> PortError {
    let condition = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Condition::NoSpace,
        ErrorKind::PermissionDenied => Condition::Denied,
        ErrorKind::NotFound => Condition::Missing,
        _ => Condition::Io,
    };
    PortError::new(condition, format!("write {}", target.display())).because(error)
}
