//! Every shell script of ours through shellcheck: by its suffix, or by the shell its first line names.

use crate::error::TaskError;
use crate::program::{find_program, run};
use crate::workspace::{Workspace, files_below};
use std::io::Read;
use std::path::Path;
use std::process::Command;

/// Where broken nodes are: their scripts are an operator's mistakes, kept as they were found.
const BROKEN_NODES: &str = "integration/broken-nodes";

/// Lints every script of the repository but those of broken nodes.
///
/// # Errors
///
/// Fails when shellcheck finds something, or is not there.
pub(super) fn lint(workspace: &Workspace) -> Result<String, TaskError> {
    let broken = workspace.root.join(BROKEN_NODES);
    let scripts = files_below(&workspace.root, &|path| {
        !path.starts_with(&broken) && is_script(path)
    })?;
    let Some(shellcheck) = find_program("shellcheck") else {
        return Err(TaskError::Missing {
            tools: vec!["shellcheck".to_owned()],
            packages: vec!["shellcheck".to_owned()],
        });
    };
    let mut command = Command::new(shellcheck);
    command.current_dir(&workspace.root).arg("--");
    for script in &scripts {
        command.arg(script.strip_prefix(&workspace.root).unwrap_or(script));
    }
    if !scripts.is_empty() {
        run(&mut command)?;
    }
    Ok(format!("{} scripts are clean", scripts.len()))
}

fn is_script(path: &Path) -> bool {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("sh") => true,
        None => first_line(path).is_some_and(|line| names_a_shell(&line)),
        Some(_) => false,
    }
}

fn names_a_shell(line: &str) -> bool {
    let Some(interpreter) = line.strip_prefix("#!") else {
        return false;
    };
    interpreter
        .split([' ', '/'])
        .any(|word| matches!(word.trim(), "sh" | "bash" | "dash"))
}

/// The first line, as far as an interpreter line may go; `None` for what cannot be read.
fn first_line(path: &Path) -> Option<String> {
    let mut start = [0; 128];
    let length = std::fs::File::open(path).ok()?.read(&mut start).ok()?;
    let text = String::from_utf8_lossy(&start[..length]);
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_known_by_its_first_line() {
        for line in ["#!/bin/sh", "#!/usr/bin/env bash", "#!/bin/bash -e"] {
            assert!(names_a_shell(line), "{line}");
        }
        for line in ["#!/usr/bin/env python3", "sh", "#!/usr/bin/fish"] {
            assert!(!names_a_shell(line), "{line}");
        }
    }
}
