//! One attempt on the machine: run off the asynchronous threads, its error put into the ports' words.

use nix::libc;
use quake_model::ports::{Condition, PortError};
use std::io;

/// Runs blocking `work` where it holds up no other task.
pub(super) async fn blocking<T, W>(work: W) -> Result<T, PortError>
where
    T: Send + 'static,
    W: FnOnce() -> Result<T, PortError> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(PortError::new(Condition::Io, "the attempt ended early").because(&error)),
    }
}

/// The condition that an error of the operating system is.
pub(crate) fn condition_of(error: &io::Error) -> Condition {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => Condition::NoSpace,
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => Condition::Denied,
        Some(libc::ENOENT | libc::ENXIO) => Condition::Missing,
        Some(libc::EISDIR | libc::ENOTDIR | libc::ENOTEMPTY) => Condition::Occupied,
        _ => Condition::Io,
    }
}

/// The failed attempt that `error` is; `summary` says what was tried on what.
pub(super) fn os_error(summary: impl Into<String>, error: &io::Error) -> PortError {
    PortError::new(condition_of(error), summary).because(error)
}
