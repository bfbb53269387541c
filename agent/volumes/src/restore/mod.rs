//! Whether and how an etcd cluster is restored from a backup: which backup, which members, what is
//! lost, and what is refused. All of it is decided from facts; nothing here reads or writes.

mod backup;
mod begun;
mod bolt;
mod command;
mod fault;
mod layout;
mod member;
mod origin;
mod plan;
mod snapshot;
mod source;
mod tools;
mod verdict;
mod version;

pub use backup::{Backup, BackupRecord, DATA_OBJECT, META_OBJECT, backup_names, read_backup};
pub use begun::{BegunRestore, RESTORED, begun_restores, done_tag, restored_tag};
pub use command::{
    COMMAND_OBJECT, CONTROL, ControlSpec, PendingCommand, SPEC_OBJECT, command_name, lacks_etcdutl,
    read_control_spec, read_pending, restore_command,
};
pub use fault::{refusal_fault, restore_code};
pub use layout::{MemberLayout, member_layout};
pub use member::{Health, MemberFacts, MemberVolume, member_addresses, members_of};
pub use origin::{Origin, member_name, origin_of};
pub use plan::{LostChanges, MemberStep, PlannedMember, RestoreFacts, RestorePlan, plan_restore};
pub use snapshot::{SnapshotError, SnapshotFacts, SnapshotMember, read_snapshot};
pub use source::{Consent, Source};
pub use tools::choose_tools;
pub use verdict::{Blocker, Refusal};
pub use version::EtcdVersion;
