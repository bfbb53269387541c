//! The superblock of ext2, ext3 and ext4, and its backups.
//!
//! Offsets and flags: kernel documentation, "ext4 Data Structures and Algorithms", superblock.

use super::image::Image;
use std::io;

/// Where the first superblock is.
const PRIMARY: u64 = 1024;
const SIZE: u64 = 1024;

const MAGIC: u16 = 0xef53;

/// `s_state`: the kernel or e2fsck found errors that nobody has repaired.
const STATE_ERRORS: u16 = 2;

const COMPAT_HAS_JOURNAL: u32 = 0x4;
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
    /// No superblock.
    Absent,
    /// One that contradicts itself or the device.
    Damaged,
    /// The journal of another filesystem.
    JournalDevice,
    /// A sound one.
    Sound(ExtFilesystem),
}

/// An ext filesystem as its superblock describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExtFilesystem {
    /// `ext2`, `ext3` or `ext4`.
    pub(super) name: &'static str,
    pub(super) uuid: String,
    pub(super) label: Option<String>,
    /// Whether it is marked as having errors.
    pub(super) has_errors: bool,
}

/// Reads the primary superblock.
pub(super) fn read_superblock(image: &Image) -> io::Result<Superblock> {
    let read = || Ok::<_, io::Error>(judge(&image.read(PRIMARY, SIZE)?, image.size()));
    match read()? {
        // The kernel may have been writing it just now, if it is mounted; then a second look is sound.
        Superblock::Damaged => read(),
        superblock => Ok(superblock),
    }
}

/// The offset of the first backup superblock found, for devices without a primary one.
///
/// A backup alone means that the start of a filesystem was overwritten; probes that look only at the
/// start call such a device empty, and its data is then lost for good.
pub(super) fn find_backup(image: &Image) -> io::Result<Option<u64>> {
    for (group, offset) in backup_positions(image.size()) {
        let bytes = image.read(offset, SIZE)?;
        let own_group = word(&bytes, 0x5a);
        if bytes.len() as u64 == SIZE
            && word(&bytes, 0x38) == MAGIC
            && u64::from(own_group) == group % 0x1_0000
        {
            return Ok(Some(offset));
        }
    }
    Ok(None)
}

/// Group and offset of every place that may hold a backup superblock on a device of this size, for blocks
/// of 1, 2 and 4 KiB; in no order.
pub(super) fn backup_positions(size: u64) -> Vec<(u64, u64)> {
    let mut positions = Vec::new();
    for block in [1024_u64, 2048, 4096] {
        // A bitmap of one block has a bit for each block of its group.
        let group_size = block * 8 * block;
        // With blocks of 1 KiB the first block is before the first group.
        let start = if block == 1024 { 1024 } else { 0 };
        let groups = size / group_size;
        for group in backup_groups(groups) {
            positions.push((group, start + group * group_size));
        }
    }
    positions
}

/// Groups with a backup under `sparse_super`: 1 and the powers of 3, 5 and 7; and the last, which
/// `sparse_super2` uses.
fn backup_groups(groups: u64) -> Vec<u64> {
    let mut backups = vec![1];
    for base in [3_u64, 5, 7] {
        let powers = std::iter::successors(Some(base), |power| power.checked_mul(base));
        backups.extend(powers.take_while(|power| *power <= groups));
    }
    backups.push(groups.saturating_sub(1));
    backups.retain(|group| (1..=groups).contains(group));
    backups.sort_unstable();
    backups.dedup();
    backups
}

fn judge(bytes: &[u8], device_size: u64) -> Superblock {
    if bytes.len() as u64 != SIZE || word(bytes, 0x38) != MAGIC {
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
    if !is_plausible(bytes, device_size) || !checksum_holds(bytes, ro_compat) {
        return Superblock::Damaged;
    }
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
        has_errors: word(bytes, 0x3a) & STATE_ERRORS != 0,
    })
}

fn is_plausible(bytes: &[u8], device_size: u64) -> bool {
    let shift = double(bytes, 0x18);
    let blocks = u64::from(double(bytes, 0x4)) | (u64::from(double(bytes, 0x150)) << 32);
    let (blocks_per_group, inodes_per_group) = (double(bytes, 0x20), double(bytes, 0x28));
    // Blocks are at most 64 KiB.
    shift <= 6
        && blocks > 0
        && blocks_per_group > 0
        && inodes_per_group > 0
        && blocks
            .checked_mul(1024 << shift)
            .is_some_and(|filesystem_size| filesystem_size <= device_size)
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

    #[test]
    fn backups_are_where_the_kernels_documentation_puts_them() {
        let size = 20 << 30;
        let four_kib: Vec<u64> = backup_positions(size)
            .into_iter()
            .filter(|(group, offset)| *offset == group * (128 << 20))
            .map(|(group, _)| group)
            .collect();
        assert_eq!(four_kib, [1, 3, 5, 7, 9, 25, 27, 49, 81, 125, 159]);
        let one_kib = backup_positions(100 << 20);
        assert!(one_kib.contains(&(1, 8193 * 1024)) && one_kib.contains(&(3, 24577 * 1024)));
        assert!(backup_positions(0).is_empty());
    }
}
