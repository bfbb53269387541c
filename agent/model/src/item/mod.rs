//! What a node is to have, piece by piece, before anybody knows what it has: a file, a unit, a package, a certificate.
//!
//! An item says what is wanted and never how it comes about. Which phase brings it about is [`Item::phase`]; what that
//! phase does about it is a step's business. Items are in no order: what must come first follows from their kinds.

mod certificate;
mod file;
mod system;
mod unit;

pub use certificate::{AlternateName, CertificateOrder, Issuer, Kubeconfig, Subject, Usage};
pub use file::{Directory, File, FileOwner, IssuedPart, Link, Reaction, RetiredPod, Source};
pub use system::{
    HostRecord, LifecycleHook, Module, Package, PackageSource, Sysctl, User, VolumeMount,
};
pub use unit::{Autostart, Unit, UnitFile, UnitState};

use crate::phase::Phase;
use crate::spec::ImageSpec;
use crate::step::Place;
use serde::Serialize;

/// One thing a node is to have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "item")]
pub enum Item {
    /// A file with these contents.
    File(File),
    Directory(Directory),
    Link(Link),
    /// A static pod that is not to be there.
    RetiredPod(RetiredPod),
    /// A file of the asset store at a path.
    Program(Place),
    /// A systemd unit: its file, and whether it runs.
    Unit(Unit),
    /// A package of the distribution.
    Package(Package),
    /// A place that packages come from.
    PackageSource(PackageSource),
    User(User),
    Module(Module),
    Sysctl(Sysctl),
    /// A key and a certificate for it.
    Certificate(CertificateOrder),
    /// Names in `/etc/hosts`.
    HostRecord(HostRecord),
    /// A container image from an archive.
    Image(ImageSpec),
    /// A container image that is pulled before anything asks for it.
    PulledImage {
        name: String,
    },
    /// A device that is formatted where it is blank, and mounted.
    Volume(VolumeMount),
    /// An IPv6 prefix on the primary interface, for pods.
    Ipv6Prefix,
    /// A hook of the instance's Auto Scaling group that is told that the node is done.
    LifecycleHook(LifecycleHook),
}

impl Item {
    /// What the item is about: a path, a unit, a package. Two items of one subject must be equal.
    pub fn subject(&self) -> String {
        match self {
            Self::File(file) => file.path.clone(),
            Self::Directory(directory) => directory.path.clone(),
            Self::Link(link) => link.path.clone(),
            Self::RetiredPod(pod) => pod.path.clone(),
            Self::Program(place) => place.path.clone(),
            Self::Unit(unit) => unit.name.clone(),
            Self::Package(package) => format!("package/{}", package.name),
            Self::PackageSource(source) => format!("package-source/{}", source.name),
            Self::User(user) => format!("user/{}", user.name),
            Self::Module(module) => format!("module/{}", module.name),
            Self::Sysctl(sysctl) => format!("sysctl/{}", sysctl.key),
            Self::Certificate(order) => format!("certificate/{}", order.name),
            Self::HostRecord(record) => format!("host/{}/{}", record.name, record.address),
            Self::Image(image) => format!("image/{}", image.name),
            Self::PulledImage { name } => format!("pulled-image/{name}"),
            Self::Volume(volume) => format!("volume/{}", volume.path),
            Self::Ipv6Prefix => "ipv6-prefix".to_owned(),
            Self::LifecycleHook(hook) => format!("lifecycle-hook/{}", hook.name),
        }
    }

    /// The file that it is.
    pub fn file(&self) -> Option<&File> {
        match self {
            Self::File(file) => Some(file),
            _ => None,
        }
    }

    /// The same, changed where it is a file.
    #[must_use]
    pub fn map_file(self, change: impl FnOnce(File) -> File) -> Self {
        match self {
            Self::File(file) => Self::File(change(file)),
            other => other,
        }
    }

    /// The unit that it is.
    pub fn unit(&self) -> Option<&Unit> {
        match self {
            Self::Unit(unit) => Some(unit),
            _ => None,
        }
    }

    /// The certificate that it orders.
    pub fn certificate(&self) -> Option<&CertificateOrder> {
        match self {
            Self::Certificate(order) => Some(order),
            _ => None,
        }
    }

    /// The phase that brings it about.
    pub fn phase(&self) -> Phase {
        match self {
            Self::HostRecord(_) | Self::Module(_) | Self::Sysctl(_) | Self::Ipv6Prefix => {
                Phase::Network
            }
            Self::Volume(_) => Phase::Storage,
            Self::Package(_) | Self::PackageSource(_) | Self::User(_) => Phase::Assets,
            Self::Certificate(_) => Phase::Credentials,
            Self::File(_)
            | Self::Directory(_)
            | Self::Link(_)
            | Self::RetiredPod(_)
            | Self::Program(_) => Phase::Files,
            Self::Unit(_) | Self::Image(_) | Self::PulledImage { .. } => Phase::Services,
            Self::LifecycleHook(_) => Phase::Ready,
        }
    }
}
