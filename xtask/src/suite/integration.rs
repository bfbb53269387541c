//! The tiers of integration: the built binary, then the tests that drive it.

use super::cargo_runs::{INTEGRATION, cargo_in, count_named};
use super::results::Tally;
use crate::error::TaskError;
use crate::program::run as run_program;
use crate::task::Tier;
use crate::workspace::{Workspace, files_below};
use std::path::Path;

/// Runs the tests of a tier; `case` is what their names must hold.
///
/// # Errors
///
/// Says that the binary could not be built, or how many tests failed.
pub(super) fn run(
    workspace: &Workspace,
    tier: Tier,
    case: Option<&str>,
    tally: &mut Tally,
) -> Result<String, TaskError> {
    run_program(cargo_in(workspace).args(["build", "--locked", "--package", "quake-agent"]))?;
    let binaries = match tier {
        Tier::Namespace => namespace_binaries(workspace)?,
        Tier::Machine | Tier::Fleet => vec![tier.name().to_owned()],
    };
    let mut command = cargo_in(workspace);
    command
        .args(["test", "--package", INTEGRATION])
        .env("QUAKE_AGENT", workspace.target.join("debug/quake-agent"));
    if tier == Tier::Namespace {
        command.arg("--lib");
    }
    for binary in &binaries {
        command.args(["--test", binary]);
    }
    let reported = count_named(&mut command, case, tally)?;
    Ok(match tier {
        Tier::Namespace => reported,
        Tier::Machine | Tier::Fleet => {
            let evidence = workspace.target.join("integration").join(tier.name());
            format!("{reported}; evidence in {}", evidence.display())
        }
    })
}

/// Every test binary that is not another tier's.
fn namespace_binaries(workspace: &Workspace) -> Result<Vec<String>, TaskError> {
    let tests = workspace.path("integration/tests");
    let is_binary = |path: &Path| {
        let is_main = path.file_name().is_some_and(|name| name == "main.rs");
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        is_main || (is_rust && path.parent() == Some(&tests))
    };
    let mut names = Vec::new();
    for file in files_below(&tests, &is_binary)? {
        let named = match file.parent() {
            Some(folder) if folder != tests => folder.file_name(),
            Some(_) | None => file.file_stem(),
        };
        names.extend(named.map(|name| name.to_string_lossy().into_owned()));
    }
    names.retain(|name| {
        let machines = [Tier::Machine, Tier::Fleet];
        machines.iter().all(|tier| tier.name() != name)
    });
    Ok(names)
}
