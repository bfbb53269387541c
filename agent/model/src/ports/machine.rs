//! Disks, the kernel, systemd and the node's components.

use super::PortError;
use crate::facts::{
    DeviceContents, DeviceFacts, FilesystemCheck, HostHealth, InsideFacts, MountFacts,
    NetworkFacts, NewFilesystem, NodeObject, PodsSeen, ProbeFacts, UnitFacts,
};
use crate::item::VolumeMount;
use crate::signal::ApiAccess;
use std::future::Future;

/// Block devices, filesystems and mounts. No method can wipe a device.
///
/// A device is named by its facts and not by its path alone: paths move, so a host that opens one checks that
/// it is still the device with that number and that serial (`Conflict` when it is not).
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
    /// `Missing`, `Denied`, `Conflict`, or `Io` when a byte cannot be read.
    fn probe_device(
        &self,
        device: &DeviceFacts,
    ) -> impl Future<Output = Result<DeviceContents, PortError>> + Send;

    /// Looks inside a device's ext4 filesystem without writing to it, its journal included: where it is mounted
    /// if it is, else by a read-only mount that nobody else sees.
    ///
    /// # Errors
    ///
    /// `Malformed` when it cannot be mounted; else as [`Disks::probe_device`].
    fn look_inside(
        &self,
        device: &DeviceFacts,
    ) -> impl Future<Output = Result<InsideFacts, PortError>> + Send;

    /// Makes an ext4 filesystem on a device; refuses (`Occupied`) unless, at that moment, the device is as
    /// [`NewFilesystem::over`] allows.
    ///
    /// # Errors
    ///
    /// `Occupied`, `Missing` (the device, or mkfs.ext4), `Denied`, `Conflict` or `Io`.
    fn make_filesystem(
        &self,
        device: &DeviceFacts,
        wanted: &NewFilesystem,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Checks a device's ext4 filesystem and makes repairs that lose nothing; one that is mounted is `Clean`
    /// without a look.
    ///
    /// # Errors
    ///
    /// `Missing` (the device, or e2fsck), `Denied`, `Conflict` or `Io`.
    fn check_filesystem(
        &self,
        device: &DeviceFacts,
    ) -> impl Future<Output = Result<FilesystemCheck, PortError>> + Send;

    /// Makes a mounted ext4 filesystem as large as its device.
    ///
    /// # Errors
    ///
    /// As [`Disks::check_filesystem`].
    fn grow_filesystem(
        &self,
        device: &DeviceFacts,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Whether a mount, or a program that opened it alone such as mkfs, has the device. Opens it and reads nothing.
    ///
    /// # Errors
    ///
    /// `Missing`, `Denied`, `Conflict` or `Io`.
    fn is_held(&self, device: &DeviceFacts)
    -> impl Future<Output = Result<bool, PortError>> + Send;

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
    /// `Malformed` when the filesystem is damaged, `Missing`, `Denied`, `Conflict` or `Io`.
    fn mount_device(
        &self,
        device: &DeviceFacts,
        target: &str,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// The block device that a path leads to, through links such as udev's; `None` where there is none.
    ///
    /// # Errors
    ///
    /// As [`Disks::list_devices`].
    fn find_device(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<Option<DeviceFacts>, PortError>> + Send;

    /// Makes the filesystem that a volume asks for, by its own mkfs and options; refuses (`Occupied`) unless, at that
    /// moment, the device is proven blank.
    ///
    /// # Errors
    ///
    /// `Impossible` for a filesystem whose mkfs is not known to refuse what is not blank; else as
    /// [`Disks::make_filesystem`].
    fn format_device(
        &self,
        device: &DeviceFacts,
        volume: &VolumeMount,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Mounts the filesystem of a volume with its options; makes the mount point.
    ///
    /// # Errors
    ///
    /// As [`Disks::mount_device`].
    fn mount_volume(
        &self,
        device: &DeviceFacts,
        volume: &VolumeMount,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Writes the marker of the filesystem that is mounted from this device: whole or not at all, and flushed.
    ///
    /// # Errors
    ///
    /// `Missing` when it is not mounted; `Denied`, `NoSpace` or `Io`.
    fn write_marker(
        &self,
        device: &DeviceFacts,
        text: &str,
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

/// What systemd is asked to do about a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitJob {
    /// The unit's name with its suffix.
    pub unit: String,
    pub kind: JobKind,
}

/// The kind of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    Start,
    /// Bring it down and up again.
    Restart,
    Stop,
}

/// Called with a job's place in the batch and its end.
pub type ReportJob<'a> = &'a (dyn Fn(usize, Result<(), PortError>) + Send + Sync);

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

    /// Enables units at boot, all at once; systemd does not read its unit files again for it.
    ///
    /// # Errors
    ///
    /// `Unknown` when there is no unit file for one of them, and then any of the others may be enabled or not; else
    /// as [`Units::reload_units`].
    fn enable_units(&self, units: &[String]) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Makes units not start at boot by themselves, all at once; one that does not already, or has no file, is no error.
    ///
    /// # Errors
    ///
    /// As [`Units::reload_units`].
    fn disable_units(&self, units: &[String])
    -> impl Future<Output = Result<(), PortError>> + Send;

    /// Asks for all jobs at once, in this order, so that systemd orders them by what the units say of each other;
    /// waits for all of them and reports each as it ends, once. A unit that is to wait for another must be asked for
    /// after it: systemd may start the one before it is asked for the next.
    ///
    /// A job ends with `Unknown`, `Io` when it failed (with the last journal lines as evidence), `TimedOut` when it
    /// runs on; else as [`Units::reload_units`]. One that fails stops no other. Jobs go on in systemd when this is
    /// dropped.
    fn run_jobs(&self, jobs: &[UnitJob], report: ReportJob<'_>) -> impl Future<Output = ()> + Send;

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

/// What runs on the node, asked of the node itself; and how its cluster sees it.
pub trait Probes {
    /// Asks a component for its health; certificates are not verified, for it is loopback.
    fn probe(&self, url: &str) -> impl Future<Output = ProbeFacts> + Send;

    /// Asks the container runtime for its version, over its own socket.
    ///
    /// # Errors
    ///
    /// `Unreachable` when it does not answer, with its reason.
    fn ask_runtime(&self) -> impl Future<Output = Result<String, PortError>> + Send;

    /// Looks at the pods that are called by one of `names`, or begin with it and a dash, and at their containers.
    ///
    /// # Errors
    ///
    /// `Denied` or `Io` when what kubelet and the runtime keep of them cannot be read. A node that has none of them yet
    /// is no error.
    fn look_pods(
        &self,
        names: &[String],
    ) -> impl Future<Output = Result<PodsSeen, PortError>> + Send;

    /// Looks at the filesystems that a node fills, at their errors, and at the clock. What cannot be seen is left out.
    ///
    /// # Errors
    ///
    /// `Io` when nothing of it can be looked at.
    fn look_host(&self) -> impl Future<Output = Result<HostHealth, PortError>> + Send;

    /// Asks the API server for the node called `name`; `None` when it does not know it.
    ///
    /// # Errors
    ///
    /// `Unreachable` when no answer came, `Denied` when the certificate is not accepted, `Malformed` when it cannot be
    /// read, `Io` for any other answer.
    fn look_node(
        &self,
        access: &ApiAccess,
        name: &str,
    ) -> impl Future<Output = Result<Option<NodeObject>, PortError>> + Send;
}
