//! The node's block devices, filesystems and mounts behind one port.

use super::attempt::{blocking, os_error};
use super::devices::list_devices;
use super::filesystems::make_filesystem;
use super::image::Image;
use super::mounts::{mount_device, parse_mountinfo};
use super::probe::probe;
use quake_model::facts::{DeviceContents, DeviceFacts, MountFacts};
use quake_model::ports::{Condition, Disks, PortError};
use std::path::Path;

/// Disks of this machine: sysfs, the devices' bytes, `mkfs.ext4` and mount(2).
#[derive(Debug, Clone, Copy, Default)]
pub struct LinuxDisks;

impl LinuxDisks {
    /// The disks of this machine.
    pub fn new() -> Self {
        Self
    }
}

impl Disks for LinuxDisks {
    async fn list_devices(&self) -> Result<Vec<DeviceFacts>, PortError> {
        blocking(|| {
            list_devices(Path::new("/sys"), Path::new("/dev")).map_err(|error| PortError {
                condition: Condition::Io,
                ..os_error("list block devices", &error)
            })
        })
        .await
    }

    async fn probe_device(&self, path: &str) -> Result<DeviceContents, PortError> {
        let path = path.to_owned();
        blocking(move || {
            Image::open(Path::new(&path))
                .and_then(|image| probe(&image))
                .map_err(|error| os_error(format!("probe {path}"), &error))
        })
        .await
    }

    async fn make_filesystem(&self, path: &str, label: &str) -> Result<(), PortError> {
        make_filesystem(path, label).await
    }

    async fn list_mounts(&self) -> Result<Vec<MountFacts>, PortError> {
        blocking(|| match std::fs::read("/proc/self/mountinfo") {
            Ok(bytes) => Ok(parse_mountinfo(&String::from_utf8_lossy(&bytes))),
            Err(error) => Err(PortError {
                condition: Condition::Io,
                ..os_error("read the mount table", &error)
            }),
        })
        .await
    }

    async fn mount_device(&self, path: &str, target: &str) -> Result<(), PortError> {
        let (path, target) = (path.to_owned(), target.to_owned());
        blocking(move || mount_device(&path, &target)).await
    }
}
