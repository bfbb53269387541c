//! Snapshots of a directory, to compare what two boots left behind.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the agent keeps its own state: logs of runs, the asset store, the endpoint. Relative to the root.
pub const OWN: &[&str] = &["var/lib/quake-agent", "run/quake-agent"];

/// One thing in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A directory and its permission bits.
    Directory(u32),
    /// A file: its permission bits and the digest of its bytes.
    File(u32, String),
    /// A symbolic link and where it leads.
    Link(PathBuf),
    /// A socket, a device, a pipe.
    Other,
}

/// Everything below a directory, by path relative to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree(BTreeMap<PathBuf, Entry>);

impl Tree {
    /// The tree below `root` without what is below the paths in `without`.
    ///
    /// # Errors
    ///
    /// Returns the error of the file or directory that cannot be read.
    pub fn new(root: &Path, without: &[&str]) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.add(root, Path::new(""), without)?;
        Ok(tree)
    }

    /// The tree of a node below `root`, without the agent's own state.
    ///
    /// # Errors
    ///
    /// As [`Tree::new`].
    pub fn of_node(root: &Path) -> io::Result<Self> {
        Self::new(root, OWN)
    }

    fn add(&mut self, root: &Path, relative: &Path, without: &[&str]) -> io::Result<()> {
        let folder = root.join(relative);
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = relative.join(entry.file_name());
            if without.iter().any(|skipped| path == Path::new(skipped)) {
                continue;
            }
            let metadata = entry.metadata()?;
            let mode = metadata.mode() & 0o7777;
            let found = if metadata.is_dir() {
                self.add(root, &path, without)?;
                Entry::Directory(mode)
            } else if metadata.is_file() {
                Entry::File(mode, sha256(&std::fs::read(entry.path())?))
            } else if metadata.is_symlink() {
                Entry::Link(std::fs::read_link(entry.path())?)
            } else {
                Entry::Other
            };
            self.0.insert(path, found);
        }
        Ok(())
    }

    /// Leaves out what is at this path itself.
    pub fn forget(&mut self, path: &str) {
        self.0.remove(Path::new(path));
    }

    /// Paths of everything that is not a directory.
    pub fn files(&self) -> Vec<&Path> {
        let is_file = |entry: &Entry| !matches!(entry, Entry::Directory(_));
        let files = self.0.iter().filter(|(_, entry)| is_file(entry));
        files.map(|(path, _)| path.as_path()).collect()
    }

    /// What is different in `other`, a line each.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let missing = self
            .0
            .iter()
            .filter(|(path, _)| !other.0.contains_key(*path));
        let mut lines: Vec<String> = missing
            .map(|(path, _)| format!("- {}", path.display()))
            .collect();
        for (path, entry) in &other.0 {
            match self.0.get(path) {
                None => lines.push(format!("+ {}", path.display())),
                Some(ours) if ours != entry => {
                    lines.push(format!("! {}: {ours:?} and {entry:?}", path.display()));
                }
                Some(_) => {}
            }
        }
        lines
    }

    /// Whether something is at this path.
    pub fn has(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// The files whose bytes are others in `other`.
    pub fn changed(&self, other: &Self) -> Vec<PathBuf> {
        self.torn(other).into_iter().map(PathBuf::from).collect()
    }

    /// This tree without the bytes of these files.
    #[must_use]
    pub fn without_bytes_of(mut self, files: &[PathBuf]) -> Self {
        for file in files {
            if let Some(Entry::File(_, digest)) = self.0.get_mut(file) {
                digest.clear();
            }
        }
        self
    }

    /// Files of this tree that are in `whole` under the same path with other bytes: torn ones, when
    /// `whole` is what a complete run leaves.
    pub fn torn(&self, whole: &Self) -> Vec<String> {
        let mut torn = Vec::new();
        for (path, entry) in &self.0 {
            if let (Entry::File(_, ours), Some(Entry::File(_, theirs))) = (entry, whole.0.get(path))
                && ours != theirs
            {
                torn.push(path.display().to_string());
            }
        }
        torn
    }
}

/// The SHA-256 digest of bytes, as hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_a_missing_and_an_added_file_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("a", "1");
        write("b", "1");
        let before = Tree::new(folder.path(), &[]).unwrap();
        write("a", "2");
        write("c", "1");
        std::fs::remove_file(folder.path().join("b")).unwrap();
        let after = Tree::new(folder.path(), &[]).unwrap();
        let lines = before.differences(&after);
        assert!(
            lines[0] == "- b" && lines[1].starts_with("! a") && lines[2] == "+ c",
            "{lines:?}"
        );
        assert_eq!(after.torn(&before), ["a"]);
    }
}
