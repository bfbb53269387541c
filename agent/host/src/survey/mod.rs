//! Looks at a node for its diagnosis: at the files of a tree, and at the running machine. It only ever looks; each look
//! has a time limit of its own, and what could not be seen says why.

mod captured;
mod clock;
mod files;
mod health;
mod kernel_log;
mod listeners;
mod local;
mod log_files;
mod members;
mod metadata;
mod names;
mod node_object;
mod pattern;
mod permissions;
mod pods;
mod probes;
mod programs;
mod reach;
mod runtime;
mod spaces;
mod volumes;

pub use captured::{capture_text, read_captured};
pub use clock::read_clock;
pub use files::read_files;
pub use health::look_at_host;
pub use kernel_log::read_kernel_log;
pub use listeners::read_listeners;
pub use local::{Local, look_at_devices, look_at_journals, look_at_network, look_at_units};
pub use log_files::read_log_files;
pub use members::{look_at_health, look_at_members};
pub use metadata::{MetadataLook, look_at_metadata};
pub use names::{name_servers, read_names};
pub use node_object::look_at_node;
pub use permissions::{Tried, look_at_permissions};
pub use pods::{read_pods, read_pods_with_logs};
pub use probes::look_at_probes;
pub use programs::look_at_programs;
pub use reach::{Target, read_reach};
pub(crate) use runtime::ask_version;
pub use runtime::look_at_runtime;
pub use spaces::read_spaces;
pub use volumes::{CloudLook, look_at_volumes};

use quake_model::facts::{LookError, Seen};
use quake_model::ports::{Condition, PortError};
use std::time::Duration;

/// Runs one look under its time limit. A denied look is one that only root may take.
pub async fn limited<T>(
    limit: Duration,
    look: impl Future<Output = Result<T, PortError>>,
) -> Seen<T> {
    match limited_service(limit, look).await {
        Seen::Failed(error) if error.condition == Condition::Denied => Seen::Denied(error.text),
        seen => seen,
    }
}

/// Asks a service under a time limit. A service denies root, too: its refusal is a failed look.
pub async fn limited_service<T>(
    limit: Duration,
    look: impl Future<Output = Result<T, PortError>>,
) -> Seen<T> {
    match tokio::time::timeout(limit, look).await {
        Ok(Ok(value)) => Seen::Yes(value),
        Ok(Err(error)) => Seen::Failed(LookError::from(&error)),
        Err(_) => Seen::TimedOut(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
    }
}

/// Runs a look that blocks, under its time limit. One that runs on is left behind: it only looks.
pub async fn limited_blocking<T: Send + 'static>(
    limit: Duration,
    look: impl FnOnce() -> Result<T, PortError> + Send + 'static,
) -> Seen<T> {
    limited(limit, async {
        let looked = tokio::task::spawn_blocking(look).await;
        looked.unwrap_or_else(|error| Err(PortError::new(Condition::Io, error.to_string())))
    })
    .await
}

#[cfg(test)]
mod tests;
