//! The proof that a device is blank: places where anything that was ever on it would show, all zero.
//!
//! A new EBS volume reads as zeros throughout, so the proof costs little more than reading five
//! mebibytes; on any other device it ends at the first byte that is not zero.

use super::backups::backup_positions;
use super::image::{HEAD, Image, TAIL};
use std::io;

const GIB: u64 = 1 << 30;

/// Bytes looked at in each GiB of the body.
const SAMPLE: u64 = 64 << 10;

/// Bytes read at once.
const PIECE: u64 = 256 << 10;

/// The offset of the first byte that is not zero among those looked at; `None` when all are.
///
/// Looked at are the first 4 MiB, the last 1 MiB, every place of an ext4 backup superblock, 64 KiB in each
/// GiB, and the quarters, where xfs puts copies of its superblock.
pub(super) fn first_byte_not_zero(image: &Image) -> io::Result<Option<u64>> {
    for (offset, length) in regions(image.size()) {
        let mut at = offset;
        let end = (offset + length).min(image.size());
        while at < end {
            let bytes = image.read(at, PIECE.min(end - at))?;
            if let Some(found) = bytes.iter().position(|byte| *byte != 0) {
                return Ok(Some(at + found as u64));
            }
            at += bytes.len() as u64;
        }
    }
    Ok(None)
}

/// Offsets and lengths of the places looked at, by offset; they may overlap.
fn regions(size: u64) -> Vec<(u64, u64)> {
    let mut regions = vec![(0, HEAD), (size.saturating_sub(TAIL), TAIL)];
    regions.extend(
        backup_positions(size)
            .into_iter()
            .map(|(_, offset)| (offset, 4096)),
    );
    regions.extend((1..=size / GIB).map(|gib| (gib * GIB, SAMPLE)));
    // Allocation groups are whole blocks; four of them is what mkfs.xfs makes by default.
    regions.extend((1..4).map(|quarter| ((size / 4 * quarter) & !4095, 4096)));
    regions.retain(|(offset, _)| *offset < size);
    regions.sort_unstable();
    regions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gib_of_the_body_is_looked_at() {
        let regions = regions(5 * GIB);
        for gib in 1..5 {
            assert!(regions.contains(&(gib * GIB, SAMPLE)), "{gib}");
        }
        assert!(regions.contains(&(0, HEAD)) && regions.contains(&(5 * GIB - TAIL, TAIL)));
    }
}
