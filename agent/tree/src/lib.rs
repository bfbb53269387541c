//! Paths below a root: `/` on a node, a directory that stands for it in an image or a rehearsal.
//!
//! Below such a directory no path and no symbolic link leads out. The kernel resolves both as if that root
//! were `/` (`openat2` with `RESOLVE_IN_ROOT`, Linux 5.6), as a chroot would. A link that leads nowhere in
//! there is refused and named. On a node paths resolve as for any program, so older kernels will do.

mod blocking;
mod locate;

pub use blocking::{BlockingLink, find_blocking_link};
pub use locate::{Last, locate};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open as open_plain, openat2};
use nix::sys::stat::Mode;
use std::os::fd::OwnedFd;
use std::path::Path;

/// How often a path with `..` is resolved while others rename or mount.
const ATTEMPTS: usize = 1000;

/// Opens what an absolute path leads to below `root`.
///
/// The kernel gives up on a `..` (`EAGAIN`) where anything on the machine was renamed or mounted meanwhile, so
/// that the answer of `openat2(2)` is to resolve the path again.
///
/// # Errors
///
/// Those of `open(2)` and `openat2(2)`; `ENOSYS` before Linux 5.6 where `root` is not `/`.
pub fn open(root: &Path, path: &str, flags: OFlag) -> nix::Result<OwnedFd> {
    let flags = flags | OFlag::O_CLOEXEC;
    if is_machine(root) {
        return open_plain(path, flags, Mode::empty());
    }
    let inside = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let root = open_plain(root, inside, Mode::empty())?;
    let resolve = ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS;
    let how = OpenHow::new().flags(flags).resolve(resolve);
    for _ in 1..ATTEMPTS {
        match openat2(&root, path, how) {
            Err(Errno::EAGAIN) => std::hint::spin_loop(),
            opened => return opened,
        }
    }
    openat2(&root, path, how)
}

/// Whether a root is the machine's own.
fn is_machine(root: &Path) -> bool {
    root == Path::new("/")
}

#[cfg(test)]
mod tests;
