//! Makes an ext4 filesystem, on a blank device only.

use super::attempt::{blocking, os_error};
use super::image::Image;
use super::probe::probe;
use super::program::{Abandon, Program, complaint};
use nix::libc;
use quake_model::facts::DeviceContents;
use quake_model::ports::{Condition, PortError};
use std::fs::File;
use std::path::Path;
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

/// Makes an ext4 filesystem on a device that is blank at this moment.
///
/// The device is probed on a descriptor that nobody shares, for what was blank when the plan was made may
/// not be now. That descriptor is closed before mkfs starts, which claims the device for itself.
pub(super) async fn make_filesystem(path: &str, label: &str) -> Result<(), PortError> {
    if label.len() > LABEL_LIMIT {
        let summary = format!("the label {label:?} is longer than {LABEL_LIMIT} bytes");
        return Err(PortError::new(Condition::Malformed, summary));
    }
    let device = path.to_owned();
    blocking(move || require_blank(&device)).await?;
    let output = MKFS
        .run(&["-q", "-m", "0", "-L", label, "--", path])
        .await?;
    if !output.status.success() {
        let summary = format!("mkfs.ext4 of {path} ended with {}", output.status);
        let error = PortError::new(Condition::Io, summary);
        return Err(error.seen("mkfs.ext4", complaint(&output)));
    }
    let device = path.to_owned();
    blocking(move || {
        // What mkfs wrote is in the kernel's cache; a filesystem that is reported must outlive a power cut.
        let flushed = File::open(&device).and_then(|file| file.sync_all());
        flushed.map_err(|error| os_error(format!("flush {device}"), &error))
    })
    .await
}

fn require_blank(path: &str) -> Result<(), PortError> {
    let image = Image::open_alone(Path::new(path)).map_err(|error| {
        if error.raw_os_error() == Some(libc::EBUSY) {
            let summary = format!("{path} is in use by the kernel: mounted, or part of something");
            return PortError::new(Condition::Occupied, summary);
        }
        os_error(format!("open {path} alone"), &error)
    })?;
    let contents = probe(&image).map_err(|error| os_error(format!("probe {path}"), &error))?;
    match describe(&contents) {
        None => Ok(()),
        Some(seen) => {
            let summary = format!("{path} is not blank, and is not formatted");
            Err(PortError::new(Condition::Occupied, summary).seen("contents", seen))
        }
    }
}

/// What stands in the way of formatting; `None` for a blank device.
fn describe(contents: &DeviceContents) -> Option<String> {
    match contents {
        DeviceContents::Blank => None,
        DeviceContents::Filesystem { name, uuid, label } => {
            let (uuid, label) = (uuid.as_deref(), label.as_deref());
            let (uuid, label) = (uuid.unwrap_or("-"), label.unwrap_or("-"));
            Some(format!("{name} with UUID {uuid} and label {label}"))
        }
        DeviceContents::Signature { name } => Some(name.clone()),
        DeviceContents::Unsigned { offset } => Some(format!(
            "no signature, and a byte that is not zero at {offset:#x}"
        )),
    }
}
