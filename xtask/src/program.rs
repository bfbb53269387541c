//! Running other programs: one that must succeed, one whose output is wanted, and whether one is there.

use crate::error::TaskError;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The cargo that started this task, or the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The command as an operator would type it.
pub(crate) fn spell(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = command.get_args().map(|word| word.to_string_lossy());
    std::iter::once(name.to_string_lossy())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs a program on this terminal.
///
/// # Errors
///
/// Fails when it cannot be started, or ends with anything but success.
pub(crate) fn run(command: &mut Command) -> Result<(), TaskError> {
    let status = command.status().map_err(|source| TaskError::Start {
        command: spell(command),
        source,
    })?;
    if status.success() {
        return Ok(());
    }
    Err(TaskError::Ended {
        command: spell(command),
        status,
    })
}

/// Runs a program and returns what it printed; its errors go to this terminal.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn capture(command: &mut Command) -> Result<Vec<u8>, TaskError> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| TaskError::Start {
            command: spell(command),
            source,
        })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(TaskError::Ended {
        command: spell(command),
        status: output.status,
    })
}

/// Whether a program says yes, silently.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Where a program is: on the path, or where Debian keeps what only root needs.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_says_no_is_an_error_that_names_it() {
        let error = run(&mut Command::new("false")).expect_err("false fails");
        assert_eq!(error.to_string(), "false ended with exit status: 1");
    }

    #[test]
    fn a_program_that_is_not_there_is_not_found() {
        assert_eq!(find_program("no-such-program-anywhere"), None);
        assert!(find_program("sh").is_some());
    }
}
