//! A directory of this user alone for the time of one restore. What is in it is as secret as etcd's
//! data, so it is removed in the end, and by a later attempt where this process is killed before.

use crate::linux::{condition_of, fresh_name, is_abandoned};
use nix::unistd::geteuid;
use quake_model::ports::PortError;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Not `/tmp` or `/run`, which are memory on many nodes: a database may be as large as eight gigabytes.
const PARENT: &str = "/var/tmp";

/// Begins the names of these directories, so that no other kind is ever emptied.
const KIND: &str = "quake-agent-etcd";

/// The directory; it is removed with this value.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes the directory, in `TMPDIR` where that is set.
    pub(super) fn new() -> Result<Self, PortError> {
        let named = std::env::var_os("TMPDIR").map(PathBuf::from);
        let parent = named.filter(|path| path.is_absolute());
        let parent = parent.unwrap_or_else(|| PathBuf::from(PARENT));
        sweep(&parent);
        let path = parent.join(format!("{KIND}{}", fresh_name()));
        // Unlike for a directory with its parents, one that exists is an error here.
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| {
            let summary = format!("make a scratch directory in {}", parent.display());
            PortError::new(condition_of(&error), summary).because(&error)
        })?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed by a later attempt.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what killed processes left. Everybody may write to the parent, so only directories of this
/// user count; the standard library follows no link below them.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_left = name.strip_prefix(KIND).is_some_and(is_abandoned);
        let is_ours = entry
            .metadata()
            .is_ok_and(|facts| facts.is_dir() && facts.uid() == geteuid().as_raw());
        if is_left && is_ours {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_directory_is_private_and_gone_in_the_end_with_all_that_is_in_it() {
        let scratch = Scratch::new().expect("a directory");
        let path = scratch.path().to_owned();
        let mode = fs::metadata(&path).expect("it is there").mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::create_dir(path.join("data")).expect("ours");
        fs::write(path.join("data/db"), "secret").expect("ours");
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a directory");
        let at = |name: &str| parent.path().join(name);
        let left = format!("{KIND}.quake-agent.feed-1-0.tmp");
        for name in [&left, ".quake-agent.feed-1-0.tmp", "quake-agent-etcd-notes"] {
            fs::create_dir_all(at(name).join("data")).expect("ours");
        }
        sweep(parent.path());
        assert!(!at(&left).exists());
        assert!(at(".quake-agent.feed-1-0.tmp").exists() && at("quake-agent-etcd-notes").exists());
    }
}
