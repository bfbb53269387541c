//! Makes a mounted ext4 filesystem as large as its device.

use super::attempt::blocking;
use super::identity::{Access, open_device};
use super::mounts::open_mounted;
use super::program::{Abandon, Program, complaint};
use quake_model::facts::DeviceFacts;
use quake_model::ports::{Condition, PortError};
use std::time::Duration;

const RESIZE: Program = Program {
    name: "resize2fs",
    package: "e2fsprogs",
    // A guess with room to spare: the kernel adds groups of 128 MiB, thousands in a second.
    deadline: Duration::from_secs(600),
    // The kernel does the work, one sound step at a time; still, half of it is of no use to anyone.
    abandon: Abandon::Leave,
};

/// Grows the filesystem, which is `Missing` where it is not mounted.
pub(super) async fn grow_filesystem(device: DeviceFacts) -> Result<(), PortError> {
    let expected = device.clone();
    // Both held open until the end: the path stays this device's, and the filesystem mounted.
    let (_image, _root) = blocking(move || {
        let image = open_device(&expected, Access::Shared)?;
        let root = open_mounted(&expected)?.ok_or_else(|| {
            PortError::new(
                Condition::Missing,
                format!("{} is not mounted", expected.path),
            )
        })?;
        Ok((image, root))
    })
    .await?;
    let output = RESIZE.run(&["--", &device.path]).await?;
    if output.status.success() {
        return Ok(());
    }
    let said = complaint(&output);
    // What the kernel answers without CAP_SYS_RESOURCE, and for a filesystem with errors.
    let condition = if said.contains("Permission denied") {
        Condition::Denied
    } else {
        Condition::Io
    };
    let summary = format!("resize2fs of {} ended with {}", device.path, output.status);
    Err(PortError::new(condition, summary).seen("resize2fs", said))
}
