//! The repository as cargo sees it: its root, its target directory, its packages and what they declare.

use crate::error::TaskError;
use crate::program::{capture, cargo, spell};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// One dependency as a manifest declares it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Dependency {
    /// The package it names, whatever it is renamed to.
    pub(crate) name: String,
    /// `None` for a normal one, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

/// One package of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) dependencies: Vec<Dependency>,
}

/// The part of `cargo metadata` that the tasks read.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Workspace {
    /// The members, and nothing else.
    pub(crate) packages: Vec<Package>,
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    #[serde(rename = "target_directory")]
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Asks cargo about the workspace this task belongs to; no network, no resolution.
    ///
    /// # Errors
    ///
    /// Fails when cargo does, or prints something else than its metadata.
    pub(crate) fn find() -> Result<Self, TaskError> {
        let here = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let mut command = cargo();
        command
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .current_dir(here);
        let output = capture(&mut command)?;
        serde_json::from_slice(&output).map_err(|source| TaskError::Output {
            command: spell(&command),
            source,
        })
    }

    /// The version of the package called `name`, empty when there is none.
    pub(crate) fn version_of(&self, name: &str) -> &str {
        self.packages
            .iter()
            .find(|package| package.name == name)
            .map_or("", |package| &package.version)
    }

    /// A path below the root.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }
}

/// Every file below `folder` for which `wanted` says yes, sorted; git's directory and cargo's are left out.
///
/// A directory that does not exist has no files.
///
/// # Errors
///
/// Fails when a directory cannot be listed.
pub(crate) fn files_below(
    folder: &Path,
    wanted: &dyn Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, TaskError> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(&folder).map_err(TaskError::path(&folder))? {
            let entry = entry.map_err(TaskError::path(&folder))?;
            let kind = entry.file_type().map_err(TaskError::path(entry.path()))?;
            let name = entry.file_name();
            if kind.is_dir() && name != "target" && name != ".git" {
                folders.push(entry.path());
            } else if kind.is_file() && wanted(&entry.path()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}
