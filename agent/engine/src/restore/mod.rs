//! Restores of etcd that an operator asks for: what is there is observed, the plan is decided by
//! `quake_volumes::restore`, and only `execute` changes anything.

mod backups;
mod execute;
mod observe;
mod rehearse;

pub use backups::{Listed, list_backups};
pub use execute::{MemberPlace, Restored, ask_etcd_manager, restore_member};
pub use observe::{Prepared, RestoreFrom, RestoreQuestion, observe, prepare};
pub use rehearse::{Rehearsal, rehearse};

use quake_model::fault::{Code, Fault};
use quake_model::ports::PortError;

/// What the failure of a program of etcd is.
fn program_fault(error: PortError) -> Fault {
    error.into_fault(Code::EtcdRestoreFailed)
}
