//! Symbolic links of the node.

use super::attempt::os_error;
use super::tree::{Tree, Way, kind_bits};
use nix::errno::Errno;
use nix::fcntl::{readlinkat, renameat};
use nix::sys::stat::SFlag;
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};
use quake_model::ports::{Condition, PortError};

/// Where the link at `path` points; `None` where nothing, or something else, stands.
pub(super) fn read(tree: &Tree, path: &str) -> Result<Option<String>, PortError> {
    let fail = |errno: Errno| os_error(format!("read the link {path}"), &errno.into());
    let Some(spot) = tree.find_spot(path)? else {
        return Ok(None);
    };
    match spot.look().map_err(fail)? {
        Some(there) if kind_bits(&there) == SFlag::S_IFLNK => {}
        _ => return Ok(None),
    }
    let target = readlinkat(&spot.directory, spot.name.as_str()).map_err(fail)?;
    Ok(Some(target.to_string_lossy().into_owned()))
}

/// Puts a link in the place of nothing or of another link: made beside it, and moved over it.
pub(super) fn make(tree: &Tree, path: &str, target: &str) -> Result<(), PortError> {
    let fail = |errno: Errno| os_error(format!("make the link {path}"), &errno.into());
    let spot = tree.make_spot(path, Way::Plain)?;
    let there = spot.look().map_err(fail)?;
    if there.is_some_and(|there| kind_bits(&there) != SFlag::S_IFLNK) {
        let summary = format!("something that is no link stands at {path}");
        return Err(PortError::new(Condition::Occupied, summary));
    }
    let beside = format!(".{}.quake-link", spot.name);
    match unlinkat(&spot.directory, beside.as_str(), UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(errno) => return Err(fail(errno)),
    }
    symlinkat(target, &spot.directory, beside.as_str()).map_err(fail)?;
    renameat(
        &spot.directory,
        beside.as_str(),
        &spot.directory,
        spot.name.as_str(),
    )
    .map_err(fail)
}
