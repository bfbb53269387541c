//! Free space of the filesystems that a node fills.

use nix::sys::statvfs::{FsFlags, statvfs};
use quake_model::facts::SpaceFacts;
use quake_model::ports::PortError;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
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
        let below = root.join(path.trim_start_matches('/'));
        let (Ok(found), Ok(space)) = (below.metadata(), statvfs(&below)) else {
            continue;
        };
        // By the device: overlays have no id of a filesystem, and clones of a volume have one and the same.
        if !seen.insert(found.dev()) {
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
