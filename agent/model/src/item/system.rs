//! What is neither file nor unit: packages, users, modules, names, mounts.

use crate::step::Need;
use serde::Serialize;

/// A package of the distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Package {
    pub name: String,
    /// Paths of which each must exist for the package to count as there, however it came; where there are none, the
    /// package manager's word counts.
    pub proven_by: Vec<String>,
    /// Whether the node can do without it.
    pub need: Need,
}

impl Package {
    /// A package the node needs.
    pub fn required(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            proven_by: Vec::new(),
            need: Need::Required,
        }
    }

    /// The same, which is there where these paths exist.
    #[must_use]
    pub fn proven_by<Path: Into<String>>(mut self, paths: impl IntoIterator<Item = Path>) -> Self {
        self.proven_by.extend(paths.into_iter().map(Into::into));
        self
    }
}

/// A place that Debian packages come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageSource {
    /// Its name, which becomes its file's.
    pub name: String,
    /// Where the key that signs it is.
    pub keyring_url: String,
    /// Its lines, such as `deb https://… /`; the keyring's place is added to them.
    pub lines: Vec<String>,
}

/// A system user with a group of its own of the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct User {
    pub name: String,
    pub uid: u32,
    /// The home directory, which is not made.
    pub home: String,
    pub shell: String,
}

/// A kernel module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Module {
    pub name: String,
    /// Whether the node can do without it.
    pub need: Need,
}

impl Module {
    /// A module the node can do without.
    pub fn optional(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            need: Need::Optional,
        }
    }
}

/// A kernel setting that is set at once. The file that keeps it for the next boot is an item of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sysctl {
    /// Its name, such as `net.ipv4.ip_forward`.
    pub key: String,
    pub value: String,
    /// Whether the node can do without it.
    pub need: Need,
}

/// A name in `/etc/hosts`, in the block that is the agent's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostRecord {
    pub name: String,
    pub address: String,
}

/// A device and where it is mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeMount {
    /// The device, such as `/dev/nvme1n1`.
    pub device: String,
    pub path: String,
    /// Its filesystem, made where the device is blank.
    pub filesystem: String,
    pub mount_options: Vec<String>,
    /// Options of making the filesystem.
    pub format_options: Vec<String>,
}

/// A hook of an Auto Scaling group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LifecycleHook {
    pub group: String,
    pub name: String,
}
