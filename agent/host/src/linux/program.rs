//! Runs a program of the node for the few effects that have no other interface: `modprobe`, `mkfs.ext4`
//! and `journalctl`. Its output is captured, its input is empty, and the wait for it has a deadline.

use quake_model::ports::{Condition, PortError};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::process::Command;

/// Where programs of the node are, whatever this process was started with.
const DIRECTORIES: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/sbin",
    "/sbin",
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
];

/// What becomes of a program that nobody waits for any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Abandon {
    /// It is killed.
    Kill,
    /// It goes on to its end: killing it half-way would leave something worse behind.
    Leave,
}

/// A program, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// The package that brings it, for the remedy.
    pub(crate) package: &'static str,
    pub(crate) deadline: Duration,
    pub(crate) abandon: Abandon,
}

impl Program {
    /// Runs the program once and returns its output and exit status, whatever that is.
    ///
    /// Fails with `Missing` when it is not installed, `TimedOut` or `Io`.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<Output, PortError> {
        let path = find(self.name).ok_or_else(|| self.missing())?;
        let child = Command::new(path)
            .args(arguments)
            // Messages are read, by us and by operators; they must not depend on the node's language.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(self.abandon == Abandon::Kill)
            .spawn()
            .map_err(|error| {
                PortError::new(Condition::Io, format!("start {}", self.name)).because(&error)
            })?;
        let ended = match self.abandon {
            Abandon::Kill => tokio::time::timeout(self.deadline, child.wait_with_output()).await,
            Abandon::Leave => {
                // A task of its own, so that a program left alone still finds a reader of its output.
                let reader = tokio::spawn(child.wait_with_output());
                let joined = tokio::time::timeout(self.deadline, reader).await;
                joined.map(|ended| ended.map_err(std::io::Error::other).flatten())
            }
        };
        let (name, seconds) = (self.name, self.deadline.as_secs());
        ended
            .map_err(|_| {
                let summary = format!("{name} did not end within {seconds} s");
                PortError::new(Condition::TimedOut, summary)
            })?
            .map_err(|error| {
                PortError::new(Condition::Io, format!("wait for {name}")).because(&error)
            })
    }

    fn missing(&self) -> PortError {
        let summary = format!("the program {} is not installed", self.name);
        PortError::new(Condition::Missing, summary)
            .remedied_by(format!("install the package {}", self.package))
    }
}

fn find(name: &str) -> Option<PathBuf> {
    DIRECTORIES
        .iter()
        .map(|directory| Path::new(directory).join(name))
        .find(|path| path.is_file())
}

/// What a program said when it failed, on one line: its errors, else its output.
pub(crate) fn complaint(output: &Output) -> String {
    let said = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    };
    let errors = said(&output.stderr);
    if errors.is_empty() {
        said(&output.stdout)
    } else {
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &'static str, deadline: Duration) -> Program {
        Program {
            name,
            package: "coreutils",
            deadline,
            abandon: Abandon::Kill,
        }
    }

    #[tokio::test]
    async fn a_program_that_is_not_installed_is_missing_and_names_its_package() {
        let error = program("no-such-program", Duration::from_secs(5))
            .run(&[])
            .await
            .unwrap_err();
        assert_eq!(error.condition, Condition::Missing);
        assert_eq!(
            error.remedy.as_deref(),
            Some("install the package coreutils")
        );
    }

    #[tokio::test]
    async fn a_failing_program_gives_its_status_and_its_complaint() {
        let ls = program("ls", Duration::from_secs(20));
        let output = ls.run(&["/no/such/path"]).await.expect("ls runs");
        assert!(!output.status.success());
        assert!(
            complaint(&output).contains("No such file"),
            "{}",
            complaint(&output)
        );
    }

    #[tokio::test]
    async fn a_program_past_its_deadline_is_given_up() {
        let sleep = program("sleep", Duration::from_millis(20));
        let error = sleep.run(&["60"]).await.unwrap_err();
        assert_eq!(error.condition, Condition::TimedOut);
    }
}
