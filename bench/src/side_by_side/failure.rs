//! How a measurement fails.

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// A program is not there, or may not be run.
    #[error("{command} could not be started")]
    Start {
        command: String,
        #[source]
        source: io::Error,
    },
    /// A program ran and said no.
    #[error("{command} ended with {status}: {said}")]
    Ended {
        command: String,
        status: ExitStatus,
        said: String,
    },
    /// A program did not end in time, and was killed.
    #[error("{command} was still running after {} s", limit.as_secs())]
    Expired { command: String, limit: Duration },
    /// A file or directory could not be read or written.
    #[error("{} could not be used", path.display())]
    Path {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file of our own is not what was written there.
    #[error("{what} could not be read")]
    Document {
        what: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("{call} was refused")]
    Kernel {
        call: &'static str,
        #[source]
        source: nix::Error,
    },
    #[error("{tool} is not installed; install it with: apt-get install {package}")]
    Missing {
        tool: &'static str,
        package: &'static str,
    },
    /// Something is not as a measurement needs it.
    #[error("{0}")]
    Unfit(String),
}

impl BenchError {
    /// An error about a path, for `map_err`.
    pub(crate) fn path(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Path { path, source }
    }

    /// An error of a call of the kernel's, for `map_err`.
    pub(crate) fn kernel(call: &'static str) -> impl FnOnce(nix::Error) -> Self {
        move |source| Self::Kernel { call, source }
    }
}

/// The command as one would type it, without its directory.
pub(crate) fn spell(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = command.get_args().map(|word| word.to_string_lossy());
    std::iter::once(name.to_string_lossy())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs a program that must succeed, and returns what it printed.
///
/// # Errors
///
/// Fails when it cannot be started, or ends with anything but success.
pub(crate) fn capture(command: &mut Command) -> Result<Vec<u8>, BenchError> {
    let output = command.output().map_err(|source| BenchError::Start {
        command: spell(command),
        source,
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(BenchError::Ended {
        command: spell(command),
        status: output.status,
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// Where a program is: on the path, or where Debian keeps what only root needs.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}
