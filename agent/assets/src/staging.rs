//! Files and directories on their way into the store. Whatever is not kept is removed when it is dropped,
//! on every path out of a fetch, and what a killed agent left is removed by the next.

use super::failure::store_failure;
use super::layout::Layout;
use super::lock::{Lock, LockMode};
use super::names::Named;
use quake_model::ports::PortError;
use std::fs::{File, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The staging directory, with a shared lock on it for as long as anything staged lives.
#[derive(Debug)]
pub(super) struct Staging {
    folder: PathBuf,
    next: AtomicU64,
    _lock: Lock,
}

/// A file or directory in the staging directory; removed when dropped, unless it was kept.
#[derive(Debug)]
pub(super) struct Staged {
    path: PathBuf,
    _staging: Arc<Staging>,
}

impl Staging {
    /// Makes the staging directory and takes the shared lock.
    ///
    /// # Errors
    ///
    /// `NotReady` while another process holds the lock alone; `NoSpace` or `Io`.
    pub(super) fn open(layout: &Layout) -> Result<Arc<Self>, PortError> {
        let folder = layout.staging();
        make_closed(&folder)?;
        let lock = Lock::share(&layout.staging_lock())?;
        Ok(Arc::new(Self {
            folder,
            next: AtomicU64::new(0),
            _lock: lock,
        }))
    }

    /// Makes a file that only its owner may read, and opens it for reading and writing.
    pub(super) fn make_file(self: &Arc<Self>) -> Result<(Staged, File), PortError> {
        self.make(|path| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true).open(path)
        })
    }

    pub(super) fn make_folder(self: &Arc<Self>) -> Result<Staged, PortError> {
        self.make(|path| std::fs::create_dir(path))
            .map(|(staged, ())| staged)
    }

    /// Makes something under the next free name: another process may use the same process id in its
    /// own namespace.
    fn make<T>(
        self: &Arc<Self>,
        make: impl Fn(&Path) -> std::io::Result<T>,
    ) -> Result<(Staged, T), PortError> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{number}", std::process::id());
            let path = self.folder.join(name);
            match make(&path) {
                Ok(made) => {
                    let staged = Staged {
                        path,
                        _staging: Arc::clone(self),
                    };
                    return Ok((staged, made));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(store_failure(&path, "made", &error)),
            }
        }
    }
}

impl Staged {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives a file its permission bits, whatever the process' mask is.
    pub(super) fn set_mode(&self, mode: u32) -> Result<(), PortError> {
        let set = std::fs::set_permissions(&self.path, Permissions::from_mode(mode));
        set.map_err(|error| store_failure(&self.path, "changed", &error))
    }

    /// Moves it to `target`, replacing a file there.
    ///
    /// # Errors
    ///
    /// `NoSpace` or `Io`; it is removed then.
    pub(super) fn keep(mut self, target: &Path) -> Result<(), PortError> {
        let moved = std::fs::rename(&self.path, target);
        moved.map_err(|error| store_failure(target, "written", &error))?;
        // The old name is free: what stands there from now on may be another agent's.
        self.path.clear();
        Ok(())
    }

    /// Takes whatever stands at `target` out of the way; it is removed with this.
    pub(super) fn swallow(&self, target: &Path) -> Result<(), PortError> {
        match std::fs::rename(target, self.path.join("old")) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(store_failure(target, "replaced", &error))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            remove(&self.path);
        }
    }
}

/// Removes what agents that are gone left in the staging directory and beside the assets, unless one is staging now.
pub(super) fn remove_stale(layout: &Layout) {
    if stale(layout).is_empty() {
        return;
    }
    // Whoever stages holds the lock shared; failing to take it alone means that the files are alive.
    let Ok(lock) = Lock::take(&layout.staging_lock(), LockMode::Alone) else {
        return;
    };
    // Looked for once more: what was alive before the lock may be an asset by now.
    for path in stale(layout) {
        tracing::debug!(path = %path.display(), "removing what an interrupted fetch left");
        remove(&path);
    }
    drop(lock);
}

/// What is on its way into the store, or was when its agent was killed.
pub(super) fn stale(layout: &Layout) -> Vec<PathBuf> {
    let staged = std::fs::read_dir(layout.staging()).into_iter().flatten();
    let mut stale: Vec<PathBuf> = staged.flatten().map(|entry| entry.path()).collect();
    // A store that cannot be read is reported where it is used.
    stale.extend(Named::read(layout).unwrap_or_default().orphans);
    stale
}

/// Makes a directory that only its owner can enter, and its parents.
fn make_closed(folder: &Path) -> Result<(), PortError> {
    let made = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::set_permissions(folder, Permissions::from_mode(0o700)));
    made.map_err(|error| store_failure(folder, "made", &error))
}

/// Takes the directory at `path` out of sight at once, and then removes it: half of it is never seen under its name.
pub(super) fn remove_whole(layout: &Layout, path: &Path) {
    let staging = layout.staging();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = staging.join(format!("removed-{}-{name}", std::process::id()));
    remove(&aside);
    let moved = make_closed(&staging).is_ok() && std::fs::rename(path, &aside).is_ok();
    remove(if moved { &aside } else { path });
}

/// Removes a file or a directory. A failure leaves it to the next agent: nothing can be done about it here.
pub(super) fn remove(path: &Path) {
    if std::fs::remove_file(path).is_err() {
        let _ = std::fs::remove_dir_all(path);
    }
}

/// Makes the names in a directory durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), PortError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| store_failure(folder, "made durable", &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::ports::Condition;

    fn layout() -> (tempfile::TempDir, Layout) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let layout = Layout::new(folder.path().join("store"));
        (folder, layout)
    }

    fn staged_names(layout: &Layout) -> usize {
        std::fs::read_dir(layout.staging()).map_or(0, Iterator::count)
    }

    #[test]
    fn what_is_not_kept_is_removed() {
        let (_folder, layout) = layout();
        let staging = Staging::open(&layout).expect("ours");
        let (file, _) = staging.make_file().expect("ours");
        let folder = staging.make_folder().expect("ours");
        std::fs::write(folder.path().join("inside"), "x").expect("ours");
        assert_eq!(staged_names(&layout), 2);
        drop((file, folder));
        assert_eq!(staged_names(&layout), 0);
    }

    #[test]
    fn agents_that_choose_the_same_names_leave_each_others_files_alone() {
        let (folder, layout) = layout();
        std::thread::scope(|scope| {
            for agent in ["a", "b"] {
                let staging = Staging::open(&layout).expect("ours");
                let target = folder.path().join(agent);
                scope.spawn(move || {
                    for _ in 0..5000 {
                        let (staged, _) = staging.make_file().expect("ours");
                        staged.keep(&target).expect("nobody else removes it");
                    }
                });
            }
        });
    }

    #[test]
    fn what_a_killed_agent_left_is_removed_by_the_next() {
        let (_folder, layout) = layout();
        drop(Staging::open(&layout).expect("ours"));
        std::fs::create_dir_all(layout.staging().join("1-0/files")).expect("ours");
        std::fs::write(layout.staging().join("1-1"), "half").expect("ours");
        remove_stale(&layout);
        assert_eq!(staged_names(&layout), 0);
    }

    #[test]
    fn only_its_owner_enters_the_staging_directory_whoever_made_it() {
        let (_folder, layout) = layout();
        std::fs::create_dir_all(layout.staging()).expect("ours");
        let open = Permissions::from_mode(0o755);
        std::fs::set_permissions(layout.staging(), open).expect("ours");
        let _staging = Staging::open(&layout).expect("ours");
        let found = layout.staging().metadata().expect("it is there");
        assert_eq!(found.permissions().mode() & 0o7777, 0o700);
    }

    #[test]
    fn what_cannot_be_kept_or_moved_out_of_the_way_is_an_error() {
        let (folder, layout) = layout();
        let staging = Staging::open(&layout).expect("ours");
        let target = folder.path().join("target");
        let old = staging.make_folder().expect("ours");
        assert_eq!(old.swallow(&target), Ok(()), "nothing stands there");
        std::fs::create_dir_all(target.join("inside")).expect("ours");
        let (file, _) = staging.make_file().expect("ours");
        let error = file.keep(&target).expect_err("a directory stands there");
        assert_eq!(error.condition, Condition::Io);
        assert_eq!(old.swallow(&target), Ok(()));
        assert!(!target.exists(), "it is out of the way");
        std::fs::create_dir_all(&target).expect("ours");
        let error = old.swallow(&target).expect_err("its place is taken");
        assert_eq!(error.condition, Condition::Io);
        assert!(target.exists());
        assert_eq!(staged_names(&layout), 1, "what was not kept is removed");
        drop(old);
        assert_eq!(staged_names(&layout), 0);
    }

    #[test]
    fn what_is_staged_has_the_mode_that_it_is_given_whatever_the_mask() {
        let (folder, layout) = layout();
        let staging = Staging::open(&layout).expect("ours");
        let staged = staging.make_folder().expect("ours");
        let target = folder.path().join("archive");
        staged.set_mode(0o777).expect("ours");
        staged.keep(&target).expect("nothing is in the way");
        let found = target.metadata().expect("it is there");
        assert_eq!(found.permissions().mode() & 0o7777, 0o777);
    }

    #[test]
    fn where_nothing_can_be_made_or_made_durable_an_error_says_so() {
        let (_folder, layout) = layout();
        let staging = Staging::open(&layout).expect("ours");
        assert_eq!(sync_folder(&layout.staging()), Ok(()));
        std::fs::remove_dir(layout.staging()).expect("ours");
        let made = staging.make_file().map(|_| ());
        for result in [made, sync_folder(&layout.staging())] {
            let error = result.expect_err("the directory is gone");
            assert_eq!(error.condition, Condition::Io);
        }
    }

    #[test]
    fn a_directory_is_removed_whole_whatever_an_earlier_removal_left() {
        let (folder, layout) = layout();
        let archive = folder.path().join("ab.d");
        let aside = format!("removed-{}-ab.d", std::process::id());
        std::fs::create_dir_all(layout.staging().join(aside).join("files")).expect("ours");
        std::fs::create_dir_all(archive.join("files")).expect("ours");
        remove_whole(&layout, &archive);
        assert!(!archive.exists());
        assert_eq!(staged_names(&layout), 0);
    }

    #[test]
    fn a_directory_is_removed_where_it_is_if_nothing_can_be_staged() {
        let (folder, layout) = layout();
        let archive = folder.path().join("ab.d");
        std::fs::create_dir_all(archive.join("files")).expect("ours");
        std::fs::write(layout.folder(), "no directory").expect("ours");
        remove_whole(&layout, &archive);
        assert!(!archive.exists());
    }

    #[test]
    fn what_a_living_agent_stages_is_left_alone() {
        let (_folder, layout) = layout();
        let staging = Staging::open(&layout).expect("ours");
        let (file, _) = staging.make_file().expect("ours");
        remove_stale(&layout);
        assert!(file.path().exists());
    }
}
