//! Where the agent's own files are below a root, and that no link of a foreign image leads a writer elsewhere.

use super::running::fail;
use quake_engine::file_fault;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Condition, PortError};
use quake_tree::{Last, locate};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The socket of a running agent.
pub(super) const SOCKET: &str = "run/quake-agent/quake-agent.sock";

/// The directories that are the agent's own.
const OWN: [&str; 2] = ["run/quake-agent", "var/lib/quake-agent"];

/// What is below is of others, or content: unpacked archives hold the links that were packed.
const FOREIGN: [&str; 2] = ["staging", "d"];

/// How deep the agent's own directories are.
const MOST_DEPTH: usize = 6;

/// Where a file or directory of the agent is on this machine.
pub(super) fn below(root: &Path, path: impl AsRef<Path>) -> Result<PathBuf, u8> {
    locate(root, path, Last::Followed).map_err(|error| fail(&file_fault(error)))
}

/// The same for a reader, to whom what cannot be found is not there.
pub(super) fn found_below(root: &Path, path: impl AsRef<Path>) -> Option<PathBuf> {
    locate(root, path, Last::Followed).ok()
}

/// Where something is that is replaced and never followed.
pub(super) fn entry_below(root: &Path, path: impl AsRef<Path>) -> Result<PathBuf, u8> {
    locate(root, path, Last::Kept).map_err(|error| fail(&file_fault(error)))
}

/// Refuses a tree that was made elsewhere and has a link in the agent's own directories. The agent makes none there, and
/// opens its own files by name.
pub(super) fn refuse_links(root: &Path) -> Result<(), u8> {
    // On a node these directories are root's, and an operator may have moved a part of them.
    if root == Path::new("/") {
        return Ok(());
    }
    for path in OWN {
        if let Some(link) = find_link(&below(root, path)?, MOST_DEPTH) {
            return Err(fail(&refusal(&link, root)));
        }
    }
    Ok(())
}

fn refusal(link: &Path, root: &Path) -> Fault {
    let target = std::fs::read_link(link).unwrap_or_default();
    let (shown, target) = (link.display(), target.display());
    let summary =
        format!("the symbolic link {shown} leads to {target}, and the agent makes no links there");
    PortError::new(Condition::Occupied, summary)
        .seen("link", &shown)
        .seen("target", &target)
        .seen("root", root.display())
        .remedied_by(format!("remove the link: rm {shown}"))
        .into_fault(Code::FilesOccupied)
}

/// A symbolic link in `directory`, or below.
fn find_link(directory: &Path, depth: usize) -> Option<PathBuf> {
    // What cannot be listed cannot be written by this process either.
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(std::fs::FileType::is_symlink) {
            return Some(path);
        }
        let is_walked = kind.is_ok_and(|kind| kind.is_dir()) && depth > 0 && !is_foreign(&path);
        if let Some(link) = is_walked.then(|| find_link(&path, depth - 1)).flatten() {
            return Some(link);
        }
    }
    None
}

fn is_foreign(path: &Path) -> bool {
    let is = |part: Option<&std::ffi::OsStr>| {
        part.is_some_and(|part| FOREIGN.iter().any(|it| part == *it))
    };
    is(path.extension()) || is(path.file_name())
}

/// What Linux says of a disk that fails, is gone, or holds a damaged filesystem: EIO, ENXIO, ENODEV, ESTALE and EUCLEAN.
const OF_A_BROKEN_DISK: [i32; 5] = [5, 6, 19, 116, 117];

/// The fault of a file that the disk does not take: it is full, read-only or broken. `None` for any other error.
pub(super) fn disk_fault(path: &Path, error: &io::Error) -> Option<Fault> {
    let condition = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Condition::NoSpace,
        ErrorKind::ReadOnlyFilesystem => Condition::Denied,
        _ if is_of_a_broken_disk(error) => Condition::Io,
        _ => return None,
    };
    let summary = format!("{} cannot be written", path.display());
    let error = PortError::new(condition, summary).because(error);
    Some(file_fault(error.seen("path", path.display())))
}

fn is_of_a_broken_disk(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    number.is_some_and(|number| OF_A_BROKEN_DISK.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_a_read_only_or_a_broken_disk_is_a_fault_and_no_wrong_command_line() {
        let code = |number| {
            let error = io::Error::from_raw_os_error(number);
            let fault = disk_fault(Path::new("/run/quake-agent/lock"), &error)?;
            Some((fault.code, fault.class().exit_status()))
        };
        // ENOSPC, EDQUOT, EROFS and EACCES of Linux.
        assert_eq!(code(28), Some((Code::FilesNoSpace, 77)));
        assert_eq!(code(122), Some((Code::FilesNoSpace, 77)));
        assert_eq!(code(30), Some((Code::FilesWriteFailed, 77)));
        assert_eq!(code(13), None);
        for number in OF_A_BROKEN_DISK {
            assert_eq!(code(number), Some((Code::FilesWriteFailed, 77)));
        }
    }
}
