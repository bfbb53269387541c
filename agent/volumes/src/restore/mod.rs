//! What a snapshot of etcd and a backup of etcd-manager say about themselves. Nothing here reads or
//! writes.

mod backup;
mod bolt;
mod command;
mod origin;
mod snapshot;
mod version;

pub use backup::{Backup, BackupRecord, DATA_OBJECT, META_OBJECT, backup_names, read_backup};
pub use bolt::SnapshotBytes;
pub use command::{
    COMMAND_OBJECT, CONTROL, ControlSpec, PendingCommand, SPEC_OBJECT, command_name,
    read_control_spec, read_pending, restore_command,
};
pub use origin::{Origin, member_name, origin_of};
pub use snapshot::{SnapshotError, SnapshotFacts, SnapshotMember, read_snapshot};
pub use version::EtcdVersion;
