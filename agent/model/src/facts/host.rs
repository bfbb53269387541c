//! The operating system and its files.

use serde::{Deserialize, Serialize};

/// The operating system, from `os-release`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OsFacts {
    /// `ID`, such as `debian`.
    pub id: String,
    /// `VERSION_ID`, such as `12`; empty on rolling releases.
    pub version: String,
    /// `ID_LIKE`, split.
    pub like: Vec<String>,
}

impl OsFacts {
    /// Whether it is Debian or built on it.
    pub fn is_debian_family(&self) -> bool {
        self.id == "debian" || self.id == "ubuntu" || self.like.iter().any(|like| like == "debian")
    }
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    File,
    Directory,
    Link,
    /// A device, socket or pipe.
    Other,
}

/// Who owns a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
}

/// What stands at a path, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    pub kind: EntryKind,
    /// The permission bits, such as `0o644`.
    pub mode: u32,
    pub owner: Owner,
    /// Its bytes; `None` for anything but a regular file, and for one larger than was asked for.
    pub contents: Option<Vec<u8>>,
    /// Microseconds since the epoch at which it was last written, or put in its place.
    pub modified_us: u64,
}

/// What tells that something at a path was touched, without reading it. Two equal stamps of a path are of the same bytes:
/// whatever changes a file, its mode or its owner also sets the time of its inode's change, which nobody can set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Its size in bytes.
    pub size: u64,
    pub inode: u64,
    /// Its mode, with the bits that say what it is.
    pub mode: u32,
    pub owner: Owner,
    /// When its bytes were changed, in nanoseconds since the epoch.
    pub modified_ns: i128,
    /// When its inode was changed, in nanoseconds since the epoch.
    pub changed_ns: i128,
}

/// How a file placed from the store compares with what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// It is there, with the right bytes and mode.
    Same,
    Different,
    Absent,
}
