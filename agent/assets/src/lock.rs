//! The locks that agents on one store share: taken without waiting, and closed to other users.
//!
//! A lock is held on an open file, and whoever can open a file can lock it. So a lock file has mode 0600. One that others
//! may open, as an older agent or an image builder left it, is replaced once no agent holds it; a lock that only
//! other users hold does not count.

use super::failure::store_failure;
use super::holders::{Holder, holders_of};
use quake_model::ports::{Condition, PortError};
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// How often a lock file is opened that another agent replaces at the same time.
const TRIES: usize = 8;

/// Only its owner may open a lock file.
const MODE: u32 = 0o600;

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// Beside others that hold it so.
    Shared,
    Alone,
}

/// A lock; dropped, it is free.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock at `path`, making its file if it is not there; never waits.
    ///
    /// # Errors
    ///
    /// `NotReady` when it is held, with the processes that hold it; `NoSpace` or `Io`.
    pub fn take(path: &Path, mode: LockMode) -> Result<Self, PortError> {
        let failed = |error: Error| store_failure(path, "locked", &error);
        let mut holders = Vec::new();
        for _ in 0..TRIES {
            let file = open(path, OpenOptions::new().create(true)).map_err(failed)?;
            let found = file.metadata().map_err(failed)?;
            let is_held = match hold_named(path, &file, &found, mode) {
                Ok(false) => continue,
                Ok(true) => false,
                Err(TryLockError::WouldBlock) => true,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            };
            if is_held {
                holders = holders_of(&found);
            }
            if !is_held && is_private(&found) {
                return Ok(Self { _file: file });
            }
            if !may_replace(&file, &found, is_held, &holders) {
                break;
            }
            replace(path, &found).map_err(failed)?;
        }
        Err(held(path, &holders))
    }

    /// Takes the lock that another version of the agent may hold shared on a file that others can open.
    pub(super) fn share(path: &Path) -> Result<Self, PortError> {
        let taken = Self::take(path, LockMode::Shared);
        let Err(error) = taken else {
            return taken;
        };
        let failed = |error: Error| store_failure(path, "locked", &error);
        let file = open(path, &mut OpenOptions::new()).map_err(failed)?;
        // Another agent holds it too, and nobody can replace it while one does.
        let found = file.metadata().map_err(failed)?;
        let is_shared = error.condition == Condition::NotReady && file.try_lock_shared().is_ok();
        if is_shared && is_named(path, &found) {
            Ok(Self { _file: file })
        } else {
            Err(error)
        }
    }
}

/// Whether nobody holds the lock at `path`, as far as this process may know.
pub(super) fn is_free(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => file.try_lock().is_ok(),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

fn open(path: &Path, options: &mut OpenOptions) -> std::io::Result<File> {
    let options = options.read(true).write(true).truncate(false).mode(MODE);
    options.custom_flags(nix::libc::O_NOFOLLOW).open(path)
}

/// Holds the lock of this file; whether it is still the one at `path`.
fn hold_named(
    path: &Path,
    file: &File,
    found: &Metadata,
    mode: LockMode,
) -> Result<bool, TryLockError> {
    match mode {
        LockMode::Shared => file.try_lock_shared()?,
        LockMode::Alone => file.try_lock()?,
    }
    Ok(is_named(path, found))
}

/// Whether only this user can have opened the file.
fn is_private(found: &Metadata) -> bool {
    found.is_file() && found.uid() == own_user() && found.mode() & 0o077 == 0
}

/// Whether the file at `path` is this one: it may have been replaced between its opening and its lock.
pub(super) fn is_named(path: &Path, found: &Metadata) -> bool {
    let named = path.symlink_metadata();
    named.is_ok_and(|named| (named.dev(), named.ino()) == (found.dev(), found.ino()))
}

/// Whether a lock file can be replaced: others can open it, and no agent holds it.
fn may_replace(file: &File, found: &Metadata, is_held: bool, holders: &[Holder]) -> bool {
    if is_private(found) {
        return false;
    }
    match is_held {
        true => !holders.is_empty() && holders.iter().all(|holder| holder.is_foreign(own_user())),
        // Shared with other agents, it must stay: they would not know of the new file.
        false => file.try_lock().is_ok(),
    }
}

/// Puts a new file in the place of `old`. Of several agents that do so, one does: each holds the lock of the new file
/// while it looks at the old one for the last time.
fn replace(path: &Path, old: &Metadata) -> std::io::Result<()> {
    let beside = path.with_extension("lock-new");
    let new = open(&beside, OpenOptions::new().create(true))?;
    let made = new.metadata()?;
    if !is_private(&made) {
        return std::fs::remove_file(&beside);
    }
    if new.try_lock().is_err() || !is_named(&beside, &made) {
        return Ok(());
    }
    if is_named(path, old) {
        std::fs::rename(&beside, path)
    } else {
        std::fs::remove_file(&beside)
    }
}

fn held(path: &Path, holders: &[Holder]) -> PortError {
    let names: Vec<String> = holders.iter().map(ToString::to_string).collect();
    let names = if names.is_empty() {
        "a process that cannot be seen from here".to_owned()
    } else {
        names.join(", ")
    };
    let summary = format!("{} is locked by {names}", path.display());
    PortError::new(Condition::NotReady, summary).seen("holder", names)
}

fn own_user() -> u32 {
    nix::unistd::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn fixture() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("staging.lock");
        (folder, path)
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().expect("it is there").mode() & 0o777
    }

    #[test]
    fn a_lock_file_is_closed_to_other_users() {
        let (_folder, path) = fixture();
        let lock = Lock::take(&path, LockMode::Alone).expect("nobody holds it");
        assert_eq!(mode(&path), 0o600);
        drop(lock);
    }

    #[test]
    fn a_held_lock_is_told_at_once_with_its_holder() {
        let (_folder, path) = fixture();
        let first = Lock::take(&path, LockMode::Shared).expect("nobody holds it");
        let second = Lock::take(&path, LockMode::Shared).expect("it may be shared");
        let error = Lock::take(&path, LockMode::Alone).expect_err("it is held");
        assert_eq!(error.condition, Condition::NotReady);
        let own = format!("process {}", std::process::id());
        assert!(error.summary.contains(&own), "{error}");
        drop((first, second));
        assert!(Lock::take(&path, LockMode::Alone).is_ok());
    }

    #[test]
    fn a_file_that_others_can_open_is_replaced_once_no_agent_holds_it() {
        let (_folder, path) = fixture();
        std::fs::write(&path, "").expect("ours");
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("ours");
        let before = path.metadata().expect("ours").ino();
        let other = File::open(&path).expect("ours");
        other.lock_shared().expect("nobody holds it");
        assert!(Lock::take(&path, LockMode::Alone).is_err());
        let shared = Lock::share(&path).expect("both share it");
        assert_eq!(path.metadata().expect("ours").ino(), before);
        drop((other, shared));
        let lock = Lock::share(&path).expect("nobody holds it");
        assert_ne!(path.metadata().expect("ours").ino(), before);
        assert_eq!(mode(&path), 0o600);
        drop(lock);
    }

    #[test]
    fn a_lock_that_is_held_alone_is_not_shared_whoever_may_open_its_file() {
        let (_folder, path) = fixture();
        for mode in [0o600, 0o644] {
            std::fs::write(&path, "").expect("ours");
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
            let alone = File::open(&path).expect("ours");
            alone.lock().expect("nobody holds it");
            let error = Lock::share(&path).expect_err("it is held alone");
            assert_eq!(error.condition, Condition::NotReady, "{mode:o}");
        }
    }

    #[test]
    fn a_lock_is_free_while_nobody_holds_it_and_unknown_is_not_free() {
        let (folder, path) = fixture();
        assert!(is_free(&path), "it is not there");
        let lock = Lock::take(&path, LockMode::Shared).expect("nobody holds it");
        assert!(!is_free(&path));
        drop(lock);
        assert!(is_free(&path));
        let too_long = folder.path().join("x".repeat(256));
        assert!(!is_free(&too_long), "it cannot be opened");
    }

    #[test]
    fn a_lock_file_is_private_if_it_is_a_file_of_this_user_that_nobody_else_may_open() {
        let (folder, path) = fixture();
        std::fs::write(&path, "").expect("ours");
        for (mode, expected) in [
            (0o600, true),
            (0o700, true),
            (0o640, false),
            (0o604, false),
            (0o602, false),
        ] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
            let found = path.metadata().expect("ours");
            assert_eq!(is_private(&found), expected, "{mode:o}");
        }
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).expect("ours");
        let found = folder.path().metadata().expect("ours");
        assert!(!is_private(&found), "a directory");
        // A file of another user: root's where this is not root.
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("ours");
        let others = match std::os::unix::fs::chown(&path, Some(65534), None) {
            Ok(()) => path.as_path(),
            Err(_) => Path::new("/proc/1/environ"),
        };
        assert!(!is_private(&others.metadata().expect("it is there")));
    }

    #[test]
    fn a_lock_file_is_replaced_if_others_can_open_it_and_no_agent_holds_it() {
        let (_folder, path) = fixture();
        let (own, foreign) = (Holder::of_user(own_user()), Holder::of_user(own_user() + 1));
        std::fs::write(&path, "").expect("ours");
        let file = File::open(&path).expect("ours");
        let other = File::open(&path).expect("ours");
        for (mode, is_held, holders, expected) in [
            (0o600, false, vec![], false),
            (0o600, true, vec![foreign.clone()], false),
            (0o644, false, vec![], true),
            (0o644, true, vec![], false),
            (0o644, true, vec![foreign.clone()], true),
            (0o644, true, vec![own.clone()], false),
            (0o644, true, vec![foreign, own], false),
        ] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
            let found = path.metadata().expect("ours");
            let may = may_replace(&file, &found, is_held, &holders);
            assert_eq!(may, expected, "{mode:o} {is_held} {holders:?}");
        }
        drop(file);
        other.lock_shared().expect("nobody holds it");
        let file = File::open(&path).expect("ours");
        let found = file.metadata().expect("ours");
        assert!(!may_replace(&file, &found, false, &[]), "it is shared");
    }

    #[test]
    fn a_new_lock_file_takes_the_place_of_the_old_one_alone() {
        let (_folder, path) = fixture();
        let beside = path.with_extension("lock-new");
        let inode = |path: &Path| path.metadata().expect("it is there").ino();
        std::fs::write(&path, "").expect("ours");
        let old = path.metadata().expect("ours");
        // One that others can open is no new lock file; the next try makes another one.
        std::fs::write(&beside, "").expect("ours");
        std::fs::set_permissions(&beside, Permissions::from_mode(0o644)).expect("ours");
        replace(&path, &old).expect("it is removed");
        assert!(!beside.exists());
        assert_eq!(inode(&path), old.ino());
        // Another agent replaces the old one at this moment.
        let busy = open(&beside, OpenOptions::new().create(true)).expect("ours");
        busy.lock().expect("nobody holds it");
        replace(&path, &old).expect("that agent goes on");
        assert!(beside.exists());
        assert_eq!(inode(&path), old.ino());
        drop(busy);
        replace(&path, &old).expect("nothing is in the way");
        assert!(!beside.exists());
        assert_ne!(inode(&path), old.ino());
        assert_eq!(mode(&path), 0o600);
        // What stands there now is not the file that was looked at.
        let new = inode(&path);
        replace(&path, &old).expect("nothing is to be done");
        assert!(!beside.exists());
        assert_eq!(inode(&path), new);
    }

    #[test]
    fn a_lock_whose_file_was_replaced_between_its_opening_and_its_lock_is_not_the_named_one() {
        let (_folder, path) = fixture();
        std::fs::write(&path, "").expect("ours");
        let file = File::open(&path).expect("ours");
        let found = file.metadata().expect("ours");
        let is_held = || {
            let modes = [LockMode::Shared, LockMode::Alone];
            modes.map(|mode| hold_named(&path, &file, &found, mode).expect("nobody holds it"))
        };
        assert_eq!(is_held(), [true, true]);
        // It stays, so that the next file is another inode.
        std::fs::rename(&path, path.with_extension("old")).expect("ours");
        assert_eq!(is_held(), [false, false], "nothing stands there");
        std::fs::write(&path, "").expect("ours");
        assert_eq!(is_held(), [false, false], "another file stands there");
    }

    #[test]
    fn a_link_in_the_place_of_a_lock_is_not_followed() {
        let (folder, path) = fixture();
        let target = folder.path().join("elsewhere");
        std::os::unix::fs::symlink(&target, &path).expect("ours");
        let error = Lock::take(&path, LockMode::Alone).expect_err("a link");
        assert_eq!(error.condition, Condition::Io);
        assert!(!target.exists());
    }

    #[test]
    fn agents_that_replace_one_file_together_never_hold_it_together() {
        let (_folder, path) = fixture();
        let inside = std::sync::atomic::AtomicUsize::new(0);
        std::fs::write(&path, "").expect("ours");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let open = Permissions::from_mode(0o666);
                        let _ = std::fs::set_permissions(&path, open);
                        let Ok(lock) = Lock::take(&path, LockMode::Alone) else {
                            continue;
                        };
                        let before = inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        assert_eq!(before, 0, "another one holds it");
                        inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
    }
}
