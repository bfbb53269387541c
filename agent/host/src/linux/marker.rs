//! Writes the marker into the filesystem that is mounted from a device: whole or not at all, and flushed.

use super::attempt::os_error;
use super::folder::Folder;
use super::identity::{Access, open_device};
use super::inside::{MARKER, MARKER_FOLDER};
use super::leftovers::{fresh_name, is_abandoned};
use super::mounts::open_mounted;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, fsync, unlinkat};
use quake_model::facts::DeviceFacts;
use quake_model::ports::{Condition, PortError};
use std::fs::File;
use std::io::{self, Write};

/// More names than a directory of markers ever has.
const NAMES_LIMIT: usize = 1024;

/// Writes the marker of the filesystem that is mounted from this device.
pub(super) fn write_marker(device: &DeviceFacts, text: &str) -> Result<(), PortError> {
    let _image = open_device(device, Access::Shared)?;
    let root = open_mounted(device)?.ok_or_else(|| {
        let summary = format!("{} is not mounted", device.path);
        PortError::new(Condition::Missing, summary)
    })?;
    write_below(&root, text)
        .map_err(|error| os_error(format!("write the marker of {}", device.path), &error))
}

fn write_below(root: &Folder, text: &str) -> io::Result<()> {
    match mkdirat(root, MARKER_FOLDER, Mode::S_IRWXU) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(errno) => return Err(errno.into()),
    }
    let folder = root
        .folder(MARKER_FOLDER)?
        // A link or a file in its place: writing through it might end anywhere.
        .ok_or_else(|| io::Error::from(Errno::ENOTDIR))?;
    remove_leftovers(&folder)?;
    let temporary = fresh_name();
    let written = write_file(&folder, &temporary, text)
        .and_then(|()| Ok(renameat(&folder, temporary.as_str(), &folder, MARKER)?));
    if written.is_err() {
        // The first error is the one to tell; what stays is removed by the next write.
        let _ = unlinkat(&folder, temporary.as_str(), UnlinkatFlags::NoRemoveDir);
    }
    written?;
    fsync(&folder)?;
    fsync(root)?;
    Ok(())
}

fn write_file(folder: &Folder, name: &str, text: &str) -> io::Result<()> {
    let flags =
        OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mode = Mode::S_IRUSR | Mode::S_IWUSR;
    let mut file = File::from(openat(folder, name, flags, mode)?);
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn remove_leftovers(folder: &Folder) -> io::Result<()> {
    for name in folder.names(NAMES_LIMIT)? {
        if is_abandoned(&name) {
            unlinkat(folder, name.as_str(), UnlinkatFlags::NoRemoveDir)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    fn write(root: &Path, text: &str) -> io::Result<()> {
        write_below(&Folder::open(root).expect("a directory"), text)
    }

    #[test]
    fn a_marker_is_replaced_whole_and_what_a_killed_write_left_is_removed() {
        let root = tempfile::tempdir().expect("a directory");
        let folder = root.path().join(MARKER_FOLDER);
        write(root.path(), "first, and longer").expect("it is written");
        fs::write(folder.join(".quake-agent.feed-1-0.tmp"), "half").expect("a file");
        write(root.path(), "second").expect("it is written");
        let names: Vec<_> = fs::read_dir(&folder).expect("a list").flatten().collect();
        assert_eq!(names.len(), 1);
        assert_eq!(
            fs::read_to_string(folder.join(MARKER)).expect("text"),
            "second"
        );
        let mode = fs::metadata(&folder).expect("facts").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn a_symbolic_link_in_the_place_of_the_folder_is_refused_and_one_of_the_file_replaced() {
        let outside = tempfile::tempdir().expect("a directory");
        let root = tempfile::tempdir().expect("a directory");
        let folder = root.path().join(MARKER_FOLDER);
        symlink(outside.path(), &folder).expect("a link");
        assert!(write(root.path(), "x").is_err());
        assert_eq!(fs::read_dir(outside.path()).expect("a list").count(), 0);

        fs::remove_file(&folder).expect("it goes");
        fs::create_dir(&folder).expect("a directory");
        fs::write(outside.path().join("kept"), "kept").expect("a file");
        symlink(outside.path().join("kept"), folder.join(MARKER)).expect("a link");
        write(root.path(), "x").expect("it is written");
        let kept = fs::read_to_string(outside.path().join("kept")).expect("text");
        assert_eq!(kept, "kept");
    }

    #[test]
    fn a_folder_in_the_place_of_the_marker_leaves_no_temporary_file() {
        let root = tempfile::tempdir().expect("a directory");
        let folder = root.path().join(MARKER_FOLDER);
        fs::create_dir_all(folder.join(MARKER)).expect("directories");
        assert!(write(root.path(), "x").is_err());
        assert_eq!(fs::read_dir(&folder).expect("a list").count(), 1);
    }
}
