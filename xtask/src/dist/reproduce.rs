//! `dist --reproduce`: anyone who builds the same commit gets the same bytes, wherever their checkout is.

use super::compile_checkout;
use crate::error::TaskError;
use crate::program::{capture, run};
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the two checkouts are, below the target directory: of different lengths and depths.
const CHECKOUTS: [&str; 2] = ["reproduce/first", "reproduce/and/the/second/one"];

/// Builds the last commit in two clean checkouts, and compares.
///
/// # Errors
///
/// Fails when a build does, when the two differ, or when a directory of this machine is in one of them.
pub(crate) fn reproduce(workspace: &Workspace, target: &str) -> Result<(), TaskError> {
    let mut built = Vec::new();
    // The branch may go on while the first one is built.
    let head = capture(
        Command::new("git")
            .args(["rev-parse", "HEAD"])
            .current_dir(&workspace.root),
    )?;
    let commit = String::from_utf8_lossy(&head).trim().to_owned();
    for name in CHECKOUTS {
        let checkout = workspace.target.join(name);
        clone(&workspace.root, &commit, &checkout)?;
        let binary = compile_checkout(&checkout, target)?;
        let bytes = std::fs::read(&binary).map_err(TaskError::path(&binary))?;
        require_no_path(&binary, &bytes, &checkout)?;
        built.push((binary, bytes));
    }
    let [(first, one), (second, other)] = built.as_slice() else {
        return Ok(());
    };
    if let Some(at) = first_difference(one, other) {
        return Err(TaskError::Unfit {
            path: first.clone(),
            complaint: format!("differs from {} at byte {at}", second.display()),
        });
    }
    let digest = capture(Command::new("sha256sum").arg(first))?;
    let digest = String::from_utf8_lossy(&digest);
    println!("both checkouts give the same {} bytes", one.len());
    println!("  sha256: {}", digest.split(' ').next().unwrap_or_default());
    Ok(())
}

/// Makes a clean checkout of a commit.
fn clone(root: &Path, commit: &str, checkout: &Path) -> Result<(), TaskError> {
    if checkout.exists() {
        std::fs::remove_dir_all(checkout).map_err(TaskError::path(checkout))?;
    }
    run(Command::new("git")
        .args(["clone", "--quiet"])
        .arg(root)
        .arg(checkout))?;
    run(Command::new("git")
        .args(["checkout", "--quiet", "--detach", commit])
        .current_dir(checkout))
}

/// Refuses a binary that names its checkout or its builder's home.
fn require_no_path(binary: &Path, bytes: &[u8], checkout: &Path) -> Result<(), TaskError> {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    for path in [Some(checkout.to_owned()), home].into_iter().flatten() {
        let text = path.to_string_lossy();
        if holds(bytes, text.as_bytes()) {
            return Err(TaskError::Unfit {
                path: binary.to_owned(),
                complaint: format!("names {text}"),
            });
        }
    }
    Ok(())
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// The first place where two files differ; the end of the shorter one, if that is all.
fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let differs = one.iter().zip(other).position(|(a, b)| a != b);
    let shorter = one.len().min(other.len());
    differs.or((one.len() != other.len()).then_some(shorter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_differ_where_a_byte_does_or_one_ends() {
        assert_eq!(first_difference(b"abc", b"abc"), None);
        assert_eq!(first_difference(b"abc", b"abd"), Some(2));
        assert_eq!(first_difference(b"abc", b"ab"), Some(2));
    }

    #[test]
    fn a_binary_that_names_its_checkout_is_refused() {
        let (binary, checkout) = (Path::new("quake-agent"), Path::new("/built/here"));
        assert!(require_no_path(binary, b"nothing of the kind", checkout).is_ok());
        let error = require_no_path(binary, b"at /built/here/agent/cli", checkout);
        let error = error.expect_err("it names its place").to_string();
        assert_eq!(error, "quake-agent names /built/here");
    }
}
