//! The comparison, by others, of the tree that a rehearsal made with the one that kops' nodeup wrote for the same boot.

use crate::skip::{conformance, is_root, skipped};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program that compares, and what it runs in.
#[derive(Debug, Clone)]
pub struct Comparer {
    python: PathBuf,
    script: PathBuf,
}

/// How one tree differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// How many files are as expected.
    pub equal: usize,
    pub total: usize,
    /// A line for each difference; it begins with the path.
    pub differences: Vec<String>,
}

impl Comparer {
    /// `None`, said aloud, where the data or what the program needs is not here, or owners cannot be set.
    pub fn found() -> Option<Self> {
        let script = conformance("tools")?.join("tree.py");
        if !is_root() {
            skipped("trees are not compared: only root can give files their owners");
            return None;
        }
        // What moto is installed into has both modules; where it is not there yet, the system's may.
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let kept = home.map(|home| home.join(".cache/quake-agent-venv/bin/python3"));
        let found = kept
            .into_iter()
            .chain([PathBuf::from("python3")])
            .find(has_modules);
        if found.is_none() {
            skipped("trees are not compared: python3 with yaml and cryptography is not here");
        }
        Some(Self {
            python: found?,
            script,
        })
    }

    /// Compares the tree below `root` with what `expected` says.
    ///
    /// # Panics
    ///
    /// When the program says no count; with what it said.
    pub fn compare(&self, expected: &Path, root: &Path) -> Compared {
        let output = Command::new(&self.python)
            .arg(&self.script)
            .arg("compare")
            .args([expected, root])
            .output()
            .expect("it ran a moment ago");
        let reported = String::from_utf8_lossy(&output.stdout).into_owned();
        read(&reported).unwrap_or_else(|| {
            let error = String::from_utf8_lossy(&output.stderr);
            unreachable!("{} said: {reported}{error}", self.script.display())
        })
    }
}

fn has_modules(python: &PathBuf) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import yaml, cryptography"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn read(reported: &str) -> Option<Compared> {
    let mut lines: Vec<String> = reported.lines().map(str::to_owned).collect();
    let count = lines.pop()?;
    let count = count.strip_suffix(" files equal")?;
    let (equal, total) = count.split_once(" of ")?;
    Some(Compared {
        equal: equal.parse().ok()?,
        total: total.parse().ok()?,
        differences: lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let read = read("/etc/hosts: missing\n1 of 2 files equal\n").expect("it is one");
        assert_eq!((read.equal, read.total), (1, 2));
        assert_eq!(read.differences, ["/etc/hosts: missing"]);
        assert_eq!(super::read("Traceback"), None);
    }
}
