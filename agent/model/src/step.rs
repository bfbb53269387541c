//! A step: one thing to hold on the node, as plain data. It says what, never how.

mod condition;

pub use condition::Condition;

use crate::digest::Digest;
use crate::dns::Publication;
use crate::facts::Owner;
use crate::item::{
    CertificateOrder, LifecycleHook, Link, Package, PackageSource, Reaction, RetiredPod, UnitState,
    User, VolumeMount,
};
use crate::phase::Phase;
use crate::spec::{AssetSpec, ImageRuntime, ImageSpec};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::fmt;

/// One thing to hold. Applying it twice is the same as applying it once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Names the step within its boot, such as `files:/etc/sysconfig/kubelet`; the same on every run.
    pub id: String,
    pub phase: Phase,
    pub action: Action,
}

impl Step {
    /// Makes a step; its id is the phase and the action's subject.
    pub fn new(phase: Phase, action: Action) -> Self {
        let id = format!("{phase}:{}", action.subject());
        Self { id, phase, action }
    }
}

/// What a step holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    tag = "kind"
)]
pub enum Action {
    /// The asset is in the store, verified, and unpacked if it is an archive.
    FetchAsset(AssetSpec),
    /// The archive of a container image is in the store, verified.
    FetchImage(ImageSpec),
    /// A file of the store is at a path.
    Place(Place),
    MakeDirectory {
        path: String,
        mode: u32,
        owner: Owner,
    },
    /// A file has these contents.
    WriteFile(WriteFile),
    LoadModule {
        name: String,
        /// Whether the node can do without it.
        need: Need,
    },
    /// A kernel setting has a value.
    SetSysctl {
        /// The key with dots, such as `net.ipv4.ip_forward`.
        key: String,
        value: String,
        /// Whether the node can do without it.
        need: Need,
    },
    /// The volume of an etcd member is attached to this instance.
    AttachVolume(VolumeStep),
    /// The attached volume carries a filesystem.
    MakeFilesystem(VolumeStep),
    MountVolume(VolumeStep),
    /// A device that the operator names carries a filesystem, made where the device is blank, and is mounted.
    MountDevice(VolumeMount),
    /// The runtime has the images of an archive.
    ImportImage {
        image: ImageSpec,
        runtime: ImageRuntime,
    },
    /// A unit is as wanted.
    StartUnit(StartUnit),
    /// The runtime has an image of this name, pulled from its registry.
    PullImage {
        name: String,
        runtime: ImageRuntime,
    },
    /// The primary interface has an IPv6 prefix, for pods.
    AssignPrefix,
    /// A symbolic link is there.
    MakeLink(Link),
    /// A static pod's manifest is not there.
    RetirePod(RetiredPod),
    /// Packages of the distribution are installed, together.
    InstallPackages {
        /// Where some of them come from; these are there first.
        sources: Vec<PackageSource>,
        packages: Vec<Package>,
    },
    /// A system user is there.
    MakeUser(User),
    /// A key, and a certificate for it that this node signs itself, are there.
    IssueCertificate(CertificateOrder),
    /// Keys, and certificates for them that kops-controller signs, are there.
    RequestCertificates {
        /// What is ordered.
        orders: Vec<CertificateOrder>,
    },
    /// What a change of a file calls for has been done since.
    #[serde(serialize_with = "serialize_reaction")]
    React(Reaction),
    /// Names lead to this node's address.
    PublishNames(Publication),
    #[serde(serialize_with = "serialize_condition")]
    Await(Condition),
    /// A hook of the instance's Auto Scaling group is told that the node is done, if the instance waits at it.
    CompleteLifecycle(LifecycleHook),
}

/// Its name, and what it is done to under a key of its own.
fn serialize_reaction<S: Serializer>(
    reaction: &Reaction,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    match reaction {
        Reaction::ApplySysctls => map.serialize_entry("reaction", "apply-sysctls")?,
        Reaction::ReloadUdev => map.serialize_entry("reaction", "reload-udev")?,
        Reaction::RestartUnit(unit) => {
            map.serialize_entry("reaction", "restart-unit")?;
            map.serialize_entry("unit", unit)?;
        }
        Reaction::Run(command) => {
            map.serialize_entry("reaction", "run")?;
            map.serialize_entry("command", command)?;
        }
    }
    map.end()
}

/// As a member of its own: a condition has a `kind`, too.
fn serialize_condition<S: Serializer>(
    condition: &Condition,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("condition", condition)])
}

impl Action {
    /// What the action is about: a path, a name, a unit.
    pub fn subject(&self) -> String {
        match self {
            Self::FetchAsset(asset) => asset.name.clone(),
            Self::FetchImage(image) | Self::ImportImage { image, .. } => {
                format!("image/{}", image.name)
            }
            Self::Place(place) => place.path.clone(),
            Self::MakeDirectory { path, .. } => path.clone(),
            Self::WriteFile(file) => file.path.clone(),
            Self::LoadModule { name, .. } => format!("module/{name}"),
            Self::SetSysctl { key, .. } => format!("sysctl/{key}"),
            Self::AttachVolume(volume) => format!("attach/{}", volume.slot),
            Self::MakeFilesystem(volume) => format!("filesystem/{}", volume.slot),
            Self::MountVolume(volume) => format!("mount/{}", volume.slot),
            Self::MountDevice(volume) => format!("volume/{}", volume.path),
            Self::StartUnit(unit) => unit.unit.clone(),
            Self::PullImage { name, .. } => format!("pulled-image/{name}"),
            Self::AssignPrefix => "ipv6-prefix".to_owned(),
            Self::MakeLink(link) => link.path.clone(),
            Self::RetirePod(pod) => pod.path.clone(),
            Self::InstallPackages { .. } => "packages".to_owned(),
            Self::MakeUser(user) => format!("user/{}", user.name),
            Self::IssueCertificate(order) => format!("certificate/{}", order.name),
            Self::RequestCertificates { .. } => "certificates".to_owned(),
            Self::React(reaction) => format!("reaction/{}", reaction.subject()),
            Self::PublishNames(publication) => format!("dns/{}", publication.zone),
            Self::Await(condition) => condition.name(),
            Self::CompleteLifecycle(hook) => format!("lifecycle-hook/{}", hook.name),
        }
    }

    /// The path that the action writes, and with which permission bits.
    pub fn writes(&self) -> Option<(&str, u32)> {
        match self {
            Self::Place(place) => Some((&place.path, place.mode)),
            Self::MakeDirectory { path, mode, .. } => Some((path, *mode)),
            Self::WriteFile(file) => Some((&file.path, file.mode)),
            Self::MountVolume(volume) => Some((&volume.mount_point, 0)),
            Self::MountDevice(volume) => Some((&volume.path, 0)),
            Self::MakeLink(link) => Some((&link.path, 0)),
            Self::RetirePod(pod) => Some((&pod.path, 0)),
            Self::InstallPackages { .. }
            | Self::MakeUser(_)
            | Self::IssueCertificate(_)
            | Self::RequestCertificates { .. }
            | Self::React(_)
            | Self::FetchAsset(_)
            | Self::FetchImage(_)
            | Self::ImportImage { .. }
            | Self::LoadModule { .. }
            | Self::SetSysctl { .. }
            | Self::AttachVolume(_)
            | Self::MakeFilesystem(_)
            | Self::StartUnit(_)
            | Self::PullImage { .. }
            | Self::AssignPrefix
            | Self::PublishNames(_)
            | Self::Await(_)
            | Self::CompleteLifecycle(_) => None,
        }
    }
}

/// Whether a node can do without something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// The boot fails without it.
    Required,
    /// The boot goes on with a warning.
    Optional,
}

/// A file of the store and where it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    pub asset: Digest,
    /// The file's base name inside the archive; `None` when the asset is the file.
    pub member: Option<String>,
    pub path: String,
    pub mode: u32,
}

/// Bytes to be written, which may be secret; they never appear in `Debug` or in events.
#[derive(Clone, PartialEq, Eq)]
pub struct Contents(pub Vec<u8>);

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Contents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} bytes", self.0.len()))
    }
}

impl From<String> for Contents {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<&str> for Contents {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

/// What to do about a file that exists with other contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    Never,
    /// It is left as it is, such as a log file that only has to exist.
    IfPresent,
}

/// Whether a file's contents may be shown, as in a plan's diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visibility {
    Plain,
    /// They hold a key or a token.
    Secret,
}

/// A file and its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteFile {
    pub path: String,
    pub contents: Contents,
    pub mode: u32,
    pub owner: Owner,
    pub keep: Keep,
    /// Whether its contents may be shown.
    pub visibility: Visibility,
}

impl WriteFile {
    /// A plain file of root's that is kept equal to `contents`.
    pub fn plain(path: &str, mode: u32, contents: impl Into<Contents>) -> Self {
        Self {
            path: path.to_owned(),
            contents: contents.into(),
            mode,
            owner: Owner::default(),
            keep: Keep::Never,
            visibility: Visibility::Plain,
        }
    }

    /// A file of root's whose contents are never shown.
    pub fn secret(path: &str, mode: u32, contents: impl Into<Contents>) -> Self {
        Self {
            visibility: Visibility::Secret,
            ..Self::plain(path, mode, contents)
        }
    }

    /// An empty file that only has to exist.
    pub fn present(path: &str, mode: u32) -> Self {
        Self {
            keep: Keep::IfPresent,
            ..Self::plain(path, mode, "")
        }
    }
}

/// A volume on its way from EC2 to its mount point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeStep {
    /// The etcd cluster and member, such as `main/a`.
    pub slot: String,
    /// `vol-…`.
    pub volume_id: String,
    pub mount_point: String,
    /// The label of a filesystem that is made.
    pub label: String,
    /// The UUID of a filesystem that is made; it follows from what the volume is.
    pub uuid: String,
}

/// A unit and how it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartUnit {
    /// The unit's name with its suffix.
    pub unit: String,
    /// Whether it runs. One that is stopped does not start at boot either, and one without a file is so already.
    pub state: UnitState,
    /// Whether it starts at boot by itself.
    pub enable: bool,
    /// Files that it reads at its start: if one is newer than the unit, it is restarted.
    pub inputs: Vec<String>,
    /// Whether the node can do without it.
    pub need: Need,
}
