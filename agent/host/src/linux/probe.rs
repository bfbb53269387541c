//! What is on a device, from its bytes alone: no cache, no udev, no program of others.
//!
//! The answer errs towards caution: of two signatures none may be trusted, a backup superblock without a
//! primary one is a damaged filesystem, and blank is only what is proven to be.

use super::backups::find_backups;
use super::blank::first_byte_not_zero;
use super::ext::{Activity, Superblock, read_superblock};
use super::image::Image;
use super::signatures::{Found, Role, find_signatures, has_partition};
use quake_model::facts::DeviceContents;
use std::io;

/// What an ext filesystem is called when only parts of it are left: which of the three it was is not known.
const DAMAGED: &str = "ext4";

/// Reads what is on a device, never writing. A device without any bytes is an error, for it proves nothing.
pub(super) fn probe(image: &Image, activity: Activity) -> io::Result<DeviceContents> {
    if image.size() == 0 {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the device has no bytes",
        ));
    }
    let ends = image.ends()?;
    let superblock = read_superblock(image, activity)?;
    let mut found = find_signatures(&ends);
    if matches!(
        superblock,
        Superblock::Sound(_) | Superblock::Damaged { .. }
    ) {
        // mkfs leaves the first sector alone, so an old boot sector without partitions means nothing.
        found.retain(|found| found.name != "mbr" || has_partition(&ends));
    }
    let names: Vec<String> = ext_name(&superblock)
        .into_iter()
        .chain(found.iter().map(|found| found.name))
        .map(str::to_owned)
        .collect();
    if names.len() > 1 {
        return Ok(DeviceContents::Ambiguous { names });
    }
    match superblock {
        Superblock::Sound(filesystem) => Ok(DeviceContents::Filesystem {
            name: filesystem.name.to_owned(),
            uuid: Some(filesystem.uuid),
            label: filesystem.label,
            size_bytes: Some(filesystem.size_bytes),
        }),
        Superblock::Damaged { uuid } => {
            let mut uuids = find_backups(image)?;
            uuids.push(uuid);
            Ok(damaged(&uuids))
        }
        Superblock::JournalDevice => Ok(DeviceContents::Signature {
            name: EXT_JOURNAL.to_owned(),
        }),
        Superblock::Absent => found
            .first()
            .map_or_else(|| without_signature(image), |found| Ok(foreign(*found))),
    }
}

const EXT_JOURNAL: &str = "ext-journal";

fn ext_name(superblock: &Superblock) -> Option<&'static str> {
    match superblock {
        Superblock::Absent => None,
        Superblock::Damaged { .. } => Some(DAMAGED),
        Superblock::JournalDevice => Some(EXT_JOURNAL),
        Superblock::Sound(filesystem) => Some(filesystem.name),
    }
}

fn foreign(found: Found) -> DeviceContents {
    let name = found.name.to_owned();
    match found.role {
        Role::Filesystem => DeviceContents::Filesystem {
            name,
            uuid: None,
            label: None,
            size_bytes: None,
        },
        Role::Other => DeviceContents::Signature { name },
    }
}

/// A UUID is told only where every superblock that is left has it: a device may be formatted again on the
/// strength of it, and one superblock of someone else's must be enough against that.
fn damaged(uuids: &[Option<String>]) -> DeviceContents {
    let first = uuids.first().cloned().flatten();
    let agree = uuids.iter().all(|uuid| *uuid == first);
    DeviceContents::Damaged {
        name: DAMAGED.to_owned(),
        uuid: first.filter(|_| agree),
    }
}

fn without_signature(image: &Image) -> io::Result<DeviceContents> {
    let uuids = find_backups(image)?;
    if !uuids.is_empty() {
        return Ok(damaged(&uuids));
    }
    match first_byte_not_zero(image)? {
        Some(offset) => Ok(DeviceContents::Unsigned { offset }),
        None => Ok(DeviceContents::Blank),
    }
}
