//! The mount table, and mounting.

use super::attempt::os_error;
use super::ext::{Superblock, read_superblock};
use super::image::Image;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use quake_model::facts::MountFacts;
use quake_model::ports::{Condition, PortError};
use std::path::Path;

/// Reads the text of `/proc/self/mountinfo` (proc(5)); a line of another form is left out.
pub(super) fn parse_mountinfo(text: &str) -> Vec<MountFacts> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<MountFacts> {
    // Optional fields stand before the dash, so the two halves are read each from its own start.
    let (place, what) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let (number, _root, target) = (place.next()?, place.next()?, place.next()?);
    let mut what = what.split(' ');
    let (filesystem, source) = (what.next()?, what.next()?);
    Some(MountFacts {
        source: decode(source),
        target: decode(target),
        filesystem: filesystem.to_owned(),
        number: number.to_owned(),
    })
}

/// Resolves the kernel's octal escapes: blank, tab, line feed, backslash and hash.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = bytes.get(at + 1..at + 4).filter(|_| bytes[at] == b'\\');
        match escaped.and_then(octal) {
            Some(byte) => {
                out.push(byte);
                at += 4;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn octal(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok()?;
    u8::from_str_radix(text, 8).ok()
}

/// Mounts the ext4 filesystem of a device, after a look at its superblock.
pub(super) fn mount_device(path: &str, target: &str) -> Result<(), PortError> {
    refuse_damaged(path)?;
    std::fs::create_dir_all(target)
        .map_err(|error| os_error(format!("make the mount point {target}"), &error))?;
    let flags = MsFlags::MS_NODEV | MsFlags::MS_NOSUID;
    mount(Some(path), target, Some("ext4"), flags, None::<&str>).map_err(|errno| {
        let summary = format!("mount {path} at {target}");
        PortError::new(condition_of_mount(errno), summary).because(&errno)
    })
}

/// The kernel mounts a filesystem that it has marked as faulty, with a line in its log; etcd must not
/// write to one.
fn refuse_damaged(path: &str) -> Result<(), PortError> {
    let read = Image::open(Path::new(path)).and_then(|image| read_superblock(&image));
    let seen = match read {
        Ok(Superblock::Sound(filesystem)) if !filesystem.has_errors => return Ok(()),
        Ok(Superblock::Sound(_)) => "the kernel marked it as having errors",
        Ok(Superblock::Damaged) => "its superblock contradicts itself",
        Ok(Superblock::Absent | Superblock::JournalDevice) => "it has no ext4 superblock",
        Err(error) => return Err(os_error(format!("read the filesystem of {path}"), &error)),
    };
    let summary = format!("the filesystem of {path} is damaged");
    Err(PortError::new(Condition::Malformed, summary).seen("superblock", seen))
}

fn condition_of_mount(errno: Errno) -> Condition {
    match errno {
        // EINVAL is how ext4 refuses a superblock or a geometry.
        Errno::EUCLEAN | Errno::EBADMSG | Errno::EINVAL => Condition::Malformed,
        Errno::ENOENT | Errno::ENODEV | Errno::ENXIO => Condition::Missing,
        Errno::EPERM | Errno::EACCES | Errno::EROFS => Condition::Denied,
        Errno::EBUSY | Errno::ENOTDIR => Condition::Occupied,
        _ => Condition::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lines_are_read_with_their_escapes() {
        let text = "36 35 259:1 / /mnt/master-vol-0a\\040b rw,noatime shared:1 master:2 - ext4 /dev/nvme1n1 rw\n\
                    22 1 0:21 / /proc rw - proc proc rw\n\
                    rubbish\n";
        let mounts = parse_mountinfo(text);
        let wanted = MountFacts {
            source: "/dev/nvme1n1".into(),
            target: "/mnt/master-vol-0a b".into(),
            filesystem: "ext4".into(),
            number: "259:1".into(),
        };
        assert_eq!((mounts.len(), &mounts[0]), (2, &wanted));
    }

    #[test]
    fn only_whole_escapes_are_resolved() {
        assert_eq!(decode("a\\134b"), "a\\b");
        assert_eq!(decode("a\\9zz\\04"), "a\\9zz\\04");
    }

    #[test]
    fn a_damaged_filesystem_is_malformed_and_a_busy_place_is_occupied() {
        for errno in [Errno::EUCLEAN, Errno::EBADMSG, Errno::EINVAL] {
            assert_eq!(condition_of_mount(errno), Condition::Malformed, "{errno}");
        }
        assert_eq!(condition_of_mount(Errno::EBUSY), Condition::Occupied);
        assert_eq!(condition_of_mount(Errno::EIO), Condition::Io);
    }
}
