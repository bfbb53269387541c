//! Runs programs that the machine has, found where a machine has them and not where this process was told to look.

use crate::linux::DIRECTORIES;
use quake_model::ports::{Condition, PortError};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::process::Command;

/// How long a command may take that nothing better is known of. A guess.
pub(super) const DEADLINE: Duration = Duration::from_secs(2 * 60);

/// As many characters of what a program said as are told.
const TOLD: usize = 400;

/// Programs that need more than the agent's own unit leaves to its children: capabilities, set-user-ID files, scripts of
/// packages that do anything.
const CHANGING: &[&str] = &["apt-get", "dpkg", "dnf", "groupadd", "useradd"];

/// Runs a program as a service of its own, outside of what confines its caller.
const OUTSIDE: &str = "systemd-run";

/// How: waited for, with its output and its status as the caller's own, and nothing left behind.
const AS_A_SERVICE: &[&str] = &[
    "--quiet",
    "--collect",
    "--wait",
    "--pipe",
    "--service-type=exec",
    "--setenv=LC_ALL=C",
    "--setenv=DEBIAN_FRONTEND=noninteractive",
];

/// Programs of a machine, and its files.
#[derive(Debug, Clone)]
pub struct Programs {
    directories: Vec<PathBuf>,
    root: PathBuf,
    /// Whether children get less than root has, as below the agent's own unit.
    is_confined: bool,
}

impl Programs {
    /// Those of this machine.
    pub fn of_this_machine() -> Self {
        Self {
            directories: DIRECTORIES.iter().map(PathBuf::from).collect(),
            root: PathBuf::from("/"),
            is_confined: is_confined(),
        }
    }

    /// Programs of one directory alone, and files below a root that stands for `/`: for tests.
    pub fn of_directory(directory: &Path, root: &Path) -> Self {
        Self {
            directories: vec![directory.to_owned()],
            root: root.to_owned(),
            is_confined: false,
        }
    }

    /// The same below a unit that takes rights away, whether or not this process is: for tests.
    #[must_use]
    pub fn confined(self) -> Self {
        Self {
            is_confined: true,
            ..self
        }
    }

    /// Whether the machine has a program of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        let mut paths = self.directories.iter().map(|folder| folder.join(name));
        paths.any(|path| path.is_file())
    }

    /// Whether something stands at a path of the machine.
    pub(super) fn is_there(&self, path: &str) -> bool {
        self.root.join(path.trim_start_matches('/')).exists()
    }

    /// Runs a program to its end, whatever that is. One that is not waited for any more goes on: a package manager that is
    /// killed half-way leaves half a package.
    pub(super) async fn run(
        &self,
        words: &[&str],
        deadline: Duration,
    ) -> Result<Output, PortError> {
        let Some((name, arguments)) = words.split_first() else {
            return Err(PortError::new(Condition::Missing, "a command has no words"));
        };
        let path = std::env::join_paths(&self.directories).unwrap_or_default();
        let program = self.found(name);
        let outside =
            self.is_confined && CHANGING.iter().any(|known| known == name) && self.has(OUTSIDE);
        let mut command = if outside {
            let mut command = Command::new(self.found(OUTSIDE));
            command.args(AS_A_SERVICE);
            let mut setting = OsString::from("--setenv=PATH=");
            setting.push(&path);
            command.arg(setting).arg("--").arg(program);
            command
        } else {
            Command::new(program)
        };
        command
            .args(arguments)
            .env("PATH", path)
            .env("LC_ALL", "C")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null());
        match tokio::time::timeout(deadline, command.output()).await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => {
                let condition = match error.kind() {
                    std::io::ErrorKind::NotFound => Condition::Missing,
                    _ => Condition::Io,
                };
                Err(PortError::new(condition, format!("{name} cannot be run")).because(&error))
            }
            Err(_) => {
                let summary = format!("{name} did not end within {} s", deadline.as_secs());
                Err(PortError::new(Condition::TimedOut, summary))
            }
        }
    }

    /// Where a program is; a name with a directory is taken as it is.
    fn found(&self, name: &str) -> PathBuf {
        if name.contains('/') {
            return PathBuf::from(name);
        }
        let mut paths = self.directories.iter().map(|folder| folder.join(name));
        let none = self.directories.first().map(|folder| folder.join(name));
        paths
            .find(|path| path.is_file())
            .or(none)
            .unwrap_or_default()
    }
}

/// Whether systemd, or whoever started this process, keeps its children from getting more rights (proc(5), `NoNewPrivs`).
fn is_confined() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .filter_map(|line| line.strip_prefix("NoNewPrivs:"))
        .any(|value| value.trim() == "1")
}

/// The error of a program that did not end well, with the end of what it said.
pub(super) fn complaint(words: &[&str], output: &Output) -> PortError {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    let start = said.chars().count().saturating_sub(TOLD);
    let end: String = said.chars().skip(start).collect();
    let summary = format!("{} ended with {}", words.join(" "), output.status);
    PortError::new(Condition::Io, summary).seen("said", end)
}
