//! The lock of a root: of several agents on it one acts.

use super::below::{below, disk_fault};
use super::running::{fail, usage};
use crate::output;
use quake_assets::{Lock, LockMode};
use quake_engine::file_fault;
use quake_model::fault::Class;
use quake_model::ports::Condition;
use std::path::Path;

/// Takes the root for this process alone.
pub(super) fn lock_root(root: &Path) -> Result<Lock, u8> {
    let path = below(root, "run/quake-agent/lock")?;
    if let Some(parent) = path.parent() {
        let made = std::fs::create_dir_all(parent);
        made.map_err(|error| cannot_lock(&path, &error))?;
    }
    Lock::take(&path, LockMode::Alone).map_err(|error| match error.condition {
        Condition::NotReady => {
            let holder = error.evidence.first().map(|holder| holder.value.as_str());
            let (root, holder) = (root.display(), holder.unwrap_or_default());
            output::error_line(format_args!(
                "error: another agent acts on {root}: {holder}"
            ));
            Class::Conflict.exit_status()
        }
        _ => fail(&file_fault(error)),
    })
}

/// A root in which nothing can be written: what is wrong is the disk, or else the command line.
fn cannot_lock(path: &Path, error: &std::io::Error) -> u8 {
    match disk_fault(path, error) {
        Some(fault) => fail(&fault),
        None => usage(&format!("{} cannot be locked: {error}", path.display())),
    }
}
