//! The symbolic link that a path cannot be followed through.

use super::open;
use nix::errno::Errno;
use nix::fcntl::{OFlag, readlinkat};
use nix::sys::stat::{SFlag, fstat};
use quake_model::ports::{Condition, PortError};
use std::path::Path;

/// A link that leads nowhere below its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockingLink {
    /// Where it is, as seen from the root.
    pub link: String,
    pub target: String,
}

impl BlockingLink {
    /// The failed attempt to go through it below `root`.
    pub fn into_error(self, root: &Path) -> PortError {
        let Self { link, target } = self;
        let shown = root.join(link.trim_start_matches('/'));
        let shown = shown.display();
        let summary = format!("the symbolic link {shown} leads to {target}, which is not there");
        let root = root.display();
        PortError::new(Condition::Occupied, summary)
            .seen("link", &shown)
            .seen("target", &target)
            .remedied_by(format!(
                "links resolve below {root}: make {target} there, or remove the link: rm {shown}"
            ))
    }
}

/// The first link on the way along `path` that leads nowhere below `root`, be it the last part; `None` where
/// there is none.
///
/// # Errors
///
/// Those of `openat2(2)` and `readlinkat(2)`, but not that there is nothing.
pub fn find_blocking_link(root: &Path, path: &str) -> nix::Result<Option<BlockingLink>> {
    let mut link = String::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        link = format!("{link}/{part}");
        match open(root, &link, OFlag::O_PATH) {
            Ok(_) => continue,
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => {}
            Err(errno) => return Err(errno),
        }
        let entry = match open(root, &link, OFlag::O_PATH | OFlag::O_NOFOLLOW) {
            Ok(entry) => entry,
            Err(Errno::ENOENT | Errno::ENOTDIR) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        let kind = SFlag::from_bits_truncate(fstat(&entry)?.st_mode) & SFlag::S_IFMT;
        if kind != SFlag::S_IFLNK {
            return Ok(None);
        }
        let target = readlinkat(&entry, "")?.to_string_lossy().into_owned();
        return Ok(Some(BlockingLink { link, target }));
    }
    Ok(None)
}
