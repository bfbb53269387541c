//! Opens a device and proves that it is the one that was meant.
//!
//! Paths move: a device may go and another may take its name between a look and an act. The proof is made
//! on the open descriptor, and as long as that is open the kernel gives its number to no other device. So
//! whoever acts through a path, by a program or by mount(2), holds a proven descriptor meanwhile.

use super::attempt::os_error;
use super::devices::serial_of;
use super::image::Image;
use nix::libc;
use quake_model::facts::DeviceFacts;
use quake_model::ports::{Condition, PortError};
use std::path::{Path, PathBuf};

/// How a device is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// For reading, whoever else has it open.
    Shared,
    /// For writing, with nobody else on it: `Occupied` while it is mounted or part of something, `Denied` where
    /// it is read-only.
    Alone,
    /// For reading, with nobody else on it. udev hears of no change, as it does when a device that was open for writing is
    /// closed.
    ReadAlone,
}

/// Opens a device for as long as it is still the one that `device` describes.
///
/// Fails with `Missing`, `Denied`, `Occupied`, `Conflict`, or `Io`; the last also where it ends before the
/// size it is said to have.
pub(super) fn open_device(device: &DeviceFacts, access: Access) -> Result<Image, PortError> {
    let path = Path::new(&device.path);
    let opened = match access {
        Access::Shared => Image::open(path),
        Access::Alone => Image::open_alone(path, true),
        Access::ReadAlone => Image::open_alone(path, false),
    };
    let image = opened.map_err(|error| {
        if error.raw_os_error() == Some(libc::EBUSY) {
            let summary = format!(
                "{} is in use by the kernel: mounted, or part of something",
                device.path
            );
            let remedy = format!(
                "wait until what has it ends: fuser -v {0}; lsblk {0}",
                device.path
            );
            return PortError::new(Condition::Occupied, summary).remedied_by(remedy);
        }
        os_error(format!("open {}", device.path), &error)
    })?;
    verify(device, image.number(), |number| {
        serial_of(&folder_of(number))
    })?;
    // The kernel lets a read-only device be opened for writing, and refuses the bytes.
    if access == Access::Alone && image.number().is_some_and(is_read_only) {
        let summary = format!("{} is read-only", device.path);
        return Err(PortError::new(Condition::Denied, summary));
    }
    if image.size() < device.size_bytes {
        let summary = format!("{} ends before its size", device.path);
        return Err(PortError::new(Condition::Io, summary)
            .seen("size", device.size_bytes)
            .seen("readable", image.size()));
    }
    Ok(image)
}

/// A device that someone else has is a conflict for whoever needs it alone: it may be free later, and another then.
pub(super) fn busy(error: PortError) -> PortError {
    match error.condition {
        Condition::Occupied => PortError {
            condition: Condition::Conflict,
            ..error
        },
        _ => error,
    }
}

/// Where sysfs shows the device of a number.
fn folder_of(number: &str) -> PathBuf {
    Path::new("/sys/dev/block").join(number)
}

fn is_read_only(number: &str) -> bool {
    // Where it is not told, the write itself must.
    std::fs::read_to_string(folder_of(number).join("ro")).is_ok_and(|text| text.trim() == "1")
}

/// Compares what was opened with what was meant. A file has no number; only tests use files.
fn verify(
    device: &DeviceFacts,
    number: Option<&str>,
    serial_of_number: impl Fn(&str) -> Option<String>,
) -> Result<(), PortError> {
    let conflict = |what: &str, wanted: &str, there: &str| {
        let summary = format!(
            "{} is another device now: its {what} is {there}, and {wanted} was meant",
            device.path
        );
        Err(PortError::new(Condition::Conflict, summary))
    };
    let there = number.unwrap_or_default();
    if there != device.number {
        let named = |number: &str| {
            let name = if number.is_empty() { "none" } else { number };
            name.to_owned()
        };
        return conflict("number", &named(&device.number), &named(there));
    }
    let now = number.and_then(serial_of_number);
    match (&device.serial, now) {
        // Serials of some devices come from udev alone; the number has to do for these.
        (Some(wanted), Some(now)) if *wanted != now => conflict("serial", wanted, &now),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(number: &str, serial: Option<&str>) -> DeviceFacts {
        DeviceFacts {
            path: "/dev/nvme1n1".into(),
            serial: serial.map(str::to_owned),
            size_bytes: 0,
            number: number.into(),
        }
    }

    #[test]
    fn another_number_or_another_serial_is_a_conflict_that_names_both() {
        let none = |_: &str| None;
        let error = verify(&device("259:1", None), Some("259:2"), none).unwrap_err();
        assert_eq!(error.condition, Condition::Conflict);
        assert!(error.summary.contains("259:1") && error.summary.contains("259:2"));

        let other = |number: &str| (number == "259:1").then(|| "vol0b".to_owned());
        let error = verify(&device("259:1", Some("vol0a")), Some("259:1"), other).unwrap_err();
        assert_eq!(error.condition, Condition::Conflict);
        assert!(error.summary.contains("vol0a") && error.summary.contains("vol0b"));
    }

    #[test]
    fn a_file_is_no_device_and_a_device_is_no_file() {
        let none = |_: &str| None;
        assert!(verify(&device("", None), None, none).is_ok());
        assert!(verify(&device("259:1", None), None, none).is_err());
        assert!(verify(&device("", None), Some("259:1"), none).is_err());
    }

    #[test]
    fn a_serial_that_the_kernel_does_not_show_is_no_conflict() {
        let none = |_: &str| None;
        assert!(verify(&device("259:1", Some("vol0a")), Some("259:1"), none).is_ok());
        let same = |_: &str| Some("vol0a".to_owned());
        assert!(verify(&device("259:1", Some("vol0a")), Some("259:1"), same).is_ok());
    }
}
