//! A file that stands for a device.

use crate::linux::LinuxDisks;
use quake_model::facts::DeviceContents;
use quake_model::ports::Disks;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

pub(super) const MIB: u64 = 1 << 20;

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

    pub(super) async fn probed(&self) -> DeviceContents {
        LinuxDisks::new()
            .probe_device(self.name())
            .await
            .expect("it can be probed")
    }

    /// Runs a formatter on it; false when that is not installed.
    pub(super) fn formatted_with(&self, program: &str, arguments: &[&str]) -> bool {
        let path = ["/usr/sbin", "/sbin"].map(|folder| Path::new(folder).join(program));
        let Some(program) = path.iter().find(|path| path.is_file()) else {
            println!("skipped: {program} is not installed");
            return false;
        };
        let output = Command::new(program)
            .args(arguments)
            .arg(&self.path)
            .output();
        let output = output.expect("it runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        true
    }
}
