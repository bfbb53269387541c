//! A file that stands for a device, and loop devices over such files.

use crate::linux::LinuxDisks;
use quake_model::facts::{DeviceContents, DeviceFacts, NewFilesystem, Over};
use quake_model::ports::Disks;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};

pub(super) const MIB: u64 = 1 << 20;

/// The UUID of filesystems that tests make.
pub(super) const UUID: &str = "3f0c6d2e-1b7a-4c55-9d53-0c6a1f7be001";

/// A filesystem of that UUID.
pub(super) fn wanted(over: Over) -> NewFilesystem {
    NewFilesystem {
        uuid: UUID.to_owned(),
        label: "qk-main-a".to_owned(),
        over,
    }
}

/// The digest of every byte of a file or a device.
pub(super) fn digest(path: &Path) -> String {
    let mut digest = Sha256::new();
    let mut file = File::open(path).expect("it opens");
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece).expect("it can be read") {
            0 => break,
            length => digest.update(&piece[..length]),
        }
    }
    let digest = digest.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs a program of the machine; `None` when that is not installed.
pub(super) fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let folders = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
    let path = folders.map(|folder| Path::new(folder).join(program));
    let Some(path) = path.iter().find(|path| path.is_file()) else {
        println!("skipped: {program} is not installed");
        return None;
    };
    let output = Command::new(path)
        .args(arguments)
        .output()
        .expect("it runs");
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{program} {arguments:?}: {said:?}");
    Some(said[0].trim().to_owned())
}

/// A sparse file of zeros that stands for a blank device.
pub(super) struct Device {
    _scratch: TempDir,
    pub(super) path: PathBuf,
    pub(super) file: File,
}

impl Device {
    pub(super) fn blank(size: u64) -> Self {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let path = scratch.path().join("device");
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create_new(true);
        let file = options.open(&path).expect("a file");
        file.set_len(size).expect("a size");
        Self {
            _scratch: scratch,
            path,
            file,
        }
    }

    pub(super) fn put(&self, offset: u64, bytes: &[u8]) {
        self.file.write_all_at(bytes, offset).expect("it writes");
    }

    pub(super) fn name(&self) -> &str {
        self.path.to_str().expect("a name")
    }

    /// What a listing would say of it.
    pub(super) fn facts(&self) -> DeviceFacts {
        DeviceFacts {
            path: self.name().to_owned(),
            serial: None,
            size_bytes: self.file.metadata().expect("facts").len(),
            number: String::new(),
        }
    }

    pub(super) async fn probed(&self) -> DeviceContents {
        LinuxDisks::new()
            .probe_device(&self.facts())
            .await
            .expect("it can be probed")
    }

    /// Runs a formatter on it; false when that is not installed.
    pub(super) fn formatted_with(&self, program: &str, arguments: &[&str]) -> bool {
        let arguments = [arguments, &[self.name()]].concat();
        run(program, &arguments).is_some()
    }

    /// Another device with the same bytes.
    pub(super) fn copy(&self) -> Self {
        let mut copy = Self::blank(0);
        let mut source = File::open(&self.path).expect("it opens");
        std::io::copy(&mut source, &mut copy.file).expect("it can be copied");
        copy
    }
}

/// The machine's loop devices and mounts, for one test at a time: a mount namespace that one test makes
/// keeps busy for a moment what another has mounted.
pub(super) struct Machine(
    #[expect(dead_code, reason = "held until the test ends")] MutexGuard<'static, ()>,
);

impl Machine {
    /// Waits for the machine; `None` where this process may not make loop devices and mounts.
    pub(super) async fn alone() -> Option<Self> {
        static LOCK: Mutex<()> = Mutex::const_new(());
        if !nix::unistd::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            println!("skipped: loop devices need root and /dev/loop-control");
            return None;
        }
        Some(Self(LOCK.lock().await))
    }

    /// A loop device over a file.
    pub(super) fn attach(&self, device: &Device, options: &[&str]) -> Loop {
        let arguments = [options, &["--find", "--show", device.name()]].concat();
        Loop(run("losetup", &arguments).expect("losetup comes with every distribution"))
    }
}

/// A loop device, detached in the end whatever happens.
pub(super) struct Loop(pub(super) String);

impl Loop {
    /// What a listing says of it.
    pub(super) async fn facts(&self) -> DeviceFacts {
        let listed = LinuxDisks::new().list_devices().await.expect("a list");
        let found = listed.into_iter().find(|facts| facts.path == self.0);
        found.expect("it is listed")
    }

    pub(super) fn digest(&self) -> String {
        digest(Path::new(&self.0))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// A mount, taken away in the end whatever happens.
pub(super) struct Mounted(pub(super) String);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = nix::mount::umount2(self.0.as_str(), nix::mount::MntFlags::MNT_DETACH);
    }
}
