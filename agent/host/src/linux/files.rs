//! Files of the node: looked at as they are, and written by [`writes`].

use super::attempt::{blocking, os_error};
use super::leftovers::is_temporary;
use super::links;
use super::os_release::parse_os_release;
use super::removal;
use super::tree::{OwnerPolicy, Spot, Tree, Way, kind_bits, names_in, permission_bits, set_mode};
use super::watch::Watch;
use super::writes;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag};
use nix::unistd::{Gid, Uid, fchownat};
use quake_model::facts::{EntryKind, FileFacts, FileStamp, OsFacts, Owner};
use quake_model::ports::{Condition, DirectoryWatch, Files, PortError};
use quake_model::step::WriteFile;
use std::fs::{File, Permissions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Where `os-release` is, in order of preference (os-release(5)).
const OS_RELEASE: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

/// Files of the node below a root: `/` on a node, a scratch directory in a rehearsal.
///
/// Below a scratch root no path and no symbolic link leads out of it; that needs Linux 5.6.
#[derive(Debug, Clone)]
pub struct NodeFiles {
    tree: Tree,
}

impl NodeFiles {
    /// Files below `root`, with what to do about owners.
    pub fn new(root: impl Into<PathBuf>, owners: OwnerPolicy) -> Self {
        Self {
            tree: Tree::new(root.into(), owners),
        }
    }

    /// Runs `work` on the tree where blocking is allowed.
    async fn with_tree<T, W>(&self, work: W) -> Result<T, PortError>
    where
        T: Send + 'static,
        W: FnOnce(&Tree) -> Result<T, PortError> + Send + 'static,
    {
        let tree = self.tree.clone();
        blocking(move || work(&tree)).await
    }
}

impl Files for NodeFiles {
    fn sets_owners(&self) -> bool {
        self.tree.owners == OwnerPolicy::Set
    }

    async fn read_os(&self) -> Result<OsFacts, PortError> {
        self.with_tree(read_os).await
    }

    async fn look_file(&self, path: &str, limit: u64) -> Result<Option<FileFacts>, PortError> {
        let path = path.to_owned();
        self.with_tree(move |tree| look(tree, &path, limit)).await
    }

    async fn look_files(
        &self,
        paths: &[String],
        limit: u64,
    ) -> Vec<Result<Option<FileFacts>, PortError>> {
        let (count, paths) = (paths.len(), paths.to_vec());
        let looked = self.with_tree(move |tree| {
            let looked = paths.iter().map(|path| look(tree, path, limit));
            Ok(looked.collect())
        });
        looked.await.unwrap_or_else(|error| vec![Err(error); count])
    }

    async fn stamp_files(&self, paths: &[String]) -> Result<Vec<Option<FileStamp>>, PortError> {
        let paths = paths.to_vec();
        self.with_tree(move |tree| paths.iter().map(|path| stamp(tree, path)).collect())
            .await
    }

    async fn list_directory(&self, path: &str) -> Result<Vec<String>, PortError> {
        let path = path.to_owned();
        self.with_tree(move |tree| list(tree, &path)).await
    }

    async fn watch_directory(&self, path: &str) -> Result<impl DirectoryWatch, PortError> {
        Watch::begin(self.tree.clone(), path.to_owned()).await
    }

    async fn write_files(&self, files: &[WriteFile]) -> Vec<Result<(), PortError>> {
        let wanted = files.to_vec();
        let written = self.with_tree(move |tree| Ok(writes::write(tree, &wanted)));
        written.await.unwrap_or_else(|error| vec![Err(error)])
    }

    async fn set_permissions(&self, file: &WriteFile) -> Result<(), PortError> {
        let file = file.clone();
        self.with_tree(move |tree| permit(tree, &file)).await
    }

    async fn remove_leftovers(&self, directories: &[String]) -> Result<(), PortError> {
        let directories = directories.to_vec();
        self.with_tree(move |tree| {
            for path in &directories {
                match tree.open(path, OFlag::O_RDONLY | OFlag::O_DIRECTORY) {
                    Ok(directory) => writes::remove_leftovers(&directory),
                    Err(Errno::ENOENT) => {}
                    Err(errno) => return Err(os_error(format!("open {path}"), &errno.into())),
                }
            }
            Ok(())
        })
        .await
    }

    async fn make_directory(&self, path: &str, mode: u32, owner: Owner) -> Result<(), PortError> {
        let path = path.to_owned();
        self.with_tree(move |tree| {
            let directory = tree.make_directories(&path, Way::for_owner(owner))?;
            tree.give(&directory, &path, owner)?;
            set_mode(&directory, &path, mode)
        })
        .await
    }

    async fn read_link(&self, path: &str) -> Result<Option<String>, PortError> {
        let path = path.to_owned();
        self.with_tree(move |tree| links::read(tree, &path)).await
    }

    async fn make_link(&self, path: &str, target: &str) -> Result<(), PortError> {
        let (path, target) = (path.to_owned(), target.to_owned());
        self.with_tree(move |tree| links::make(tree, &path, &target))
            .await
    }

    async fn remove_file(&self, path: &str, seen: &[u8]) -> Result<(), PortError> {
        let (path, seen) = (path.to_owned(), seen.to_vec());
        self.with_tree(move |tree| removal::remove(tree, &path, &seen))
            .await
    }
}

fn read_os(tree: &Tree) -> Result<OsFacts, PortError> {
    for path in OS_RELEASE {
        // /etc/os-release is usually a link, so here it is followed; below the root, as always.
        let opened = match tree.open(path, OFlag::O_RDONLY) {
            Ok(opened) => opened,
            Err(Errno::ENOENT | Errno::ENOTDIR) => continue,
            Err(errno) => return Err(io_only(os_error(format!("open {path}"), &errno.into()))),
        };
        let mut text = String::new();
        File::from(opened)
            .read_to_string(&mut text)
            .map_err(|error| io_only(os_error(format!("read {path}"), &error)))?;
        return Ok(parse_os_release(&text));
    }
    let summary = format!("there is neither {} nor {}", OS_RELEASE[0], OS_RELEASE[1]);
    Err(PortError::new(Condition::Missing, summary))
}

fn io_only(error: PortError) -> PortError {
    PortError {
        condition: Condition::Io,
        ..error
    }
}

fn look(tree: &Tree, path: &str, limit: u64) -> Result<Option<FileFacts>, PortError> {
    let fail = |errno: Errno| os_error(format!("look at {path}"), &errno.into());
    let Some(spot) = tree.find_spot(path)? else {
        return Ok(None);
    };
    let Some(stat) = spot.look().map_err(fail)? else {
        return Ok(None);
    };
    let kind = kind_of(&stat);
    let contents = match kind {
        EntryKind::File => {
            read_contents(&spot, limit).map_err(|error| os_error(format!("read {path}"), &error))?
        }
        EntryKind::Directory | EntryKind::Link | EntryKind::Other => None,
    };
    // A file linked from the store has the store's time of writing; the change of its inode says when
    // it came here.
    let written = (stat.st_mtime, stat.st_mtime_nsec);
    let (seconds, nanoseconds) = written.max((stat.st_ctime, stat.st_ctime_nsec));
    let seconds = u64::try_from(seconds).unwrap_or(0);
    let nanoseconds = u64::try_from(nanoseconds).unwrap_or(0);
    Ok(Some(FileFacts {
        kind,
        mode: permission_bits(&stat),
        owner: tree.owner_of(&stat),
        contents,
        modified_us: seconds * 1_000_000 + nanoseconds / 1000,
    }))
}

fn stamp(tree: &Tree, path: &str) -> Result<Option<FileStamp>, PortError> {
    let Some(spot) = tree.find_spot(path)? else {
        return Ok(None);
    };
    let looked = spot.look();
    let stat = looked.map_err(|errno| os_error(format!("look at {path}"), &errno.into()))?;
    let nanoseconds =
        |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Ok(stat.map(|stat| FileStamp {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        inode: stat.st_ino,
        mode: stat.st_mode,
        owner: tree.owner_of(&stat),
        modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
    }))
}

/// The bytes of the regular file at `spot`; `None` if there are more than `limit`.
pub(super) fn read_contents(spot: &Spot, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    // O_NONBLOCK: should a pipe have taken the file's place since, opening it must not hang.
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let opened = openat(&spot.directory, spot.name.as_str(), flags, Mode::empty())?;
    let mut bytes = Vec::new();
    File::from(opened)
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

fn list(tree: &Tree, path: &str) -> Result<Vec<String>, PortError> {
    let directory = match tree.open(path, OFlag::O_RDONLY | OFlag::O_DIRECTORY) {
        Ok(directory) => directory,
        Err(Errno::ENOENT) => return Ok(Vec::new()),
        Err(errno) => return Err(os_error(format!("open {path}"), &errno.into())),
    };
    let mut names =
        names_in(&directory).map_err(|error| os_error(format!("list {path}"), &error))?;
    names.retain(|name| !is_temporary(name));
    names.sort();
    Ok(names)
}

pub(super) fn in_the_way(path: &str, what: &str) -> PortError {
    PortError::new(Condition::Occupied, format!("{what} stands at {path}"))
}

fn permit(tree: &Tree, file: &WriteFile) -> Result<(), PortError> {
    let path = &file.path;
    let fail = |error: std::io::Error| os_error(format!("set permissions of {path}"), &error);
    let missing = || PortError::new(Condition::Missing, format!("nothing stands at {path}"));
    let way = Way::for_owner(file.owner);
    let spot = tree.find_spot_by(path, way)?.ok_or_else(missing)?;
    let there = spot
        .look()
        .map_err(|errno| fail(errno.into()))?
        .ok_or_else(missing)?;
    if kind_of(&there) == EntryKind::Link {
        return Err(in_the_way(path, "a symbolic link"));
    }
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let entry = openat(&spot.directory, spot.name.as_str(), flags, Mode::empty())
        .map_err(|errno| fail(errno.into()))?;
    if tree.owners == OwnerPolicy::Set {
        let (uid, gid) = (Uid::from_raw(file.owner.uid), Gid::from_raw(file.owner.gid));
        fchownat(&entry, "", Some(uid), Some(gid), AtFlags::AT_EMPTY_PATH)
            .map_err(|errno| fail(errno.into()))?;
    }
    // The kernel changes no mode through an O_PATH descriptor, but does through its name in /proc.
    let name = format!("/proc/self/fd/{}", entry.as_raw_fd());
    std::fs::set_permissions(name, Permissions::from_mode(file.mode)).map_err(fail)
}

pub(super) fn kind_of(stat: &FileStat) -> EntryKind {
    match kind_bits(stat) {
        SFlag::S_IFREG => EntryKind::File,
        SFlag::S_IFDIR => EntryKind::Directory,
        SFlag::S_IFLNK => EntryKind::Link,
        _ => EntryKind::Other,
    }
}
