//! The supply chain: licences, bans and sources of every dependency, and known advisories where they
//! can be had.

use crate::error::TaskError;
use crate::program::{cargo, find_program, run, succeeds};
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::process::Command;

/// The cargo-deny that deny.toml is written for.
const VERSION: &str = "0.20.2";

/// Seconds that the advisory database may take: it is a git repository on the internet.
const ADVISORIES_SECONDS: &str = "120";

/// Runs cargo-deny, built once into the target directory when this machine has none.
///
/// # Errors
///
/// Fails when cargo-deny finds something, or can neither be found nor built.
pub(super) fn check(workspace: &Workspace) -> Result<String, TaskError> {
    let deny = find_or_build(workspace)?;
    let deny = || {
        let mut command = Command::new(&deny);
        command.current_dir(&workspace.root).arg("--locked");
        command
    };
    // Without the graphs a duplicate version is one warning and not a hundred lines.
    run(deny().args([
        "check",
        "--hide-inclusion-graph",
        "bans",
        "licenses",
        "sources",
    ]))?;
    let mut fetch = Command::new("timeout");
    fetch
        .arg(ADVISORIES_SECONDS)
        .arg(deny().get_program())
        .args(["fetch", "db"])
        .current_dir(&workspace.root);
    if !succeeds(&mut fetch) {
        return Ok(
            "bans, licences and sources hold; advisories were NOT checked: \
                   the advisory database could not be fetched from here"
                .to_owned(),
        );
    }
    run(deny().args(["check", "advisories"]))?;
    Ok("bans, licences, sources and advisories hold".to_owned())
}

fn find_or_build(workspace: &Workspace) -> Result<PathBuf, TaskError> {
    let tools = workspace.target.join("tools");
    let built = tools.join("bin/cargo-deny");
    if let Some(found) = find_program("cargo-deny") {
        return Ok(found);
    }
    if !built.is_file() {
        let mut install = cargo();
        install
            .args(["install", "cargo-deny", "--locked", "--version", VERSION])
            // It reads one lock file: to optimize it takes minutes longer than to wait for it.
            .arg("--debug")
            .arg("--root")
            .arg(&tools)
            // Kept, so that a build that was stopped goes on where it was.
            .arg("--target-dir")
            .arg(tools.join("build"));
        run(&mut install)?;
    }
    Ok(built)
}
