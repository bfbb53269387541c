//! `test`: every check and every test, all of them run to the end before the verdict.
//!
//! The last line is always `N passed, N failed, N skipped`. A test that could not run says so and is
//! listed by name above that line: nothing is left out in silence.

mod cargo_runs;
mod results;
mod scripts;
mod stages;
mod supply;
mod tools;

use crate::error::TaskError;
use crate::task::{Extent, FaultsMode};
use crate::workspace::Workspace;
use crate::{chain, faults, layers};
use results::Tally;
use stages::Stages;
use std::process::ExitCode;

/// Runs the stages, prints the table, what was skipped, and the closing line.
///
/// # Errors
///
/// None of its own: a stage that fails is in the table and in the exit status.
pub(crate) fn run(workspace: &Workspace, extent: Extent) -> Result<ExitCode, TaskError> {
    let mut stages = Stages::default();
    let mut tally = Tally::default();
    stages.run("tools", || tools::ensure(extent));
    stages.run("format", || cargo_runs::check_format(workspace));
    stages.run("layers", || layers::check(workspace));
    stages.run("faults", || faults::generate(workspace, FaultsMode::Check));
    stages.run("clippy", || cargo_runs::lint(workspace));
    stages.run("scripts", || scripts::lint(workspace));
    if extent == Extent::Full {
        stages.run("supply", || supply::check(workspace));
    }
    stages.run("tests", || cargo_runs::test(workspace, &mut tally));
    if extent == Extent::Full {
        stages.run("integration", || {
            cargo_runs::integrate(workspace, &mut tally)
        });
    }
    Ok(close(&stages, &tally))
}

fn close(stages: &Stages, tally: &Tally) -> ExitCode {
    println!("\n{stages}");
    for error in stages.failures() {
        println!("failed: {}", chain(error));
    }
    for name in &tally.failed {
        println!("failed test: {name}");
    }
    for skip in &tally.skipped {
        println!("skipped test: {skip}");
    }
    let is_counted = |error: &&TaskError| matches!(error, TaskError::TestsFailed { .. });
    let failed_stages = stages.failures().filter(|error| !is_counted(error)).count();
    println!("{}", tally.closing_line(failed_stages));
    if stages.failures().next().is_none() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
