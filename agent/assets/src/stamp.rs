//! Stamps: how a later boot knows, without reading a byte, that files are as they were when they were verified.
//!
//! A stamp holds each file's inode, size, time of writing and time of change. A placed file is a hard link to the
//! store's, so a tool that writes into it changes the store too, and this is how it is noticed; one that puts
//! the time of writing back cannot put back the time of change. A stamp that does not fit proves nothing
//! either way: the bytes are read then, and stamped anew.
//!
//! Nothing is synced while a node boots. Until [`Stamp::durable`] says that everything reached the disk, a stamp is
//! believed only by the kernel that wrote it, and on the mount on which it did: only that page cache still has the bytes.
//! What a failing disk had not taken is gone once its filesystem is mounted anew.

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One file as the filesystem shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inode {
    number: u64,
    size: u64,
    modified_ns: i64,
    changed_ns: i64,
}

impl Inode {
    /// The file that is at `path` itself; `None` when it is no regular file.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok()?;
        found.is_file().then(|| Self::from_metadata(&found))
    }

    fn from_metadata(found: &Metadata) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            number: found.ino(),
            size: found.len(),
            modified_ns: nanoseconds(found.mtime(), found.mtime_nsec()),
            changed_ns: nanoseconds(found.ctime(), found.ctime_nsec()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// The kernel's boot during which it was written, and the mount.
    boot: String,
    /// Whether the bytes were on the disk by then, and not only on their way.
    pub(crate) durable: bool,
    /// In the order of the manifest.
    files: Vec<Inode>,
}

impl Stamp {
    /// Stamps files as they are now; `None` when one of them is none.
    pub(crate) fn from_paths(paths: &[PathBuf], boot: &str, durable: bool) -> Option<Self> {
        let files: Option<Vec<Inode>> = paths.iter().map(|path| Inode::at(path)).collect();
        Some(Self {
            boot: boot.to_owned(),
            durable,
            files: files?,
        })
    }

    /// Reads a stamp; `None` when there is none.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Whether this kernel may believe it, and it fits.
    pub(crate) fn holds(&self, paths: &[PathBuf], boot: &str) -> bool {
        (self.durable || self.boot == boot)
            && Self::from_paths(paths, &self.boot, self.durable).as_ref() == Some(self)
    }

    /// Takes one file's new look for its old one, after a change that was this agent's own. Whether it fitted before.
    pub(crate) fn follow(&mut self, before: Inode, after: Inode) -> bool {
        let Some(file) = self.files.iter_mut().find(|file| **file == before) else {
            return false;
        };
        *file = after;
        true
    }

    pub(crate) fn text(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// What names the kernel's present boot and the mount of `folder`; empty where the kernel does not say.
pub(crate) fn boot_and_mount(folder: &Path) -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let mount = folder.ancestors().find_map(mount_id);
    let mount = mount.map_or_else(String::new, |id| format!(" {id}"));
    format!("{}{mount}", boot.trim())
}

/// `STATX_MNT_ID_UNIQUE` (statx(2), since Linux 6.8): unlike `STATX_MNT_ID` no later mount has the same.
const UNIQUE_MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// The mount of a path; `None` where there is none, or on an older kernel.
fn mount_id(path: &Path) -> Option<u64> {
    let found = statx(CWD, path, AtFlags::empty(), UNIQUE_MOUNT).ok()?;
    unique_id(found.stx_mask, found.stx_mnt_id)
}

/// What the kernel says of a mount, where its mask says that it knows the flag.
fn unique_id(mask: u32, id: u64) -> Option<u64> {
    (mask & UNIQUE_MOUNT.bits() != 0).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, FileTimes};
    use std::io::Write;

    #[test]
    fn a_change_that_hides_its_time_of_writing_is_seen() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("kubelet");
        std::fs::write(&path, "program").expect("ours");
        let paths = [path.clone()];
        let stamp = Stamp::from_paths(&paths, "now", false).expect("a file");
        assert!(stamp.holds(&paths, "now"));
        let modified = path.metadata().and_then(|it| it.modified()).expect("ours");
        let mut file = File::options().write(true).open(&path).expect("ours");
        // The kernel's clock for files is coarse: without a moment between, both could share a tick.
        while Inode::at(&path) == Some(stamp.files[0]) {
            file.write_all(b"P").expect("ours");
        }
        file.set_len(7).expect("ours");
        file.set_times(FileTimes::new().set_modified(modified))
            .expect("ours");
        assert!(!stamp.holds(&paths, "now"));
    }

    #[test]
    fn what_never_reached_the_disk_is_believed_by_its_own_kernel_alone() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("kubelet");
        std::fs::write(&path, "program").expect("ours");
        let paths = [path];
        let fresh = Stamp::from_paths(&paths, "first", false).expect("a file");
        assert!(fresh.holds(&paths, "first") && !fresh.holds(&paths, "second"));
        let durable = Stamp::from_paths(&paths, "first", true).expect("a file");
        assert!(durable.holds(&paths, "second"));
    }

    #[test]
    fn a_mount_is_known_where_the_kernel_knows_the_flag() {
        for (mask, expected) in [
            (0x4fff, Some(7)),
            (0x4000, Some(7)),
            (0xfff, None),
            (0, None),
        ] {
            assert_eq!(unique_id(mask, 7), expected, "{mask:#x}");
        }
    }

    #[test]
    fn linux_6_8_and_newer_know_the_mount_of_a_path() {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux");
        let numbers: Vec<u32> = release
            .split(['.', '-'])
            .map_while(|it| it.parse().ok())
            .collect();
        let knows_mounts = numbers.as_slice() >= [6, 8].as_slice();
        assert_eq!(
            mount_id(Path::new("/")).is_some(),
            knows_mounts,
            "{release}"
        );
    }

    #[test]
    fn a_stamp_follows_the_file_that_it_knows_alone() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let paths = ["a", "b", "c"].map(|name| folder.path().join(name));
        for path in &paths {
            std::fs::write(path, "program").expect("ours");
        }
        let [a, b, c] = paths
            .each_ref()
            .map(|path| Inode::at(path).expect("a file"));
        let mut stamp = Stamp::from_paths(&paths[..2], "now", true).expect("files");
        assert!(!stamp.follow(c, a));
        assert!(stamp.holds(&paths[..2], "now"));
        assert!(stamp.follow(b, c));
        assert!(stamp.holds(&[paths[0].clone(), paths[2].clone()], "now"));
        assert!(!stamp.holds(&paths[..2], "now"));
    }

    #[test]
    fn only_regular_files_are_stamped() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let (file, link) = (folder.path().join("a"), folder.path().join("link"));
        std::fs::write(&file, "program").expect("ours");
        std::os::unix::fs::symlink(&file, &link).expect("ours");
        let absent = folder.path().join("absent");
        for other in [link, absent, folder.path().to_owned()] {
            assert_eq!(Inode::at(&other), None);
            let stamp = Stamp::from_paths(&[file.clone(), other], "now", true);
            assert_eq!(stamp, None);
        }
        assert_eq!(Stamp::read(&file), None, "it is no stamp");
    }

    #[test]
    fn two_mounts_are_two_places() {
        let (own, other) = (
            boot_and_mount(Path::new("/")),
            boot_and_mount(Path::new("/proc")),
        );
        assert!(!own.is_empty());
        assert_eq!(own, boot_and_mount(Path::new("/no/such/folder/yet")));
        let knows_mounts = mount_id(Path::new("/")).is_some();
        assert_eq!(own != other, knows_mounts, "{own} and {other}");
    }
}
