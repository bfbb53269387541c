//! Free space of the filesystems that a node fills.

use nix::sys::statvfs::{FsFlags, statvfs};
use quake_model::facts::SpaceFacts;
use quake_model::ports::PortError;
use std::collections::BTreeSet;
use std::path::Path;

/// Reads the room of the filesystems that hold these paths, each filesystem once, by the first path on it. Paths that
/// do not exist are left out.
///
/// # Errors
///
/// None so far; the type is that of a look.
pub fn read_spaces(root: &Path, paths: &[&str]) -> Result<Vec<SpaceFacts>, PortError> {
    let mut seen = BTreeSet::new();
    let mut spaces = Vec::new();
    for path in paths {
        let Ok(space) = statvfs(&root.join(path.trim_start_matches('/'))) else {
            continue;
        };
        // Filesystems are told apart by their id; those that have none, as overlays, by what they hold.
        let name = (space.filesystem_id(), space.blocks(), space.blocks_free());
        if !seen.insert(name) {
            continue;
        }
        let fragment = space.fragment_size();
        spaces.push(SpaceFacts {
            path: (*path).to_owned(),
            bytes: space.blocks() * fragment,
            bytes_free: space.blocks_available() * fragment,
            inodes: space.files(),
            inodes_free: space.files_available(),
            read_only: space.flags().contains(FsFlags::ST_RDONLY),
        });
    }
    Ok(spaces)
}
