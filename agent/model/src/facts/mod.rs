//! What was observed. Facts are read fresh for each phase and never changed afterwards.

mod bucket;
mod health;
mod host;
mod instance;
mod network;
mod start;
mod storage;
mod survey;
mod unit;
mod versions;

pub use bucket::BucketFacts;
pub use health::{FilesystemHealth, HostHealth};
pub use host::{EntryKind, FileFacts, FileStamp, OsFacts, Owner, Placed};
pub use instance::{InstanceFacts, InstanceState, InstanceView};
pub use network::{AddressFacts, EniCapacity, LinkFacts, NetworkFacts, RouteFacts};
pub use start::{SystemdTimes, UnitTimes};
pub use storage::{
    Attachment, AttachmentState, DeviceContents, DeviceFacts, FilesystemCheck, InsideFacts,
    MountFacts, NewFilesystem, Over, VolumeFacts, VolumeState,
};
pub use survey::{
    ClockFacts, DeviceSeen, EntryFacts, Listener, LookError, MemberSeen, MemberStatus, Membership,
    MetadataSeen, NameSeen, NodeCondition, NodeObject, PermissionSeen, Permitted, PodEnd, PodFound,
    PodSeen, PodsSeen, ProbeSeen, ReachSeen, Reached, RuntimeSeen, SURVEY_FILE, SURVEY_SCHEMA,
    Seen, Source, SpaceFacts, Survey, TaintSeen, TlsSeen, USER_DATA_LIMIT_BYTES, Unseen,
    UserDataSeen, WantedFile, WantedPart,
};
pub use unit::{ActiveState, ProbeFacts, UnitFacts};
pub use versions::{ObjectVersion, UnknownPast, objects_at};
