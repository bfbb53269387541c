//! Makes an ext4 filesystem, on a device that is blank or holds an earlier try of the same.

use super::attempt::{blocking, os_error};
use super::ext::{Activity, Superblock, read_superblock};
use super::identity::{Access, busy, open_device};
use super::image::Image;
use super::mounts::activity_of;
use super::probe::probe;
use super::program::{Abandon, Program, complaint};
use quake_model::facts::{DeviceContents, DeviceFacts, NewFilesystem, Over};
use quake_model::ports::{Condition, PortError};
use std::time::Duration;

const MKFS: Program = Program {
    name: "mkfs.ext4",
    package: "e2fsprogs",
    // A guess with room to spare: 20 GiB take under a second, and 16 TiB about a minute.
    deadline: Duration::from_secs(600),
    // Killed half-way it leaves a device that is neither blank nor a filesystem.
    abandon: Abandon::Leave,
};

/// ext4's own limit, in bytes; mkfs would cut a longer label, and no later look would find it.
const LABEL_LIMIT: usize = 16;

/// Makes an ext4 filesystem on a device that is, at this moment, as [`NewFilesystem::over`] allows.
///
/// The device is probed on a descriptor that nobody shares, for what was blank when the plan was made may
/// not be now. That descriptor is closed before mkfs starts, which claims the device for itself.
pub(super) async fn make_filesystem(
    device: DeviceFacts,
    wanted: NewFilesystem,
) -> Result<(), PortError> {
    require_form(&wanted)?;
    let (expected, requested) = (device.clone(), wanted.clone());
    let held = blocking(move || require_formattable(&expected, &requested)).await?;
    let path = &device.path;
    // No `-F`: all it could add is to run over a refusal of mkfs's own.
    let (uuid, label) = (wanted.uuid.as_str(), wanted.label.as_str());
    let output = MKFS
        .run(&["-q", "-m", "0", "-U", uuid, "-L", label, "--", path])
        .await?;
    if !output.status.success() {
        let said = complaint(&output);
        // An mkfs that an earlier agent left behind may have been faster; this one has written nothing then.
        let condition = if said.contains("in use by the system") {
            Condition::Conflict
        } else {
            Condition::Io
        };
        let summary = format!("mkfs.ext4 of {path} ended with {}", output.status);
        return Err(PortError::new(condition, summary).seen("mkfs.ext4", said));
    }
    blocking(move || {
        // What mkfs wrote is in the kernel's cache; a filesystem that is reported must outlive a power cut.
        held.flush()
            .map_err(|error| os_error(format!("flush {}", device.path), &error))?;
        require_made(&held, &device, &wanted)
    })
    .await
}

fn require_form(wanted: &NewFilesystem) -> Result<(), PortError> {
    let NewFilesystem { uuid, label, .. } = wanted;
    if label.len() > LABEL_LIMIT || label.contains('\0') {
        let summary = format!("the label {label:?} is longer than {LABEL_LIMIT} bytes");
        return Err(PortError::new(Condition::Malformed, summary));
    }
    if !is_uuid(uuid) {
        let summary = format!("{uuid:?} is no UUID in lower case");
        return Err(PortError::new(Condition::Malformed, summary));
    }
    Ok(())
}

/// Whether this is a UUID as a probe shows it. mkfs takes words such as `random` as well, and the zeros of
/// `clear` say nothing about whose filesystem it is.
fn is_uuid(text: &str) -> bool {
    let has_form = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        });
    has_form && text.bytes().any(|byte| byte != b'0' && byte != b'-')
}

/// Proves that the device may be formatted, and returns it open: as long as it is, its path names it.
fn require_formattable(device: &DeviceFacts, wanted: &NewFilesystem) -> Result<Image, PortError> {
    let path = &device.path;
    let held = open_device(device, Access::Shared)?;
    let alone = open_device(device, Access::Alone).or_else(|error| match activity_of(device)? {
        Activity::Mounted => Err(error),
        Activity::Idle => Err(busy(error)),
    })?;
    let contents = probe(&alone, Activity::Idle)
        .map_err(|error| PortError::new(Condition::Io, format!("probe {path}")).because(&error))?;
    if may_be_under(&contents, wanted) {
        return Ok(held);
    }
    let summary = match wanted.over {
        Over::Blank => format!("{path} is not blank, and is not formatted"),
        Over::Unfinished => format!("{path} is no unfinished work of ours, and is not formatted"),
    };
    let error = PortError::new(Condition::Occupied, summary);
    Err(error.seen("contents", &contents))
}

fn may_be_under(contents: &DeviceContents, wanted: &NewFilesystem) -> bool {
    match (contents, wanted.over) {
        (DeviceContents::Blank, Over::Blank | Over::Unfinished)
        | (DeviceContents::Unsigned { .. }, Over::Unfinished) => true,
        (DeviceContents::Damaged { uuid, .. }, Over::Unfinished) => {
            uuid.as_ref() == Some(&wanted.uuid)
        }
        (
            DeviceContents::Filesystem { .. }
            | DeviceContents::Signature { .. }
            | DeviceContents::Ambiguous { .. }
            | DeviceContents::Damaged { .. }
            | DeviceContents::Unsigned { .. },
            _,
        ) => false,
    }
}

/// mkfs was given a path; the filesystem must be on the device that was meant.
fn require_made(
    held: &Image,
    device: &DeviceFacts,
    wanted: &NewFilesystem,
) -> Result<(), PortError> {
    match read_superblock(held, Activity::Idle) {
        Ok(Superblock::Sound(made)) if made.uuid == wanted.uuid => Ok(()),
        Ok(_) => {
            let summary = format!(
                "mkfs.ext4 ended, and {} has no such filesystem",
                device.path
            );
            Err(PortError::new(Condition::Io, summary).seen("wanted", &wanted.uuid))
        }
        Err(error) => {
            let summary = format!("read the filesystem made on {}", device.path);
            Err(PortError::new(Condition::Io, summary).because(&error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_uuid_as_a_probe_shows_it_is_taken() {
        assert!(is_uuid("3f0c6d2e-1b7a-4c55-9d53-0c6a1f7be001"));
        for text in [
            "",
            "random",
            "3F0C6D2E-1B7A-4C55-9D53-0C6A1F7BE001",
            "3f0c6d2e-1b7a-4c55-9d53-0c6a1f7be00",
            "3f0c6d2e01b7a-4c55-9d53-0c6a1f7be001",
            "00000000-0000-0000-0000-000000000000",
        ] {
            assert!(!is_uuid(text), "{text}");
        }
    }
}
