//! `faults`: docs/reference, written from the catalogue so that it cannot say anything else: an index, and a page a code.

use crate::error::TaskError;
use crate::program::{capture, cargo, run, spell};
use crate::suite::TOGETHER;
use crate::task::FaultsMode;
use crate::workspace::{Workspace, files_below};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const INDEX: &str = "docs/reference/faults.md";
const PAGES: &str = "docs/reference/faults";

/// Writes the reference, or compares it; says which. Pages of codes that are no more are removed.
///
/// # Errors
///
/// Fails when a file cannot be used, or differs from the catalogue.
pub(crate) fn generate(workspace: &Workspace, mode: FaultsMode) -> Result<String, TaskError> {
    let wanted = wanted(workspace)?;
    let stale = stale(&workspace.root, &wanted)?;
    match mode {
        FaultsMode::Write => {
            for (file, text) in &wanted {
                write(&workspace.path(file), text)?;
            }
            for file in &stale {
                std::fs::remove_file(file).map_err(TaskError::path(file))?;
            }
            let (files, gone) = (wanted.len(), stale.len());
            Ok(format!(
                "faults: wrote {files} files: {INDEX}, {PAGES}, checks; removed {gone} pages"
            ))
        }
        FaultsMode::Check => check(workspace, &wanted, &stale),
    }
}

/// Every file and its text, from the program beside the catalogue that writes them.
///
/// # Errors
///
/// Fails when the program cannot be built or prints something else.
fn wanted(workspace: &Workspace) -> Result<BTreeMap<String, String>, TaskError> {
    // With the dependencies that the tests have, too.
    let mut build = cargo();
    build.args(["build", "--quiet", "--package", "quake-diagnose"]);
    build.args(TOGETHER).args(["--example", "reference"]);
    run(build.current_dir(&workspace.root))?;
    let mut program = Command::new(workspace.target.join("debug/examples/reference"));
    let printed = capture(&mut program)?;
    serde_json::from_slice(&printed).map_err(|source| TaskError::Output {
        command: spell(&program),
        source,
    })
}

/// What stands among the pages and is none.
fn stale(root: &Path, wanted: &BTreeMap<String, String>) -> Result<Vec<PathBuf>, TaskError> {
    let files = files_below(&root.join(PAGES), &|_| true)?;
    let is_stale = |file: &PathBuf| {
        let relative = file.strip_prefix(root).unwrap_or(file);
        !wanted.contains_key(relative.to_string_lossy().as_ref())
    };
    Ok(files.into_iter().filter(is_stale).collect())
}

fn write(path: &Path, text: &str) -> Result<(), TaskError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(TaskError::path(folder))?;
    }
    std::fs::write(path, text).map_err(TaskError::path(path))
}

fn check(
    workspace: &Workspace,
    wanted: &BTreeMap<String, String>,
    stale: &[PathBuf],
) -> Result<String, TaskError> {
    let differs = |(file, text): &(&String, &String)| {
        // A file that cannot be read is as one that is not there.
        !std::fs::read_to_string(workspace.path(file)).is_ok_and(|found| found == **text)
    };
    let differing = wanted.iter().filter(differs);
    let mut findings: Vec<String> = differing
        .map(|(file, _)| format!("{file} differs from the catalogue"))
        .collect();
    findings.extend(stale.iter().map(|file| {
        let file = file.strip_prefix(&workspace.root).unwrap_or(file);
        format!("{} is of no code", file.display())
    }));
    if findings.is_empty() {
        let files = wanted.len();
        return Ok(format!(
            "faults: the {files} files of {INDEX}, {PAGES} and checks are current"
        ));
    }
    findings.push("write them with: cargo xtask faults".to_owned());
    Err(TaskError::Findings {
        check: "faults",
        findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_no_code_is_stale_and_those_of_codes_are_not() {
        let root = std::env::temp_dir().join(format!("faults-{}", std::process::id()));
        let page = format!("{PAGES}/assets.not-found.md");
        let wanted = BTreeMap::from([(page.clone(), "x".to_owned())]);
        write(&root.join(page), "x").expect("a scratch directory");
        assert!(stale(&root, &wanted).expect("it lists").is_empty());
        let renamed = root.join(PAGES).join("assets.lost.md");
        write(&renamed, "x").expect("a scratch directory");
        assert_eq!(stale(&root, &wanted).expect("it lists"), [renamed]);
        std::fs::remove_dir_all(root).expect("it is ours");
    }
}
