//! `simulate`: builds the simulation with optimisations and hands it its words.

use crate::error::TaskError;
use crate::program::{cargo, run};
use crate::workspace::Workspace;

/// Runs simulated worlds.
///
/// # Errors
///
/// Fails when it cannot be built, or when a law was broken.
pub(crate) fn run_worlds(workspace: &Workspace, words: &[String]) -> Result<(), TaskError> {
    run(cargo()
        .args(["run", "--profile", "simulation", "--quiet"])
        .args(["--package", "quake-simulation", "--"])
        .args(words)
        .current_dir(&workspace.root))
}
