//! What was observed. Facts are read fresh for each phase and never changed afterwards.

mod host;
mod instance;
mod network;
mod storage;
mod unit;

pub use host::{EntryKind, FileFacts, OsFacts, Owner, Placed};
pub use instance::{InstanceFacts, InstanceState, InstanceView};
pub use network::{AddressFacts, LinkFacts, NetworkFacts, RouteFacts};
pub use storage::{
    Attachment, AttachmentState, DeviceContents, DeviceFacts, FilesystemCheck, InsideFacts,
    MountFacts, NewFilesystem, Over, VolumeFacts, VolumeState,
};
pub use unit::{ActiveState, ProbeFacts, UnitFacts};
