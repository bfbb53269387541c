//! The mount table, and mounting.

use super::attempt::os_error;
use super::ext::{Activity, Superblock, read_superblock};
use super::folder::Folder;
use super::identity::{Access, open_device};
use super::image::{Image, number_text};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use quake_model::facts::{DeviceFacts, MountFacts};
use quake_model::ports::{Condition, PortError};
use std::path::Path;

/// One line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    facts: MountFacts,
    /// The directory of the filesystem that is seen there; `/` unless it is a bind mount of a part.
    root: String,
}

/// Reads the mount table of this process.
pub(super) fn list_mounts() -> Result<Vec<MountFacts>, PortError> {
    Ok(read_table()?.into_iter().map(|mount| mount.facts).collect())
}

/// Whether a device's filesystem is mounted, in part or whole, where this process can see it.
pub(super) fn activity_of(device: &DeviceFacts) -> Result<Activity, PortError> {
    let is_mounted = read_table()?
        .iter()
        .any(|mount| mount.facts.number == device.number);
    Ok(if is_mounted {
        Activity::Mounted
    } else {
        Activity::Idle
    })
}

/// Opens the root of a device's filesystem where it is mounted; `None` where it is not.
pub(super) fn open_mounted(device: &DeviceFacts) -> Result<Option<Folder>, PortError> {
    let table = read_table()?;
    let of_device = |mount: &&Mount| mount.facts.number == device.number && mount.root == "/";
    let mut hidden = None;
    for mount in table.iter().filter(of_device) {
        let target = &mount.facts.target;
        let opened = Folder::open(Path::new(target)).and_then(|root| Ok((root.device()?, root)));
        match opened {
            // Something else may have been mounted over it.
            Ok((number, root)) if number_text(number) == device.number => return Ok(Some(root)),
            _ => hidden = Some(target),
        }
    }
    hidden.map_or(Ok(None), |target| {
        let summary = format!(
            "{} is mounted at {target}, and cannot be reached there",
            device.path
        );
        Err(PortError::new(Condition::Io, summary))
    })
}

fn read_table() -> Result<Vec<Mount>, PortError> {
    match std::fs::read("/proc/self/mountinfo") {
        Ok(bytes) => Ok(parse_mountinfo(&String::from_utf8_lossy(&bytes))),
        Err(error) => Err(PortError {
            condition: Condition::Io,
            ..os_error("read the mount table", &error)
        }),
    }
}

/// Reads the text of `/proc/self/mountinfo` (proc(5)); a line of another form is left out.
fn parse_mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    // Optional fields stand before the dash, so the two halves are read each from its own start.
    let (place, what) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let (number, root, target) = (place.next()?, place.next()?, place.next()?);
    let mut what = what.split(' ');
    let (filesystem, source) = (what.next()?, what.next()?);
    Some(Mount {
        facts: MountFacts {
            source: decode(source),
            target: decode(target),
            filesystem: filesystem.to_owned(),
            number: number.to_owned(),
        },
        root: decode(root),
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

/// Mounts the ext4 filesystem of a device, after a look at its superblock. Where it is mounted there already,
/// nothing is done.
pub(super) fn mount_device(device: &DeviceFacts, target: &str) -> Result<(), PortError> {
    let path = &device.path;
    // Held open until it is mounted, so that the path stays this device's.
    let image = open_device(device, Access::Shared)?;
    refuse_damaged(&image, device)?;
    std::fs::create_dir_all(target)
        .map_err(|error| os_error(format!("make the mount point {target}"), &error))?;
    match mounted_at(target)? {
        Some(there) if there.number == device.number => return Ok(()),
        Some(there) => {
            let summary = format!("{} is mounted at {target} already", there.source);
            return Err(PortError::new(Condition::Occupied, summary));
        }
        None => {}
    }
    let flags = MsFlags::MS_NODEV | MsFlags::MS_NOSUID;
    mount(
        Some(path.as_str()),
        target,
        Some("ext4"),
        flags,
        None::<&str>,
    )
    .map_err(|errno| {
        let summary = format!("mount {path} at {target}");
        PortError::new(condition_of_mount(errno), summary).because(&errno)
    })?;
    require_mounted(device, target)
}

/// What is mounted at a place: the last of the table, which hides those before it.
pub(super) fn mounted_at(target: &str) -> Result<Option<MountFacts>, PortError> {
    let place = std::fs::canonicalize(target)
        .map_err(|error| os_error(format!("look at the mount point {target}"), &error))?;
    let mut mounts = list_mounts()?.into_iter();
    Ok(mounts.rfind(|mount| Path::new(&mount.target) == place))
}

/// Proves that what was mounted by its path is the device that was meant, and takes it away if it is not.
pub(super) fn require_mounted(device: &DeviceFacts, target: &str) -> Result<(), PortError> {
    let there = mounted_at(target)?.map(|mount| mount.number);
    if there.as_ref() == Some(&device.number) {
        return Ok(());
    }
    let summary = format!("{} became another device while it was mounted", device.path);
    let mut error = PortError::new(Condition::Conflict, summary)
        .seen("wanted", &device.number)
        .seen("mounted", there.as_deref().unwrap_or("nothing"));
    if let Err(errno) = umount2(target, MntFlags::MNT_DETACH) {
        error = error.seen("unmount", errno);
    }
    Err(error)
}

/// The kernel mounts a filesystem that it has marked as faulty, with a line in its log; etcd must not
/// write to one.
fn refuse_damaged(image: &Image, device: &DeviceFacts) -> Result<(), PortError> {
    let path = &device.path;
    let seen = match read_superblock(image, activity_of(device)?) {
        Ok(Superblock::Sound(filesystem)) if !filesystem.has_errors => return Ok(()),
        Ok(Superblock::Sound(_)) => "the kernel marked it as having errors",
        Ok(Superblock::Damaged { .. }) => "its superblock contradicts itself",
        Ok(Superblock::Absent | Superblock::JournalDevice) => "it has no ext4 superblock",
        Err(error) => {
            let summary = format!("read the filesystem of {path}");
            return Err(PortError::new(Condition::Io, summary).because(&error));
        }
    };
    let summary = format!("the filesystem of {path} is damaged");
    Err(PortError::new(Condition::Malformed, summary).seen("superblock", seen))
}

pub(super) fn condition_of_mount(errno: Errno) -> Condition {
    match errno {
        // EINVAL is how ext4 refuses a superblock or a geometry.
        Errno::EUCLEAN | Errno::EBADMSG | Errno::EINVAL => Condition::Malformed,
        Errno::ENOENT | Errno::ENODEV | Errno::ENXIO => Condition::Missing,
        Errno::EPERM | Errno::EACCES | Errno::EROFS => Condition::Denied,
        // The place was free, so it is the device that someone has.
        Errno::EBUSY => Condition::Conflict,
        Errno::ENOTDIR => Condition::Occupied,
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
        assert_eq!((mounts.len(), &mounts[0].facts), (2, &wanted));
        assert_eq!(mounts[0].root, "/");
    }

    #[test]
    fn only_whole_escapes_are_resolved() {
        assert_eq!(decode("a\\134b"), "a\\b");
        assert_eq!(decode("a\\9zz\\04"), "a\\9zz\\04");
    }

    #[test]
    fn a_damaged_filesystem_is_malformed_and_a_busy_device_is_a_conflict() {
        for errno in [Errno::EUCLEAN, Errno::EBADMSG, Errno::EINVAL] {
            assert_eq!(condition_of_mount(errno), Condition::Malformed, "{errno}");
        }
        assert_eq!(condition_of_mount(Errno::EBUSY), Condition::Conflict);
        assert_eq!(condition_of_mount(Errno::EIO), Condition::Io);
    }
}
