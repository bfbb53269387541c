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
use quake_model::ports::{Condition, PortError};

/// What the failure to read or write an object of a backup store is.
fn store_fault(error: PortError) -> Fault {
    let code = match error.condition {
        Condition::Missing => Code::ConfigObjectMissing,
        Condition::Unknown => Code::ConfigBucketMissing,
        Condition::Denied => Code::ConfigStoreDenied,
        Condition::Malformed | Condition::Unsafe => Code::ConfigObjectMalformed,
        Condition::ClockSkew => Code::IdentityClockSkew,
        _ => Code::ConfigStoreUnreachable,
    };
    error.into_fault(code)
}

/// What the failure of a program of etcd is.
fn program_fault(error: PortError) -> Fault {
    error.into_fault(Code::EtcdRestoreFailed)
}
