//! A directory for the time of one attempt, with at most one file in it.

use super::attempt::condition_of;
use super::leftovers::{fresh_name, is_abandoned};
use nix::unistd::geteuid;
use quake_model::ports::{Condition, PortError};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Not `/tmp` or `/run`, which are memory on many nodes: what stands here may be as large as a journal.
const PARENT: &str = "/var/tmp";

/// The name of the one file.
const FILE: &str = "undo";

/// A directory that only this user can enter. It is removed in the end, and by a later attempt where this
/// process is killed before.
pub(super) struct Scratch {
    folder: PathBuf,
    is_left: bool,
}

impl Scratch {
    /// Makes the directory. Whatever stands against it, it is not a missing device: `NoSpace`, or `Io`.
    pub(super) fn new() -> Result<Self, PortError> {
        sweep(Path::new(PARENT));
        let folder = Path::new(PARENT).join(fresh_name());
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| {
            let condition = match condition_of(&error) {
                Condition::NoSpace => Condition::NoSpace,
                _ => Condition::Io,
            };
            let summary = format!("make a scratch directory in {PARENT}");
            PortError::new(condition, summary).because(&error)
        })?;
        Ok(Self {
            folder,
            is_left: false,
        })
    }

    /// Leaves the directory to whoever still uses it; it is removed after this process.
    pub(super) fn leave(mut self) {
        self.is_left = true;
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of the file that may be put into it.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_left {
            remove(&self.folder);
        }
    }
}

/// Removes the one file and the directory, and nothing else: a filesystem may be mounted there, and what is in
/// that is not ours.
fn remove(folder: &Path) {
    // What cannot be removed now is removed by a later attempt.
    let _ = fs::remove_file(folder.join(FILE));
    let _ = fs::remove_dir(folder);
}

/// Removes what killed processes left. Everybody may write to the parent, so only directories of this user count.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_left = is_abandoned(&entry.file_name().to_string_lossy());
        let is_ours = entry
            .metadata()
            .is_ok_and(|facts| facts.is_dir() && facts.uid() == geteuid().as_raw());
        if is_left && is_ours {
            remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_folder_is_gone_in_the_end_with_its_file() {
        let scratch = Scratch::new().expect("a directory");
        fs::write(scratch.file(), "x").expect("a file");
        let folder = scratch.folder().to_owned();
        drop(scratch);
        assert!(!folder.exists());
    }

    #[test]
    fn a_folder_of_a_dead_process_is_removed_and_one_with_other_contents_stays() {
        let parent = tempfile::tempdir().expect("a directory");
        let at = |name: &str| parent.path().join(name);
        for name in [".quake-agent.feed-1-0.tmp", ".quake-agent.feed-1-1.tmp"] {
            fs::create_dir(at(name)).expect("a directory");
        }
        fs::write(at(".quake-agent.feed-1-1.tmp/other"), "x").expect("a file");
        sweep(parent.path());
        assert!(!at(".quake-agent.feed-1-0.tmp").exists());
        assert!(at(".quake-agent.feed-1-1.tmp/other").exists());
    }
}
