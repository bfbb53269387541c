//! `test`: every check and every test, all of them run to the end before the verdict.
//!
//! The last line is always `N passed, N failed, N skipped`. A test that could not run says so and is
//! listed by name above that line: nothing is left out in silence.

mod cargo_runs;
mod integration;
mod results;
mod scripts;
mod stages;
mod supply;
mod tools;

use crate::error::TaskError;
use crate::task::{Extent, FaultsMode, Tier};
use crate::workspace::Workspace;
use crate::{chain, faults, layers, words};
pub(crate) use cargo_runs::TOGETHER;
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
    let needs = match extent {
        Extent::Quick => &[tools::Need::Checks][..],
        Extent::Full => &tools::Need::ALL,
    };
    stages.run("tools", || tools::ensure(needs));
    stages.run("format", || cargo_runs::check_format(workspace));
    stages.run("layers", || layers::check(workspace));
    stages.run("words", || words::check(workspace));
    stages.run("faults", || faults::generate(workspace, FaultsMode::Check));
    stages.run("clippy", || cargo_runs::lint(workspace));
    stages.run("scripts", || scripts::lint(workspace));
    if extent == Extent::Full {
        stages.run("supply", || supply::check(workspace));
    }
    stages.run("tests", || cargo_runs::test(workspace, &mut tally));
    if extent == Extent::Full {
        // The fleet's machines are many, and no part of what a change has to pass.
        run_tiers(
            &mut stages,
            &mut tally,
            &[Tier::Namespace, Tier::Machine],
            |tier, tally| integration::run(workspace, tier, None, tally),
        );
    }
    Ok(close(&stages, &tally))
}

/// Runs one tier of integration or all, each a stage; `case` is what the names of tests must hold.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn integrate(
    workspace: &Workspace,
    tier: Option<Tier>,
    case: Option<&str>,
) -> Result<ExitCode, TaskError> {
    let mut stages = Stages::default();
    let mut tally = Tally::default();
    let tiers = tier.map_or_else(|| Tier::ALL.to_vec(), |tier| vec![tier]);
    let needs = match tiers.contains(&Tier::Machine) || tiers.contains(&Tier::Fleet) {
        true => &[tools::Need::Integration, tools::Need::Machines][..],
        false => &[tools::Need::Integration],
    };
    stages.run("tools", || tools::ensure(needs));
    run_tiers(&mut stages, &mut tally, &tiers, |tier, tally| {
        integration::run(workspace, tier, case, tally)
    });
    Ok(close(&stages, &tally))
}

fn run_tiers(
    stages: &mut Stages,
    tally: &mut Tally,
    tiers: &[Tier],
    mut work: impl FnMut(Tier, &mut Tally) -> Result<String, TaskError>,
) {
    for tier in tiers {
        stages.run(tier.name(), || work(*tier, tally));
    }
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
