//! Volumes as EC2 shows them, devices and mounts as the kernel does.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A volume's state in EC2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeState {
    Creating,
    Available,
    InUse,
    Deleting,
    Deleted,
    Error,
    /// A state this agent does not know.
    Unknown,
}

/// An attachment's state in EC2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttachmentState {
    Attaching,
    Attached,
    Detaching,
    Detached,
    Busy,
    /// A state this agent does not know.
    Unknown,
}

/// One attachment of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The instance that holds it.
    #[serde(alias = "instance_id")]
    pub instance_id: String,
    /// The device name asked for, such as `/dev/xvdba`.
    #[serde(alias = "device_name")]
    pub device_name: String,
    pub state: AttachmentState,
    /// When it was asked for, where EC2 says so.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Whether EC2 deletes the volume when the instance is terminated.
    #[serde(alias = "delete_on_termination", default)]
    pub delete_on_termination: bool,
}

/// A volume as `DescribeVolumes` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeFacts {
    /// `vol-…`.
    #[serde(alias = "volume_id")]
    pub volume_id: String,
    pub zone: String,
    pub state: VolumeState,
    #[serde(alias = "size_gib")]
    pub size_gib: u32,
    pub created: Timestamp,
    pub encrypted: bool,
    /// Whether several instances may attach it at once.
    #[serde(alias = "multi_attach")]
    pub multi_attach: bool,
    /// The snapshot it was made from, if any.
    #[serde(alias = "snapshot_id")]
    pub snapshot_id: Option<String>,
    pub tags: BTreeMap<String, String>,
    /// Its attachments; more than one only with Multi-Attach.
    pub attachments: Vec<Attachment>,
}

impl VolumeFacts {
    /// Whether EC2 shows it attached to this instance, and the attachment done.
    pub fn is_attached_to(&self, instance_id: &str) -> bool {
        let mut attachments = self.attachments.iter();
        attachments.any(|a| a.instance_id == instance_id && a.state == AttachmentState::Attached)
    }

    /// Whether this instance has it, or has it on its way there or off.
    pub fn is_held_by(&self, instance_id: &str) -> bool {
        let mut attachments = self.attachments.iter();
        attachments.any(|a| a.instance_id == instance_id && a.state != AttachmentState::Detached)
    }
}

/// What a probe of a device's bytes found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    tag = "kind"
)]
pub enum DeviceContents {
    /// Every byte looked at is zero and there is no signature.
    Blank,
    Filesystem {
        /// Its type, such as `ext4`.
        name: String,
        uuid: Option<String>,
        label: Option<String>,
        /// How much of the device it uses in bytes, where its superblock was read (ext only).
        #[serde(alias = "size_bytes", default)]
        size_bytes: Option<u64>,
    },
    /// Something else with a signature: a partition table, RAID, LVM, a crypt header.
    Signature { name: String },
    /// Several signatures, of which at most one can be true.
    Ambiguous { names: Vec<String> },
    /// Parts of a filesystem: a superblock that contradicts itself, or backups without a primary one.
    Damaged {
        /// What it is or was, such as `ext4`.
        name: String,
        /// The UUID that is left, where one is.
        uuid: Option<String>,
    },
    /// No signature, and not blank.
    Unsigned {
        /// Offset of the first byte that is not zero.
        offset: u64,
    },
}

/// In an operator's words.
impl fmt::Display for DeviceContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("it is blank"),
            Self::Filesystem {
                name, uuid, label, ..
            } => {
                let (uuid, label) = (uuid.as_deref(), label.as_deref());
                let (uuid, label) = (uuid.unwrap_or("-"), label.unwrap_or("-"));
                write!(f, "a {name} filesystem (UUID {uuid}, label {label})")
            }
            Self::Signature { name } => write!(f, "a {name} signature"),
            Self::Ambiguous { names } => write!(f, "signatures of {}", names.join(" and ")),
            Self::Damaged { name, uuid } => {
                let uuid = uuid.as_deref().unwrap_or("-");
                write!(f, "parts of {name} that do not fit together (UUID {uuid})")
            }
            Self::Unsigned { offset } => {
                write!(
                    f,
                    "no signature, and a byte that is not zero at {offset:#x}"
                )
            }
        }
    }
}

/// What a look inside an ext4 filesystem found, without writing to it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InsideFacts {
    /// The text of the marker, `.quake-agent/volume.json`; `None` where there is none.
    pub marker: Option<String>,
    /// Certificates of the CAs of etcd's peers (`pki/<token>/peers/ca.crt`), PEM, sorted.
    #[serde(alias = "peer_ca_bundle")]
    pub peer_ca_bundle: Vec<String>,
    /// Where etcd's data was found, relative to the filesystem's root, sorted.
    #[serde(alias = "etcd_data")]
    pub etcd_data: Vec<String>,
    /// Names in the root that are neither of the above nor `lost+found`, sorted; the first 32.
    pub others: Vec<String>,
}

impl InsideFacts {
    /// Whether nothing was ever put into the filesystem.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What may be under a filesystem that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// A device that is proven blank.
    Blank,
    /// What an earlier, interrupted try of this agent left: bytes without a signature, or superblocks with
    /// the very UUID that is to be made.
    Unfinished,
}

/// An ext4 filesystem that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFilesystem {
    pub uuid: String,
    /// Its label, of 16 bytes at most.
    pub label: String,
    /// What may be under it.
    pub over: Over,
}

/// What a check of a filesystem came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FilesystemCheck {
    /// Nothing was wrong, or the journal was replayed.
    Clean,
    /// Something was wrong and is repaired, by repairs that lose nothing.
    Fixed { output: String },
    /// Something is wrong that no safe repair fixes; the device is as it was.
    Damaged { status: i32, output: String },
}

/// A block device of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceFacts {
    /// Its path, such as `/dev/nvme1n1`.
    pub path: String,
    /// The controller's serial; for EBS the volume id without its dash.
    pub serial: Option<String>,
    /// Its size in bytes.
    #[serde(alias = "size_bytes")]
    pub size_bytes: u64,
    /// `major:minor`.
    pub number: String,
}

/// One line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountFacts {
    /// What is mounted, such as `/dev/nvme1n1`.
    pub source: String,
    pub target: String,
    pub filesystem: String,
    /// `major:minor` of what is mounted.
    pub number: String,
}
