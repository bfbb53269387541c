//! Volumes as EC2 shows them, devices and mounts as the kernel does.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A volume's state in EC2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeState {
    /// Being made.
    Creating,
    /// Free.
    Available,
    /// Attached somewhere.
    InUse,
    /// Being deleted.
    Deleting,
    /// Deleted.
    Deleted,
    /// Lost.
    Error,
    /// A state this agent does not know.
    Unknown,
}

/// An attachment's state in EC2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttachmentState {
    /// On its way.
    Attaching,
    /// Done.
    Attached,
    /// On its way off.
    Detaching,
    /// Off.
    Detached,
    /// Asked off while mounted.
    Busy,
    /// A state this agent does not know.
    Unknown,
}

/// One attachment of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The instance that holds it.
    pub instance_id: String,
    /// The device name asked for, such as `/dev/xvdba`.
    pub device_name: String,
    /// Its state.
    pub state: AttachmentState,
}

/// A volume as `DescribeVolumes` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeFacts {
    /// `vol-…`.
    pub volume_id: String,
    /// Its availability zone.
    pub zone: String,
    /// Its state.
    pub state: VolumeState,
    /// Size in GiB.
    pub size_gib: u32,
    /// When it was made.
    pub created: Timestamp,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// Whether several instances may attach it at once.
    pub multi_attach: bool,
    /// The snapshot it was made from, if any.
    pub snapshot_id: Option<String>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// Its attachments; more than one only with Multi-Attach.
    pub attachments: Vec<Attachment>,
}

/// What a probe of a device's bytes found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum DeviceContents {
    /// Every byte looked at is zero and there is no signature.
    Blank,
    /// One filesystem.
    Filesystem {
        /// Its type, such as `ext4`.
        name: String,
        /// Its UUID, where it has one.
        uuid: Option<String>,
        /// Its label, where it has one.
        label: Option<String>,
    },
    /// Something else with a signature: a partition table, RAID, LVM, a crypt header.
    Signature {
        /// Its name.
        name: String,
    },
    /// No signature, and not blank.
    Unsigned {
        /// Offset of the first byte that is not zero.
        offset: u64,
    },
}

/// A block device of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Its path, such as `/dev/nvme1n1`.
    pub path: String,
    /// The controller's serial; for EBS the volume id without its dash.
    pub serial: Option<String>,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// `major:minor`.
    pub number: String,
}

/// One line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountFacts {
    /// What is mounted, such as `/dev/nvme1n1`.
    pub source: String,
    /// Where.
    pub target: String,
    /// The filesystem's type.
    pub filesystem: String,
    /// `major:minor` of what is mounted.
    pub number: String,
}
