//! Where ext filesystems keep copies of their superblock, and the copies that are there.
//!
//! A copy without a primary superblock means that the start of a filesystem was overwritten; probes that
//! look only at the start call such a device empty, and its data is then lost for good.

use super::ext::{SUPERBLOCK, backup_uuid};
use super::image::Image;
use std::io;

/// The UUIDs of every copy found, in the order of the places.
pub(super) fn find_backups(image: &Image) -> io::Result<Vec<Option<String>>> {
    let mut found = Vec::new();
    for (group, offset) in backup_positions(image.size()) {
        let bytes = image.read(offset, SUPERBLOCK)?;
        if let Some(uuid) = backup_uuid(&bytes, group) {
            found.push(uuid);
        }
    }
    Ok(found)
}

/// Group and offset of every place that may hold a copy on a device of this size, by offset.
///
/// Blocks are 1 to 64 KiB. A group has as many blocks as one block has bits, or by `mkfs.ext4 -g` fewer:
/// halves and quarters are looked at too.
pub(super) fn backup_positions(size: u64) -> Vec<(u64, u64)> {
    let mut positions = Vec::new();
    for block in (0..=6).map(|shift| 1024_u64 << shift) {
        // With blocks of 1 KiB the first block is before the first group.
        let start = if block == 1024 { 1024 } else { 0 };
        for part in [1, 2, 4] {
            let group_size = block * 8 * block / part;
            let groups = backup_groups(size / group_size).into_iter();
            positions.extend(groups.map(|group| (group, start + group * group_size)));
        }
    }
    positions.retain(|(_, offset)| *offset < size);
    positions.sort_unstable_by_key(|(group, offset)| (*offset, *group));
    positions.dedup();
    positions
}

/// Groups with a copy: 1 and the powers of 3, 5 and 7 under `sparse_super`; and the last, whole or not,
/// which `sparse_super2` uses.
fn backup_groups(groups: u64) -> Vec<u64> {
    let mut backups = vec![1];
    for base in [3_u64, 5, 7] {
        let powers = std::iter::successors(Some(base), |power| power.checked_mul(base));
        backups.extend(powers.take_while(|power| *power <= groups));
    }
    backups.extend([groups.saturating_sub(1), groups]);
    backups.retain(|group| (1..=groups).contains(group));
    backups.sort_unstable();
    backups.dedup();
    backups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backups_are_where_the_kernels_documentation_puts_them() {
        let places = backup_positions(20 << 30);
        for group in [1, 3, 5, 7, 9, 25, 27, 49, 81, 125, 159] {
            assert!(places.contains(&(group, group * (128 << 20))), "{group}");
        }
        let one_kib = backup_positions(100 << 20);
        assert!(one_kib.contains(&(1, 8193 * 1024)) && one_kib.contains(&(3, 24577 * 1024)));
        assert!(backup_positions(0).is_empty());
    }

    #[test]
    fn groups_of_half_and_quarter_size_are_looked_at_too() {
        let places = backup_positions(1 << 30);
        for offset in [32 << 20, 64 << 20, 3 * (64 << 20)] {
            assert!(places.iter().any(|(_, at)| *at == offset), "{offset}");
        }
    }
}
