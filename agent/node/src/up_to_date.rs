//! Decides whether something holds already: what is wanted and what is there in, what to do out.

mod retired;

pub use retired::{RetireDecision, decide_retire, pod_foreign, pod_returns};

use quake_model::facts::{
    ActiveState, DeviceContents, EntryKind, FileFacts, MountFacts, UnitFacts,
};
use quake_model::item::{UnitState, VolumeMount};
use quake_model::step::{Keep, StartUnit, WriteFile};

/// What to do about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileDecision {
    Keep,
    /// Its bytes are right; mode or owner are not.
    SetPermissions,
    Write,
    /// Something of this kind stands there, and replacing it could lose data.
    Refuse(EntryKind),
}

/// Decides what to do about a file. `owners` is false where owners cannot be set, as without root.
pub fn decide_file(wanted: &WriteFile, found: Option<&FileFacts>, owners: bool) -> FileDecision {
    let Some(found) = found else {
        return FileDecision::Write;
    };
    match found.kind {
        EntryKind::Directory | EntryKind::Other => return FileDecision::Refuse(found.kind),
        EntryKind::Link => return FileDecision::Write,
        EntryKind::File => {}
    }
    let same = found.contents.as_deref() == Some(wanted.contents.0.as_slice());
    if !same && wanted.keep == Keep::Never {
        return FileDecision::Write;
    }
    if found.mode != wanted.mode || (owners && found.owner != wanted.owner) {
        return FileDecision::SetPermissions;
    }
    FileDecision::Keep
}

/// What was done about a unit already. Nothing is done twice in one go: a unit that runs once is down
/// again after a good start, and by a clock that stepped back its files are newer than any start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnitDone {
    /// systemd read its files again.
    pub reloaded: bool,
    pub enabled: bool,
    /// It was started or restarted.
    pub started: bool,
    /// It was kept from starting at boot.
    pub disabled: bool,
    pub stopped: bool,
}

/// What to do about a unit, one thing at a time: it is looked at again afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitDecision {
    /// systemd has no file for it.
    Unknown,
    /// systemd must read its files again first.
    Reload,
    /// It does not start at boot and should.
    Enable,
    Start,
    /// It runs with older files than those on disk.
    Restart,
    /// It starts at boot and should not.
    Disable,
    /// It is up and should not be.
    Stop,
    /// It was started and is down with a bad result.
    Died,
    /// It is on its way up.
    Wait,
    Keep,
}

/// When the newest of a unit's files was written. A time that is yet to come tells nothing, for the clock was set back since:
/// by such a time the unit would be restarted at every boot until then.
pub fn newest_input(written_us: impl IntoIterator<Item = u64>, now_us: u64) -> u64 {
    let written = written_us.into_iter();
    written.filter(|at| *at <= now_us).max().unwrap_or_default()
}

/// Decides what to do about a unit. `newest_input_us` is when the newest of its files was written.
pub fn decide_unit(
    wanted: &StartUnit,
    found: &UnitFacts,
    newest_input_us: u64,
    done: UnitDone,
) -> UnitDecision {
    if found.needs_reload && !done.reloaded {
        return UnitDecision::Reload;
    }
    match wanted.state {
        UnitState::Running => {}
        UnitState::Stopped => return decide_stopped(found, done),
        // Others start it, and may bring its file.
        UnitState::Unmanaged => return UnitDecision::Keep,
    }
    if !found.found {
        return UnitDecision::Unknown;
    }
    if wanted.enable && found.installable && !found.enabled && !done.enabled {
        return UnitDecision::Enable;
    }
    let is_outdated = newest_input_us > found.active_since_us;
    match found.active {
        ActiveState::Activating | ActiveState::Deactivating | ActiveState::Reloading => {
            UnitDecision::Wait
        }
        ActiveState::Inactive if done.started && found.result == "success" => UnitDecision::Keep,
        ActiveState::Inactive | ActiveState::Failed if done.started => UnitDecision::Died,
        ActiveState::Inactive | ActiveState::Failed => UnitDecision::Start,
        ActiveState::Active if is_outdated && !done.started => UnitDecision::Restart,
        ActiveState::Active => UnitDecision::Keep,
    }
}

/// Decides what to do about a unit that is not to run. One without a file cannot.
fn decide_stopped(found: &UnitFacts, done: UnitDone) -> UnitDecision {
    if found.found && found.enabled && !done.disabled {
        return UnitDecision::Disable;
    }
    match found.active {
        ActiveState::Inactive | ActiveState::Failed => UnitDecision::Keep,
        // It was asked to stop, and something else asked it to start.
        _ if done.stopped => UnitDecision::Keep,
        ActiveState::Deactivating => UnitDecision::Wait,
        ActiveState::Active | ActiveState::Activating | ActiveState::Reloading => {
            UnitDecision::Stop
        }
    }
}

/// What to do about a volume's mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountDecision {
    /// The volume's device is mounted where it belongs.
    Keep,
    Mount,
    /// Something else is mounted there; its source.
    Refuse(String),
}

/// Decides about a mount by comparing device numbers, never names.
pub fn decide_mount(path: &str, device_number: &str, mounts: &[MountFacts]) -> MountDecision {
    // The last mount on a path is the one that is seen.
    let there = mounts.iter().rev().find(|mount| mount.target == path);
    match there {
        None => MountDecision::Mount,
        Some(mount) if mount.number == device_number => MountDecision::Keep,
        Some(mount) => MountDecision::Refuse(mount.source.clone()),
    }
}

/// What to do about a device that the operator names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceDecision {
    /// It carries the filesystem that is wanted.
    Mount,
    Format,
    /// It holds something else, which is left as it is.
    Refuse,
}

/// Decides what to do about a device by what is on it: only one that is proven blank is ever formatted.
pub fn decide_device(wanted: &VolumeMount, contents: &DeviceContents) -> DeviceDecision {
    match contents {
        DeviceContents::Blank => DeviceDecision::Format,
        DeviceContents::Filesystem { name, .. } if *name == wanted.filesystem => {
            DeviceDecision::Mount
        }
        DeviceContents::Filesystem { .. }
        | DeviceContents::Signature { .. }
        | DeviceContents::Ambiguous { .. }
        | DeviceContents::Damaged { .. }
        | DeviceContents::Unsigned { .. } => DeviceDecision::Refuse,
    }
}

#[cfg(test)]
mod tests;
