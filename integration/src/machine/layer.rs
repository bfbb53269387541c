//! Files that are laid over a base system: a directory that is a root's, as far as it goes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The agent's command with a short grace.
const SHORT_GRACE: &str =
    "[Service]\nExecStart=\nExecStart=/usr/local/bin/quake-agent boot --denied-grace 2s\n";

/// A directory of files, removed with its value.
#[derive(Debug)]
pub struct Layer {
    folder: TempDir,
    /// Directories below, the nearest first: what another step made and is not changed.
    below: Vec<PathBuf>,
    /// Whether the machine may write settings of this kernel that are not its network's alone.
    writes_kernel: bool,
}

impl Default for Layer {
    fn default() -> Self {
        Self::new()
    }
}

impl Layer {
    /// Nothing yet.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
        Self {
            folder,
            below: Vec::new(),
            writes_kernel: false,
        }
    }

    /// The same over this directory, which lies over the base.
    #[must_use]
    pub fn over(mut self, folder: PathBuf) -> Self {
        self.below.push(folder);
        self
    }

    /// Adds a file, in the place of one that is there.
    #[must_use]
    pub fn file(self, path: &str, mode: u32, contents: impl AsRef<[u8]>) -> Self {
        self.put(path, mode, contents.as_ref());
        self
    }

    /// Adds a copy of a file of this machine.
    #[must_use]
    pub fn copy(self, path: &str, mode: u32, source: &Path) -> Self {
        let contents = fs::read(source).expect("a file that the caller named");
        self.file(path, mode, contents)
    }

    /// Adds a symbolic link.
    #[must_use]
    pub fn link(self, path: &str, target: &str) -> Self {
        let place = self.place(path);
        let _ = fs::remove_file(&place);
        symlink(target, &place).expect("the directory is ours");
        self
    }

    /// Adds a unit, and has it start with the machine.
    #[must_use]
    pub fn unit(self, name: &str, text: &str, target: &str) -> Self {
        let path = format!("/etc/systemd/system/{name}");
        let wanted = format!("/etc/systemd/system/{target}.wants/{name}");
        self.file(&path, 0o644, text).link(&wanted, &path)
    }

    /// Has the agent try what is refused again for two seconds only, where it has a grace of half a minute.
    #[must_use]
    pub fn short_grace(self) -> Self {
        let path = "/etc/systemd/system/quake-agent.service.d/60-grace.conf";
        self.file(path, 0o644, SHORT_GRACE)
    }

    /// Lets a container write settings of this kernel, as a real kubelet does. They stay when it has ended.
    #[must_use]
    pub fn kernel_settings(mut self) -> Self {
        self.writes_kernel = true;
        self
    }

    /// Which of the kernel's file systems a container may write, in the words of systemd-nspawn.
    pub(super) fn writable(&self) -> &'static str {
        match self.writes_kernel {
            true => "yes",
            false => "network",
        }
    }

    /// Hides a unit of the base.
    #[must_use]
    pub fn mask(self, name: &str) -> Self {
        self.link(&format!("/etc/systemd/system/{name}"), "/dev/null")
    }

    /// Every directory, the uppermost first.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let own = std::iter::once(self.folder.path().to_owned());
        own.chain(self.below.iter().cloned()).collect()
    }

    fn put(&self, path: &str, mode: u32, contents: &[u8]) {
        let place = self.place(path);
        let _ = fs::remove_file(&place);
        fs::write(&place, contents).expect("the directory is ours");
        fs::set_permissions(&place, Permissions::from_mode(mode)).expect("it is ours");
    }

    fn place(&self, path: &str) -> PathBuf {
        let place = self.folder.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().expect("below the directory"))
            .expect("the directory is ours");
        place
    }
}
