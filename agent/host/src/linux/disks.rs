//! The node's block devices, filesystems and mounts behind one port.

use super::attempt::{blocking, os_error};
use super::check::check_filesystem;
use super::devices::list_devices;
use super::filesystems::make_filesystem;
use super::grow::grow_filesystem;
use super::identity::{Access, open_device};
use super::look::look_inside;
use super::marker::write_marker;
use super::mounts::{activity_of, list_mounts, mount_device};
use super::probe::probe;
use super::volumes::{find_device, format_device, mount_volume};
use quake_model::facts::{
    DeviceContents, DeviceFacts, FilesystemCheck, InsideFacts, MountFacts, NewFilesystem,
};
use quake_model::item::VolumeMount;
use quake_model::ports::{Condition, Disks, PortError};
use std::path::Path;

/// Disks of this machine: sysfs, the devices' bytes, mount(2) and the programs of e2fsprogs.
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

    async fn probe_device(&self, device: &DeviceFacts) -> Result<DeviceContents, PortError> {
        let device = device.clone();
        blocking(move || {
            let image = open_device(&device, Access::Shared)?;
            let activity = activity_of(&device)?;
            // Whatever the reason: what was not read is not known, and is nothing that may be missing.
            probe(&image, activity).map_err(|error| {
                PortError::new(Condition::Io, format!("probe {}", device.path)).because(&error)
            })
        })
        .await
    }

    async fn look_inside(&self, device: &DeviceFacts) -> Result<InsideFacts, PortError> {
        look_inside(device.clone()).await
    }

    async fn make_filesystem(
        &self,
        device: &DeviceFacts,
        wanted: &NewFilesystem,
    ) -> Result<(), PortError> {
        make_filesystem(device.clone(), wanted.clone()).await
    }

    async fn check_filesystem(&self, device: &DeviceFacts) -> Result<FilesystemCheck, PortError> {
        check_filesystem(device.clone()).await
    }

    async fn grow_filesystem(&self, device: &DeviceFacts) -> Result<(), PortError> {
        grow_filesystem(device.clone()).await
    }

    async fn is_held(&self, device: &DeviceFacts) -> Result<bool, PortError> {
        let device = device.clone();
        blocking(move || match open_device(&device, Access::ReadAlone) {
            Ok(_) => Ok(false),
            Err(error) if error.condition == Condition::Occupied => Ok(true),
            Err(error) => Err(error),
        })
        .await
    }

    async fn list_mounts(&self) -> Result<Vec<MountFacts>, PortError> {
        blocking(list_mounts).await
    }

    async fn mount_device(&self, device: &DeviceFacts, target: &str) -> Result<(), PortError> {
        let (device, target) = (device.clone(), target.to_owned());
        blocking(move || mount_device(&device, &target)).await
    }

    async fn find_device(&self, path: &str) -> Result<Option<DeviceFacts>, PortError> {
        let path = path.to_owned();
        blocking(move || find_device(&path)).await
    }

    async fn format_device(
        &self,
        device: &DeviceFacts,
        volume: &VolumeMount,
    ) -> Result<(), PortError> {
        format_device(device.clone(), volume.clone()).await
    }

    async fn mount_volume(
        &self,
        device: &DeviceFacts,
        volume: &VolumeMount,
    ) -> Result<(), PortError> {
        mount_volume(device.clone(), volume.clone()).await
    }

    async fn write_marker(&self, device: &DeviceFacts, text: &str) -> Result<(), PortError> {
        let (device, text) = (device.clone(), text.to_owned());
        blocking(move || write_marker(&device, &text)).await
    }
}
