//! `bench`: measures the agent that would be published beside other ways, and writes the report.

use crate::dist;
use crate::error::TaskError;
use crate::program::{cargo, run};
use crate::task::DEFAULT_TARGET;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many boots under a real systemd are measured.
const BOOTS: &str = "5";

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
    let (words, systemd): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| *word != "--systemd");
    let words: Vec<&str> = words.into_iter().map(String::as_str).collect();
    if systemd.is_empty() {
        return side_by_side(workspace, &agent, &words);
    }
    // The harness makes the files and the certificate, and tells in the end what was found.
    let only_report = ["--only-report"];
    let first = if words.is_empty() {
        &only_report
    } else {
        words.as_slice()
    };
    side_by_side(workspace, &agent, first)?;
    under_systemd(workspace, &agent)?;
    side_by_side(workspace, &agent, &only_report)
}

/// The harness with these words.
fn side_by_side(workspace: &Workspace, agent: &Path, words: &[&str]) -> Result<(), TaskError> {
    build(workspace, "quake-bench", "quake-side-by-side")?;
    build(workspace, "quake-integration", "quake-kops-worker")?;
    let built = workspace.target.join("release");
    run(Command::new(built.join("quake-side-by-side"))
        .arg("--agent")
        .arg(agent)
        .arg("--kops-worker")
        .arg(built.join("quake-kops-worker"))
        .arg("--work")
        .arg(work(workspace))
        .arg("--report")
        .arg(workspace.path("bench/REPORT.md"))
        .args(words))
}

fn build(workspace: &Workspace, package: &str, program: &str) -> Result<(), TaskError> {
    run(cargo()
        .args(["build", "--release", "--package", package])
        .args(["--bin", program])
        .current_dir(&workspace.root))
}

fn work(workspace: &Workspace) -> PathBuf {
    workspace.target.join("bench-data")
}

/// Boots of a container by the agent's own unit; what they took is kept beside the harness' own results.
fn under_systemd(workspace: &Workspace, agent: &Path) -> Result<(), TaskError> {
    let program = "quake-real-systemd";
    build(workspace, "quake-integration", program)?;
    run(Command::new(workspace.target.join("release").join(program))
        .arg(work(workspace))
        .arg(BOOTS)
        .env("QUAKE_AGENT", agent)
        // The example cluster is found from there, as its tests find it.
        .current_dir(workspace.path("integration")))
}
