//! The node's tree of files below a root: `/` on a node, a scratch directory in a rehearsal.
//!
//! Below a scratch root no path and no symbolic link leads out ([`quake_tree`]); on a node paths resolve as
//! for any program. Everything acts on an open directory and one name in it, never on a path twice.

use super::attempt::os_error;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat, mkdirat};
use nix::unistd::{Gid, Uid, fchown};
use quake_model::facts::Owner;
use quake_model::ports::{Condition, PortError};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// What to do about the owners that files ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerPolicy {
    /// Files get the owner they ask for; needs root.
    Set,
    /// Files keep the owner they are made with, and that user stands for root: for a rehearsal by an
    /// ordinary user.
    Keep,
}

impl OwnerPolicy {
    /// What this process may do: only root sets owners.
    pub fn of_this_process() -> Self {
        if nix::unistd::geteuid().is_root() {
            Self::Set
        } else {
            Self::Keep
        }
    }
}

/// How a path is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Plain,
    /// From the first directory on that somebody else than root may change, no link is followed: who may change a directory could
    /// otherwise lead root to another one, and have that given to him.
    Guarded,
}

impl Way {
    pub(super) fn for_owner(owner: Owner) -> Self {
        match owner.uid {
            0 => Self::Plain,
            _ => Self::Guarded,
        }
    }
}

/// A tree of files below a root.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    root: PathBuf,
    pub(super) owners: OwnerPolicy,
}

/// A directory that is open, and a name in it where something may stand.
pub(super) struct Spot {
    pub(super) directory: OwnedFd,
    pub(super) name: String,
}

impl Tree {
    pub(crate) fn new(root: PathBuf, owners: OwnerPolicy) -> Self {
        Self { root, owners }
    }

    /// Opens what a clean absolute path leads to.
    pub(crate) fn open(&self, path: &str, flags: OFlag) -> nix::Result<OwnedFd> {
        quake_tree::open(&self.root, path, flags)
    }

    fn open_by(&self, path: &str, flags: OFlag, way: Way) -> nix::Result<OwnedFd> {
        match way {
            Way::Plain => self.open(path, flags),
            Way::Guarded => self.open_guarded(path, flags),
        }
    }

    fn open_guarded(&self, path: &str, flags: OFlag) -> nix::Result<OwnedFd> {
        let folder = OFlag::O_PATH | OFlag::O_DIRECTORY;
        let mut at = self.open("/", folder)?;
        let (mut walked, mut is_roots) = (String::new(), true);
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return self.open("/", flags);
        }
        while let Some(part) = parts.next() {
            let wanted = if parts.peek().is_some() {
                folder
            } else {
                flags
            };
            is_roots = is_roots && is_changed_by_root_alone(&at)?;
            walked = format!("{walked}/{part}");
            at = if is_roots {
                self.open(&walked, wanted)?
            } else {
                let wanted = wanted | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
                openat(&at, part, wanted, Mode::empty())?
            };
        }
        Ok(at)
    }

    /// Gives an open directory to its owner, where owners are set.
    pub(super) fn give(&self, entry: &OwnedFd, path: &str, owner: Owner) -> Result<(), PortError> {
        // A directory of root's that an operator gave away stays given away.
        if self.owners == OwnerPolicy::Keep || owner == Owner::default() {
            return Ok(());
        }
        let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
        fchown(entry, Some(uid), Some(gid))
            .map_err(|errno| os_error(format!("set the owner of {path}"), &errno.into()))
    }

    /// Opens the directory that contains `path`; `None` when there is no such directory.
    pub(super) fn find_spot(&self, path: &str) -> Result<Option<Spot>, PortError> {
        self.find_spot_by(path, Way::Plain)
    }

    /// The same by a way.
    pub(super) fn find_spot_by(&self, path: &str, way: Way) -> Result<Option<Spot>, PortError> {
        let (parent, name) = split(path)?;
        match self.open_by(&parent, OFlag::O_RDONLY | OFlag::O_DIRECTORY, way) {
            Ok(directory) => Ok(Some(Spot { directory, name })),
            Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(None),
            Err(errno) => Err(os_error(format!("open {parent}"), &errno.into())),
        }
    }

    /// Opens the directory that contains `path`, made with its parents where it is missing.
    pub(super) fn make_spot(&self, path: &str, way: Way) -> Result<Spot, PortError> {
        let (parent, name) = split(path)?;
        let directory = self.make_directories(&parent, way)?;
        Ok(Spot { directory, name })
    }

    /// Opens a directory, made with its parents (mode 0755) where it is missing.
    pub(super) fn make_directories(&self, path: &str, way: Way) -> Result<OwnedFd, PortError> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        match self.open_by(path, flags, way) {
            Ok(directory) => return Ok(directory),
            Err(Errno::ENOENT) => {}
            Err(errno) => return Err(self.blocked_or(path, errno)),
        }
        let (parent, name) = split(path)?;
        // As deep as the path; a path of the node has few components.
        let parent = self.make_directories(&parent, way)?;
        match mkdirat(&parent, name.as_str(), Mode::from_bits_truncate(0o755)) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => {
                return Err(no_space_seen(
                    os_error(format!("make the directory {path}"), &errno.into()),
                    &parent,
                ));
            }
        }
        let made = self
            .open_by(path, flags, way)
            .map_err(|errno| self.blocked_or(path, errno))?;
        // mkdir takes bits away by the process's umask; what was asked for is what is set.
        set_mode(&made, path, 0o755)?;
        Ok(made)
    }

    /// Why a directory cannot be opened: a link on the way that leads nowhere is named.
    fn blocked_or(&self, path: &str, errno: Errno) -> PortError {
        match quake_tree::find_blocking_link(&self.root, path) {
            Ok(Some(link)) => link.into_error(&self.root),
            Ok(None) | Err(_) => occupied_or(path, errno),
        }
    }

    /// The owner to report for an entry, under this tree's policy.
    pub(super) fn owner_of(&self, stat: &FileStat) -> Owner {
        let mine = nix::unistd::geteuid().as_raw() == stat.st_uid;
        if self.owners == OwnerPolicy::Keep && mine {
            return Owner::default();
        }
        Owner {
            uid: stat.st_uid,
            gid: stat.st_gid,
        }
    }
}

impl Spot {
    /// Looks at what stands here itself, links not followed.
    pub(super) fn look(&self) -> nix::Result<Option<FileStat>> {
        match fstatat(
            &self.directory,
            self.name.as_str(),
            AtFlags::AT_SYMLINK_NOFOLLOW,
        ) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

/// The kind of entry, from its mode word.
pub(crate) fn kind_bits(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

/// The permission bits, with set-user-id, set-group-id and sticky.
pub(crate) fn permission_bits(stat: &FileStat) -> u32 {
    stat.st_mode & 0o7777
}

/// Sets the mode of an open entry.
pub(super) fn set_mode(entry: &OwnedFd, path: &str, mode: u32) -> Result<(), PortError> {
    fchmod(entry, Mode::from_bits_truncate(mode))
        .map_err(|errno| os_error(format!("set mode {mode:04o} of {path}"), &errno.into()))
}

/// Whether root alone may put something, such as a link, into an open directory. An unprivileged process is its own root.
fn is_changed_by_root_alone(directory: &OwnedFd) -> nix::Result<bool> {
    let stat = fstat(directory)?;
    let mine = nix::unistd::geteuid().as_raw();
    let by_group = stat.st_mode & 0o020 != 0 && stat.st_gid != 0;
    let by_others = stat.st_mode & 0o002 != 0;
    Ok(matches!(stat.st_uid, uid if uid == 0 || uid == mine) && !by_group && !by_others)
}

/// Adds to a `NoSpace` error how much is free where it happened.
pub(super) fn no_space_seen(error: PortError, directory: &OwnedFd) -> PortError {
    if error.condition != Condition::NoSpace {
        return error;
    }
    match nix::sys::statvfs::fstatvfs(directory) {
        Ok(space) => {
            let free = u128::from(space.blocks_available()) * u128::from(space.fragment_size());
            error
                .seen("free-bytes", free)
                .seen("free-inodes", space.files_available())
        }
        Err(_) => error,
    }
}

/// The names in an open directory, unsorted.
pub(crate) fn names_in(directory: &OwnedFd) -> io::Result<Vec<String>> {
    // Through /proc the listing is of the directory that is open, wherever its path leads by now.
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    std::fs::read_dir(path)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

/// Parent and last name of an absolute path. `/` itself has no parent to stand in: it is `.` in `/`.
fn split(path: &str) -> Result<(String, String), PortError> {
    let sound = path.starts_with('/') && !path.contains('\0');
    if !sound || path.split('/').any(|part| part == "..") {
        let summary = format!("{path:?} is not an absolute path without `..`");
        return Err(PortError::new(Condition::Denied, summary));
    }
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    match parts.split_last() {
        Some((name, parents)) => Ok((format!("/{}", parents.join("/")), (*name).to_owned())),
        None => Ok(("/".to_owned(), ".".to_owned())),
    }
}

fn occupied_or(path: &str, errno: Errno) -> PortError {
    if matches!(errno, Errno::ENOTDIR | Errno::ELOOP) {
        let summary = format!(
            "{path} or a part of it is not a directory, or is a link that somebody else may change"
        );
        return PortError::new(Condition::Occupied, summary);
    }
    os_error(format!("open {path}"), &errno.into())
}
