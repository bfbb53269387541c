//! What is on a device, from its bytes alone: no cache, no udev, no program of others.
//!
//! The answer errs towards caution: two signatures are none that may be trusted, a backup superblock
//! without a primary one is a damaged filesystem, and blank is only what is proven to be.

use super::blank::first_byte_not_zero;
use super::ext::{Superblock, find_backup, read_superblock};
use super::image::Image;
use super::signatures::{Role, find_signatures, has_partition};
use quake_model::facts::DeviceContents;
use std::io;

/// The name given to an ext filesystem that is there in parts.
pub(super) const DAMAGED: &str = "ext4-damaged";

/// Reads what is on a device, never writing.
pub(super) fn probe(image: &Image) -> io::Result<DeviceContents> {
    let ends = image.ends()?;
    let superblock = read_superblock(image)?;
    let found = find_signatures(&ends);
    let mut names: Vec<&str> = found.iter().map(|found| found.name).collect();
    match &superblock {
        Superblock::Absent => {}
        Superblock::Damaged => names.insert(0, DAMAGED),
        Superblock::JournalDevice => names.insert(0, "ext-journal"),
        Superblock::Sound(filesystem) => {
            // mkfs leaves the first sector alone, so an old boot sector without partitions means nothing.
            names.retain(|name| *name != "mbr" || has_partition(&ends));
            names.insert(0, filesystem.name);
        }
    }
    match (superblock, names.as_slice(), found.first()) {
        (_, [], _) => without_signature(image),
        (Superblock::Sound(filesystem), [_], _) => Ok(DeviceContents::Filesystem {
            name: filesystem.name.to_owned(),
            uuid: Some(filesystem.uuid),
            label: filesystem.label,
        }),
        (Superblock::Absent, [name], Some(found)) if found.role == Role::Filesystem => {
            Ok(DeviceContents::Filesystem {
                name: (*name).to_owned(),
                uuid: None,
                label: None,
            })
        }
        (_, names, _) => Ok(DeviceContents::Signature {
            name: names.join(" and "),
        }),
    }
}

fn without_signature(image: &Image) -> io::Result<DeviceContents> {
    if find_backup(image)?.is_some() {
        return Ok(DeviceContents::Signature {
            name: DAMAGED.to_owned(),
        });
    }
    match first_byte_not_zero(image)? {
        Some(offset) => Ok(DeviceContents::Unsigned { offset }),
        None => Ok(DeviceContents::Blank),
    }
}
