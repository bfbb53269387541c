//! Runs a program of the node for the few effects that have no other interface: `modprobe`, `mkfs.ext4`
//! and `journalctl`, or a runtime's client. Its output is captured, its input is empty unless it is fed, and the wait for
//! it has a deadline.

use quake_model::ports::{Condition, PortError};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::process::{Child, ChildStdin, Command};

/// Where programs of the node are, whatever this process was started with.
pub(crate) const DIRECTORIES: [&str; 6] = [
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
    Kill,
    /// It goes on to its end: killing it half-way would leave something worse behind.
    Leave,
}

/// Writes what a program is to read; blocks. Ends early when the program does.
pub type Feed = Box<dyn FnOnce(&mut dyn Write) -> std::io::Result<u64> + Send>;

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
        let child = self.start(arguments, Stdio::null())?;
        self.wait(child).await
    }

    /// Runs the program once on what `feed` writes to its input, and returns its output and exit status.
    ///
    /// Fails as [`Program::run`]; with `Malformed` when the feed fails, and then the program is killed before it could
    /// take the end of its input for the end of what it was to read.
    pub(crate) async fn run_fed(
        &self,
        arguments: &[&str],
        feed: Feed,
    ) -> Result<Output, PortError> {
        let mut child = self.start(arguments, Stdio::piped())?;
        let input = child.stdin.take().map(ChildStdin::into_owned_fd);
        let input = input.transpose().map_err(|error| self.unusable(&error))?;
        let feeding = tokio::task::spawn_blocking(move || {
            let Some(input) = input else { return Ok(()) };
            let mut input = File::from(input);
            match feed(&mut input) {
                // A program that ended early says why by itself.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => Err((error, input)),
                Ok(_) | Err(_) => Ok(()),
            }
        });
        let fed = async {
            match feeding.await {
                Ok(Err((error, input))) => Err((error, Some(input))),
                Ok(Ok(())) => Ok(()),
                Err(ended) => Err((std::io::Error::other(ended), None)),
            }
        };
        let mut waited = Box::pin(self.wait(child));
        let broken = tokio::select! {
            output = &mut waited => return output,
            fed = fed => fed.err(),
        };
        let Some((error, input)) = broken else {
            return waited.await;
        };
        // Killed first, and then its input ends.
        drop(waited);
        drop(input);
        let summary = format!("what {} was to read is broken", self.name);
        Err(PortError::new(Condition::Malformed, summary).because(&error))
    }

    fn start(&self, arguments: &[&str], input: Stdio) -> Result<Child, PortError> {
        let path = find_program(self.name).ok_or_else(|| self.missing())?;
        Command::new(path)
            .args(arguments)
            // Messages are read, by us and by operators; they must not depend on the node's language.
            .env("LC_ALL", "C")
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(self.abandon == Abandon::Kill)
            .spawn()
            .map_err(|error| self.unusable(&error))
    }

    async fn wait(&self, child: Child) -> Result<Output, PortError> {
        let ending = child.wait_with_output();
        if self.abandon == Abandon::Kill {
            return output_within(self.name, self.deadline, ending).await;
        }
        // A task of its own, so that a program left alone still finds a reader of its output.
        let reader = tokio::spawn(ending);
        let ending = async { reader.await.map_err(std::io::Error::other).flatten() };
        output_within(self.name, self.deadline, ending).await
    }

    fn unusable(&self, error: &std::io::Error) -> PortError {
        not_started(self.name, error)
    }

    fn missing(&self) -> PortError {
        let summary = format!("the program {} is not installed", self.name);
        PortError::new(Condition::Missing, summary)
            .remedied_by(format!("install the package {}", self.package))
    }
}

/// What a program printed by its end, which is waited for so long.
pub(crate) async fn output_within(
    name: &str,
    deadline: Duration,
    ending: impl Future<Output = std::io::Result<Output>>,
) -> Result<Output, PortError> {
    let Ok(ended) = tokio::time::timeout(deadline, ending).await else {
        let summary = format!("{name} did not end within {} s", deadline.as_secs());
        return Err(PortError::new(Condition::TimedOut, summary));
    };
    ended.map_err(|error| PortError::new(Condition::Io, format!("wait for {name}")).because(&error))
}

/// A program that did not start.
pub(crate) fn not_started(name: &str, error: &std::io::Error) -> PortError {
    PortError::new(Condition::Io, format!("start {name}")).because(error)
}

pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
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
    async fn a_program_reads_what_it_is_fed_to_the_end() {
        let cat = program("cat", Duration::from_secs(20));
        let text = "line\n".repeat(100_000);
        let fed = text.clone();
        let feed: Feed = Box::new(move |input| {
            input.write_all(fed.as_bytes())?;
            Ok(fed.len() as u64)
        });
        let output = cat.run_fed(&[], feed).await.expect("cat runs");
        assert!(output.status.success() && output.stdout == text.as_bytes());
    }

    #[tokio::test]
    async fn a_program_whose_feed_breaks_never_sees_the_end_of_its_input() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let end = folder.path().join("end");
        let sh = program("sh", Duration::from_secs(20));
        let feed: Feed = Box::new(|input| {
            input.write_all(b"half")?;
            Err(std::io::Error::other("the other half is lost"))
        });
        let script = format!("cat >/dev/null; touch {}", end.display());
        let error = sh.run_fed(&["-c", &script], feed).await.unwrap_err();
        assert_eq!(error.condition, Condition::Malformed);
        assert!(!end.exists());
    }

    #[tokio::test]
    async fn a_program_that_ends_before_its_input_does_says_why_itself() {
        let ls = program("ls", Duration::from_secs(20));
        let feed: Feed = Box::new(|input| {
            (0..1_000).try_for_each(|_| input.write_all(&[0; 4096]))?;
            Ok(0)
        });
        let output = ls.run_fed(&["/no/such/path"], feed).await.expect("ls runs");
        assert!(complaint(&output).contains("No such file"));
    }

    #[tokio::test]
    async fn a_program_past_its_deadline_is_given_up() {
        let sleep = program("sleep", Duration::from_millis(20));
        let error = sleep.run(&["60"]).await.unwrap_err();
        assert_eq!(error.condition, Condition::TimedOut);
    }
}
