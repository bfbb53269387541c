//! The man pages and the completions of shells, which the published binary writes itself: so they are of that very version.

use crate::error::TaskError;
use crate::program::capture;
use std::path::Path;
use std::process::Command;

/// The shells, and what each calls the file of a command's completions.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "quake-agent"),
    ("zsh", "_quake-agent"),
    ("fish", "quake-agent.fish"),
];

/// Writes `man/` and `completions/` into the directory; how many files, or `None` where this machine cannot run the binary, as
/// when it is another architecture's.
///
/// # Errors
///
/// Fails when the binary does, or a file cannot be written.
pub(super) fn write(binary: &Path, folder: &Path) -> Result<Option<usize>, TaskError> {
    if Command::new(binary).arg("version").output().is_err() {
        return Ok(None);
    }
    let pages = folder.join("man");
    // Pages of commands that are no more must not be published.
    if pages.exists() {
        std::fs::remove_dir_all(&pages).map_err(TaskError::path(&pages))?;
    }
    let written = capture(Command::new(binary).args(["man", "--out"]).arg(&pages))?;
    let mut files = String::from_utf8_lossy(&written).lines().count();
    for (shell, name) in SHELLS {
        let text = capture(Command::new(binary).args(["completions", shell]))?;
        let path = folder.join("completions").join(shell).join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(TaskError::path(parent))?;
        std::fs::write(&path, text).map_err(TaskError::path(&path))?;
        files += 1;
    }
    Ok(Some(files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_that_cannot_be_run_here_has_no_manual() {
        let binary = Path::new("/no/such/binary");
        assert!(matches!(write(binary, Path::new("/no/folder")), Ok(None)));
    }
}
