//! The parts of a node's surroundings that can be simulated one by one.

use clap::ValueEnum;
use std::collections::BTreeSet;

/// One part of the surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Part {
    /// The instance metadata service
    Metadata,
    /// The APIs of EC2 and Route 53
    Cloud,
    /// The state store
    Objects,
    /// Block devices, filesystems and mounts
    Disks,
    /// Modules, settings and interfaces
    Kernel,
    /// systemd
    Units,
    /// Health checks of components
    Probes,
}

/// What a rehearsal simulates: everything but files, the state store and assets.
pub(crate) fn of_a_rehearsal() -> BTreeSet<Part> {
    [
        Part::Metadata,
        Part::Cloud,
        Part::Disks,
        Part::Kernel,
        Part::Units,
        Part::Probes,
    ]
    .into()
}
