//! `etcd`: the backups of etcd, and the restore of one.

mod backups;
mod health;
mod restore;
mod source;

use crate::args::etcd::{EtcdArguments, EtcdVerb};

/// Runs one of the verbs; the exit status.
pub(crate) async fn run(arguments: EtcdArguments) -> u8 {
    // Boxed, as what they hold is nested too deeply for the compiler to lay out within the whole command.
    let done = match arguments.verb {
        EtcdVerb::Backups(arguments) => Box::pin(backups::run(&arguments)).await,
        EtcdVerb::Restore(arguments) => Box::pin(restore::run(&arguments)).await,
    };
    done.unwrap_or_else(|status| status)
}
