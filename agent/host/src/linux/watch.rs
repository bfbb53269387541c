//! Watches a directory with inotify. While it does not exist, the nearest directory above it is watched.
//!
//! A change that inotify does not report, such as a mount over the directory, is not seen.

use super::attempt::{blocking, os_error};
use super::tree::Tree;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use quake_model::ports::{DirectoryWatch, PortError};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use tokio::io::unix::AsyncFd;

/// A watch on a directory.
pub(super) struct Watch {
    tree: Tree,
    path: String,
    /// `None` while a watch is placed anew.
    placed: Option<Placed>,
    /// Whether the directory was there when the watch was last placed.
    was_there: bool,
}

/// What the kernel reports to.
struct Placed {
    queue: AsyncFd<Queue>,
    /// Whether it watches the directory itself, and not one above it.
    is_there: bool,
}

struct Queue(Inotify);

impl AsRawFd for Queue {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Watch {
    pub(super) async fn begin(tree: Tree, path: String) -> Result<Self, PortError> {
        let mut watch = Self {
            tree,
            path,
            placed: None,
            was_there: false,
        };
        watch.place().await?;
        Ok(watch)
    }

    async fn place(&mut self) -> Result<(), PortError> {
        let (tree, path) = (self.tree.clone(), self.path.clone());
        let placed = blocking(move || place(&tree, &path)).await?;
        self.was_there = placed.is_there;
        self.placed = Some(placed);
        Ok(())
    }
}

impl DirectoryWatch for Watch {
    async fn changed(&mut self) -> Result<(), PortError> {
        loop {
            let was_there = self.was_there;
            if let Some(placed) = &self.placed {
                let is_kept = read(&placed.queue)
                    .await
                    .map_err(|error| os_error(format!("watch {}", self.path), &error))?;
                if was_there && is_kept {
                    return Ok(());
                }
                self.placed = None;
            }
            self.place().await?;
            if was_there || self.was_there {
                return Ok(());
            }
        }
    }
}

/// Waits for events and takes all that are there; whether the watch stands after them.
async fn read(queue: &AsyncFd<Queue>) -> std::io::Result<bool> {
    let ended = AddWatchFlags::IN_DELETE_SELF
        | AddWatchFlags::IN_MOVE_SELF
        | AddWatchFlags::IN_UNMOUNT
        | AddWatchFlags::IN_IGNORED;
    loop {
        let mut ready = queue.readable().await?;
        let read = ready.try_io(|queue| Ok(queue.get_ref().0.read_events()?));
        // Without an event it was woken for nothing.
        if let Ok(events) = read {
            return Ok(!events?.iter().any(|event| event.mask.intersects(ended)));
        }
    }
}

/// Watches the directory, or the nearest one above it.
fn place(tree: &Tree, path: &str) -> Result<Placed, PortError> {
    let fail = |errno: Errno| os_error(format!("watch {path}"), &errno.into());
    let events = AddWatchFlags::IN_CREATE
        | AddWatchFlags::IN_MOVED_TO
        | AddWatchFlags::IN_MOVED_FROM
        | AddWatchFlags::IN_DELETE
        | AddWatchFlags::IN_CLOSE_WRITE
        | AddWatchFlags::IN_DELETE_SELF
        | AddWatchFlags::IN_MOVE_SELF
        | AddWatchFlags::IN_ONLYDIR;
    let mut at = nearest(tree, path).map_err(fail)?;
    loop {
        let flags = InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK;
        let queue = Inotify::init(flags).map_err(fail)?;
        // Through /proc the watch is on the directory that is open, wherever its path leads by now.
        let name = format!("/proc/self/fd/{}", at.directory.as_raw_fd());
        queue.add_watch(name.as_str(), events).map_err(fail)?;
        // What came before the watch is found only by looking again.
        let now = nearest(tree, path).map_err(fail)?;
        if now.path == at.path {
            let queue =
                register(queue).map_err(|error| os_error(format!("watch {path}"), &error))?;
            return Ok(Placed {
                queue,
                is_there: at.path == path,
            });
        }
        at = now;
    }
}

#[expect(
    deprecated,
    reason = "what replaces it is unsafe to call; the descriptor is the queue's own and lives as long"
)]
fn register(queue: Inotify) -> std::io::Result<AsyncFd<Queue>> {
    AsyncFd::new(Queue(queue))
}

struct Opened<'a> {
    directory: OwnedFd,
    path: &'a str,
}

/// Opens the directory, or the nearest one above it that exists.
fn nearest<'a>(tree: &Tree, path: &'a str) -> nix::Result<Opened<'a>> {
    let mut path = path;
    loop {
        match tree.open(path, OFlag::O_PATH | OFlag::O_DIRECTORY) {
            Ok(directory) => return Ok(Opened { directory, path }),
            Err(Errno::ENOENT | Errno::ENOTDIR) if path.len() > 1 => {
                let end = path.rfind('/').unwrap_or(0).max(1);
                path = &path[..end];
            }
            Err(errno) => return Err(errno),
        }
    }
}
