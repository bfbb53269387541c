//! The stages that are cargo's: formatting, lints, and the tests themselves.

use super::results::{Echo, Tally};
use crate::error::TaskError;
use crate::program::{cargo, run, spell};
use crate::workspace::Workspace;
use std::io::{self, BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};

/// The package whose tests drive the built binary; they come last and need more of the machine.
pub(super) const INTEGRATION: &str = "quake-integration";

/// Packages whose tests need features that the agent is not built with: tokio's virtual time, the simulation's memo. Apart
/// from them, the tests and the agent have the same dependencies, and the AWS crates are compiled once.
const APART: [&str; 7] = [
    "quake-bench",
    "quake-engine",
    "quake-http",
    "quake-proof",
    "quake-simulation",
    "quake-testkit",
    "xtask",
];

/// How the agent is built for tests. cargo chooses the features of dependencies by all packages that are named: with this
/// one, which tests of the agent use, they are those of the run of tests.
pub(crate) const TOGETHER: [&str; 4] = ["--package", "quake-agent", "--package", INTEGRATION];

/// Checks that every file is as rustfmt would write it.
pub(super) fn check_format(workspace: &Workspace) -> Result<String, TaskError> {
    run(cargo_in(workspace).args(["fmt", "--all", "--check"]))?;
    Ok("every file is formatted".to_owned())
}

/// Runs clippy over everything, tests included; a warning is an error.
pub(super) fn lint(workspace: &Workspace) -> Result<String, TaskError> {
    let mut command = cargo_in(workspace);
    command.args(["clippy", "--workspace", "--all-targets", "--locked"]);
    run(command.args(["--", "-D", "warnings"]))?;
    Ok("no warnings".to_owned())
}

/// Runs unit, property, golden and doc tests.
pub(super) fn test(workspace: &Workspace, tally: &mut Tally) -> Result<String, TaskError> {
    let mut together = cargo_in(workspace);
    together.args(["test", "--workspace", "--exclude", INTEGRATION]);
    let mut apart = cargo_in(workspace);
    apart.arg("test");
    for package in APART {
        together.args(["--exclude", package]);
        apart.args(["--package", package]);
    }
    let runs = [&mut together, &mut apart];
    verdict(
        runs.into_iter()
            .map(|run| count(run, &Shown::default(), tally)),
    )
}

/// The verdict of several runs, each of which is run: of tests that failed, how many did; else the first other error.
pub(super) fn verdict(
    results: impl IntoIterator<Item = Result<String, TaskError>>,
) -> Result<String, TaskError> {
    let mut reported = String::new();
    let (mut failed, mut other) = (0, None);
    for result in results {
        match result {
            Ok(report) => reported = report,
            Err(TaskError::TestsFailed { count }) => failed += count,
            Err(error) => other = other.or(Some(error)),
        }
    }
    match (other, failed) {
        (Some(error), _) => Err(error),
        (None, 0) => Ok(reported),
        (None, count) => Err(TaskError::TestsFailed { count }),
    }
}

pub(super) fn cargo_in(workspace: &Workspace) -> Command {
    let mut command = cargo();
    command.current_dir(&workspace.root);
    command
}

/// What of a test run is run and how it is shown.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Shown<'a> {
    /// What the names of tests must hold.
    pub(super) case: Option<&'a str>,
    /// What each line begins with, where several runs print at once.
    pub(super) binary: Option<&'a str>,
}

/// Runs a `cargo test`, shows it while it runs, and adds what it says to the tally.
///
/// # Errors
///
/// Says how many tests failed, or that cargo did.
pub(super) fn count(
    command: &mut Command,
    shown: &Shown<'_>,
    tally: &mut Tally,
) -> Result<String, TaskError> {
    command.args(["--locked", "--no-fail-fast", "--", "--show-output"]);
    command.args(shown.case);
    let failed_before = tally.failed.len();
    let status = follow(command, shown, tally).map_err(|source| TaskError::Start {
        command: spell(command),
        source,
    })?;
    let failed = tally.failed.len() - failed_before;
    match (failed, status.success()) {
        (0, true) => Ok("every test passed or said why it was skipped".to_owned()),
        (0, false) => Err(TaskError::Ended {
            command: spell(command),
            status,
        }),
        (count, _) => Err(TaskError::TestsFailed { count }),
    }
}

/// Reads a program's output line by line while it runs; its errors go to this terminal.
fn follow(command: &mut Command, shown: &Shown<'_>, tally: &mut Tally) -> io::Result<ExitStatus> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().expect("it was piped a line above");
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        if tally.read(&line) == Echo::Show {
            match shown.binary {
                Some(binary) => println!("{binary}: {line}"),
                None => println!("{line}"),
            }
        }
    }
    child.wait()
}
