//! Disks, the kernel, systemd and the node's components.

use super::PortError;
use crate::facts::{DeviceContents, DeviceFacts, MountFacts, NetworkFacts, ProbeFacts, UnitFacts};
use std::future::Future;

/// Block devices, filesystems and mounts. No method can wipe a device.
pub trait Disks {
    /// Lists block devices with their serials.
    ///
    /// # Errors
    ///
    /// `Io` when the kernel's tables cannot be read.
    fn list_devices(&self) -> impl Future<Output = Result<Vec<DeviceFacts>, PortError>> + Send;

    /// Reads what is on a device, never writing.
    ///
    /// # Errors
    ///
    /// `Missing`, `Denied` or `Io`.
    fn probe_device(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<DeviceContents, PortError>> + Send;

    /// Makes an ext4 filesystem on a device; refuses (`Occupied`) unless it is blank at that moment.
    ///
    /// # Errors
    ///
    /// `Occupied`, `Missing` (the device, or mkfs.ext4), `Denied` or `Io`.
    fn make_filesystem(
        &self,
        path: &str,
        label: &str,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Lists mounts.
    ///
    /// # Errors
    ///
    /// `Io` when the table cannot be read.
    fn list_mounts(&self) -> impl Future<Output = Result<Vec<MountFacts>, PortError>> + Send;

    /// Mounts a device's ext4 filesystem, `nodev,nosuid`; makes the mount point.
    ///
    /// # Errors
    ///
    /// `Malformed` when the filesystem is damaged, `Missing`, `Denied` or `Io`.
    fn mount_device(
        &self,
        path: &str,
        target: &str,
    ) -> impl Future<Output = Result<(), PortError>> + Send;
}

/// The running kernel's modules, settings and network.
pub trait Kernel {
    /// Looks whether a module is loaded or built in.
    ///
    /// # Errors
    ///
    /// `Io` when the kernel's tables cannot be read.
    fn has_module(&self, name: &str) -> impl Future<Output = Result<bool, PortError>> + Send;

    /// Loads a module.
    ///
    /// # Errors
    ///
    /// `Unknown` when the kernel has no such module, `Denied` or `Io`.
    fn load_module(&self, name: &str) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Reads a setting; `None` when the kernel has no such key. White space is folded to one blank.
    ///
    /// # Errors
    ///
    /// `Denied` or `Io`.
    fn read_sysctl(
        &self,
        key: &str,
    ) -> impl Future<Output = Result<Option<String>, PortError>> + Send;

    /// Writes a setting.
    ///
    /// # Errors
    ///
    /// `Missing`, `Denied` or `Io`.
    fn write_sysctl(
        &self,
        key: &str,
        value: &str,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Reads links, addresses and routes.
    ///
    /// # Errors
    ///
    /// `Denied` or `Io`.
    fn read_network(&self) -> impl Future<Output = Result<NetworkFacts, PortError>> + Send;
}

/// systemd, over the system bus.
pub trait Units {
    /// Looks at a unit.
    ///
    /// # Errors
    ///
    /// `Unreachable` when the bus does not answer; a unit without a file is `found: false`.
    fn look_unit(&self, unit: &str) -> impl Future<Output = Result<UnitFacts, PortError>> + Send;

    /// Makes systemd read its unit files again: one reload serves any number of changed files.
    ///
    /// # Errors
    ///
    /// `Unreachable`, `Denied` or `TimedOut`.
    fn reload_units(&self) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Enables a unit at boot.
    ///
    /// # Errors
    ///
    /// `Unknown` when there is no such unit file; else as [`Units::reload_units`].
    fn enable_unit(&self, unit: &str) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Starts a unit and waits for the result of its job.
    ///
    /// # Errors
    ///
    /// `Unknown`, `Io` when the job failed (with the last journal lines as evidence); else as
    /// [`Units::reload_units`].
    fn start_unit(&self, unit: &str) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Restarts a unit and waits for the result of its job.
    ///
    /// # Errors
    ///
    /// As [`Units::start_unit`].
    fn restart_unit(&self, unit: &str) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Reads the last journal lines of a unit in this boot, oldest first.
    ///
    /// # Errors
    ///
    /// `Missing` when there is no journal reader, `Io` when it fails.
    fn read_journal(
        &self,
        unit: &str,
        lines: usize,
    ) -> impl Future<Output = Result<Vec<String>, PortError>> + Send;
}

/// Health checks of components on the node itself.
pub trait Probes {
    /// Asks a component for its health; certificates are not verified, for it is loopback.
    fn probe(&self, url: &str) -> impl Future<Output = ProbeFacts> + Send;
}
