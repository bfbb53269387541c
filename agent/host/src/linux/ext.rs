//! The superblock of ext2, ext3 and ext4.
//!
//! Offsets and flags: kernel documentation, "ext4 Data Structures and Algorithms", superblock.

use super::image::Image;
use std::io;

/// Where the first superblock is.
const PRIMARY: u64 = 1024;

/// The size of a superblock in bytes.
pub(super) const SUPERBLOCK: u64 = 1024;

const MAGIC: u16 = 0xef53;

/// `s_state`: the kernel or e2fsck found errors that nobody has repaired.
const STATE_ERRORS: u16 = 2;

const COMPAT_HAS_JOURNAL: u32 = 0x4;
const INCOMPAT_RECOVER: u32 = 0x4;
const INCOMPAT_JOURNAL_DEVICE: u32 = 0x8;
/// Extents, 64bit, meta_bg aside, everything that only ext4 has: all but filetype, recover, journal_dev and
/// meta_bg, which ext3 knows.
const INCOMPAT_BEFORE_EXT4: u32 = 0x2 | 0x4 | 0x8 | 0x10;
/// sparse_super, large_file and btree_dir are older than ext4.
const RO_COMPAT_BEFORE_EXT4: u32 = 0x1 | 0x2 | 0x4;
const RO_COMPAT_METADATA_CSUM: u32 = 0x400;

/// What stands where an ext superblock belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Superblock {
    Absent,
    /// One that contradicts itself or the device.
    Damaged {
        /// What stands where its UUID does, unless that is zeros.
        uuid: Option<String>,
    },
    /// The journal of another filesystem.
    JournalDevice,
    Sound(ExtFilesystem),
}

/// An ext filesystem as its superblock describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExtFilesystem {
    /// `ext2`, `ext3` or `ext4`.
    pub(super) name: &'static str,
    pub(super) uuid: String,
    pub(super) label: Option<String>,
    /// How much of the device it uses in bytes.
    pub(super) size_bytes: u64,
    /// Whether it is marked as having errors.
    pub(super) has_errors: bool,
    /// Whether its journal holds what the filesystem does not have yet.
    pub(super) needs_replay: bool,
}

/// Whether the kernel may be writing a superblock while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Idle,
    /// It is mounted: the kernel vouches for it, and renews its checksum only when it writes it.
    Mounted,
}

pub(super) fn read_superblock(image: &Image, activity: Activity) -> io::Result<Superblock> {
    let read = || {
        let bytes = image.read(PRIMARY, SUPERBLOCK)?;
        Ok::<_, io::Error>(judge(&bytes, image.size(), activity))
    };
    match read()? {
        // The kernel may have been writing it just now, mounted elsewhere; then a second look is sound.
        Superblock::Damaged { .. } => read(),
        superblock => Ok(superblock),
    }
}

/// The UUID of the copy of a superblock that belongs to `group`, in an `Option` of its own as it may be all
/// zeros; `None` where there is no such copy.
pub(super) fn backup_uuid(bytes: &[u8], group: u64) -> Option<Option<String>> {
    let is_copy = bytes.len() as u64 == SUPERBLOCK
        && word(bytes, 0x38) == MAGIC
        // The kernel keeps the low 16 bits of the group.
        && u64::from(word(bytes, 0x5a)) == group % 0x1_0000;
    is_copy.then(|| uuid_of(bytes))
}

fn judge(bytes: &[u8], device_size: u64, activity: Activity) -> Superblock {
    if bytes.len() as u64 != SUPERBLOCK || word(bytes, 0x38) != MAGIC {
        return Superblock::Absent;
    }
    let (compat, incompat, ro_compat) = (
        double(bytes, 0x5c),
        double(bytes, 0x60),
        double(bytes, 0x64),
    );
    if incompat & INCOMPAT_JOURNAL_DEVICE != 0 {
        return Superblock::JournalDevice;
    }
    let size_bytes = filesystem_size(bytes).filter(|size| *size <= device_size);
    let is_sound = activity == Activity::Mounted || checksum_holds(bytes, ro_compat);
    let Some(size_bytes) = size_bytes.filter(|_| is_sound) else {
        return Superblock::Damaged {
            uuid: uuid_of(bytes),
        };
    };
    let name = if incompat & !INCOMPAT_BEFORE_EXT4 != 0 || ro_compat & !RO_COMPAT_BEFORE_EXT4 != 0 {
        "ext4"
    } else if compat & COMPAT_HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    };
    Superblock::Sound(ExtFilesystem {
        name,
        uuid: uuid_text(&bytes[0x68..0x78]),
        label: label_text(&bytes[0x78..0x88]),
        size_bytes,
        has_errors: word(bytes, 0x3a) & STATE_ERRORS != 0,
        needs_replay: incompat & INCOMPAT_RECOVER != 0,
    })
}

/// Blocks times their size; `None` where the superblock's numbers contradict each other, as the kernel would
/// find when it mounts it.
fn filesystem_size(bytes: &[u8]) -> Option<u64> {
    let shift = double(bytes, 0x18);
    let blocks = u64::from(double(bytes, 0x4)) | (u64::from(double(bytes, 0x150)) << 32);
    let first = u64::from(double(bytes, 0x14));
    let (inodes, inodes_per_group) = (double(bytes, 0), double(bytes, 0x28));
    let blocks_per_group = u64::from(double(bytes, 0x20));
    // Blocks are at most 64 KiB.
    if shift > 6 || blocks_per_group == 0 || inodes_per_group == 0 {
        return None;
    }
    let groups = blocks.checked_sub(first)?.div_ceil(blocks_per_group);
    let inodes_fit = groups.checked_mul(u64::from(inodes_per_group)) == Some(u64::from(inodes));
    if groups == 0 || !inodes_fit {
        return None;
    }
    blocks.checked_mul(1024 << shift)
}

fn checksum_holds(bytes: &[u8], ro_compat: u32) -> bool {
    ro_compat & RO_COMPAT_METADATA_CSUM == 0 || crc32c(&bytes[..0x3fc]) == double(bytes, 0x3fc)
}

/// CRC-32C as ext4 stores it: started with all ones, and not inverted at the end.
fn crc32c(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            let carry = if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
            (crc >> 1) ^ carry
        })
    })
}

fn word(bytes: &[u8], at: usize) -> u16 {
    match bytes.get(at..at + 2) {
        Some(&[low, high]) => u16::from_le_bytes([low, high]),
        _ => 0,
    }
}

fn double(bytes: &[u8], at: usize) -> u32 {
    u32::from(word(bytes, at)) | (u32::from(word(bytes, at + 2)) << 16)
}

fn uuid_of(bytes: &[u8]) -> Option<String> {
    let uuid = &bytes[0x68..0x78];
    uuid.iter().any(|byte| *byte != 0).then(|| uuid_text(uuid))
}

fn uuid_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

fn label_text(bytes: &[u8]) -> Option<String> {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_known_one() {
        // The check value of CRC-32C over "123456789" is e3069283 after the final inversion.
        assert_eq!(!crc32c(b"123456789"), 0xe306_9283);
    }
}
