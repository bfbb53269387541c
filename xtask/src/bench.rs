//! `bench`: measures the agent that would be published beside other ways, and writes the report.

use crate::dist;
use crate::error::TaskError;
use crate::program::{cargo, run};
use crate::task::DEFAULT_TARGET;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the agent, unless `agent` is one already, and hands `words` to the harness.
///
/// # Errors
///
/// Fails when something cannot be built, or the harness fails.
pub(crate) fn measure(
    workspace: &Workspace,
    agent: Option<&Path>,
    words: &[String],
) -> Result<(), TaskError> {
    let agent: PathBuf = match agent {
        Some(agent) => agent.to_path_buf(),
        None => dist::compile_for(workspace, DEFAULT_TARGET)?,
    };
    run(cargo()
        .args(["build", "--release", "--package", "quake-bench"])
        .args(["--bin", "quake-side-by-side"])
        .current_dir(&workspace.root))?;
    run(
        Command::new(workspace.target.join("release/quake-side-by-side"))
            .arg("--agent")
            .arg(agent)
            .arg("--work")
            .arg(workspace.target.join("bench-data"))
            .arg("--report")
            .arg(workspace.path("bench/REPORT.md"))
            .args(words),
    )
}
