//! The parts of a survey that are looked at one by one.

/// A part of a survey that is looked at by itself, with a time limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// Files of the node's tree, the agent's record among them.
    Files,
    Spaces,
    /// Digests of the placed binaries.
    Digests,
    Units,
    Journals,
    KernelLog,
    Network,
    /// Rules of the packet filter and of routing, and counters of the network interface.
    Programs,
    /// Open ports and who has them.
    Listeners,
    Devices,
    Clock,
    Metadata,
    Names,
    Reach,
    /// Dry runs of calls to AWS.
    Permissions,
    /// EC2's view of the volumes.
    Volumes,
    /// Health checks on this machine.
    Probes,
    Runtime,
    /// The API server's view of the node.
    Node,
}

impl Source {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Files,
        Self::Spaces,
        Self::Digests,
        Self::Units,
        Self::Journals,
        Self::KernelLog,
        Self::Network,
        Self::Programs,
        Self::Listeners,
        Self::Devices,
        Self::Clock,
        Self::Metadata,
        Self::Names,
        Self::Reach,
        Self::Permissions,
        Self::Volumes,
        Self::Probes,
        Self::Runtime,
        Self::Node,
    ];

    /// Whether it leaves the machine; the metadata service counts as outside.
    pub fn uses_network(self) -> bool {
        match self {
            Self::Metadata
            | Self::Names
            | Self::Reach
            | Self::Permissions
            | Self::Volumes
            | Self::Node => true,
            Self::Files
            | Self::Spaces
            | Self::Digests
            | Self::Units
            | Self::Journals
            | Self::KernelLog
            | Self::Network
            | Self::Programs
            | Self::Listeners
            | Self::Devices
            | Self::Clock
            | Self::Probes
            | Self::Runtime => false,
        }
    }
}
