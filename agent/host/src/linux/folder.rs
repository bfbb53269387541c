//! A directory whose contents nobody vouches for: every name below it is opened from the directory itself and
//! never through a symbolic link, so that a prepared filesystem cannot lead a reader out of it.

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// An open directory.
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens a directory by a path that is trusted.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self(nix::fcntl::open(path, flags, Mode::empty())?))
    }

    /// The number of the device that the directory is on.
    pub(super) fn device(&self) -> io::Result<u64> {
        Ok(fstat(&self.0)?.st_dev)
    }

    /// The directory of this name; `None` where there is none, or something else.
    pub(super) fn folder(&self, name: &str) -> io::Result<Option<Self>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = openat(&self.0, name, flags, Mode::empty());
        Ok(unless_other(opened)?.map(Self))
    }

    /// The directory at a path of names.
    pub(super) fn below(&self, names: &[&str]) -> io::Result<Option<Self>> {
        let mut at = Self(self.0.try_clone()?);
        for name in names {
            match at.folder(name)? {
                Some(next) => at = next,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The first `limit` bytes of the regular file of this name; `None` where there is none, or something
    /// else.
    pub(super) fn file(&self, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        // Looked at first, for the opening of a device or of a pipe may do more than open it.
        if !self.is_file(name)? {
            return Ok(None);
        }
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let opened = openat(&self.0, name, flags, Mode::empty());
        let Some(opened) = unless_other(opened)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        File::from(opened).take(limit).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Whether a regular file has this name.
    pub(super) fn is_file(&self, name: &str) -> io::Result<bool> {
        Ok(self.look(name)?.is_some_and(|facts| {
            SFlag::from_bits_truncate(facts.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG
        }))
    }

    fn look(&self, name: &str) -> io::Result<Option<FileStat>> {
        unless_other(fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW))
    }

    /// The first `limit` names, sorted. Names that are not UTF-8 are given with replacement characters, and
    /// are then not found by them.
    pub(super) fn names(&self, limit: usize) -> io::Result<Vec<String>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut folder = Dir::openat(&self.0, ".", flags, Mode::empty())?;
        let mut names = BTreeSet::new();
        for entry in folder.iter() {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            let name = name.to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.insert(name);
            }
            // No more is kept than is asked for, however many there are.
            if names.len() > limit {
                names.pop_last();
            }
        }
        Ok(names.into_iter().collect())
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `None` for what is not there, or is of another kind: a symbolic link where a directory or a file was meant.
fn unless_other<T>(result: nix::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}
