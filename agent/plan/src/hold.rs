//! Decides whether something holds already: what is wanted and what is there in, what to do out.

use quake_model::facts::{
    ActiveState, DeviceContents, EntryKind, FileFacts, MountFacts, UnitFacts,
};
use quake_model::item::{UnitState, VolumeMount};
use quake_model::step::{Keep, StartUnit, VolumeStep, WriteFile};

/// What to do about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileDecision {
    /// It is as wanted.
    Hold,
    /// Its bytes are right; mode or owner are not.
    SetPermissions,
    /// It is written anew.
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
    FileDecision::Hold
}

/// What was done about a unit already. Nothing is done twice in one go: a unit that runs once is down
/// again after a good start, and by a clock that stepped back its files are newer than any start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnitDone {
    /// systemd read its files again.
    pub reloaded: bool,
    /// It was enabled.
    pub enabled: bool,
    /// It was started or restarted.
    pub started: bool,
    /// It was kept from starting at boot.
    pub disabled: bool,
    /// It was stopped.
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
    /// It is down.
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
    /// It is as wanted.
    Hold,
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
        UnitState::Unmanaged => return UnitDecision::Hold,
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
        ActiveState::Inactive if done.started && found.result == "success" => UnitDecision::Hold,
        ActiveState::Inactive | ActiveState::Failed if done.started => UnitDecision::Died,
        ActiveState::Inactive | ActiveState::Failed => UnitDecision::Start,
        ActiveState::Active if is_outdated && !done.started => UnitDecision::Restart,
        ActiveState::Active => UnitDecision::Hold,
    }
}

/// Decides what to do about a unit that is not to run. One without a file cannot.
fn decide_stopped(found: &UnitFacts, done: UnitDone) -> UnitDecision {
    if found.found && found.enabled && !done.disabled {
        return UnitDecision::Disable;
    }
    match found.active {
        ActiveState::Inactive | ActiveState::Failed => UnitDecision::Hold,
        // It was asked to stop, and something else asked it to start.
        _ if done.stopped => UnitDecision::Hold,
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
    Hold,
    /// It is mounted.
    Mount,
    /// Something else is mounted there; its source.
    Refuse(String),
}

/// Decides about a volume's mount, as [`decide_mount_point`].
pub fn decide_mount(
    wanted: &VolumeStep,
    device_number: &str,
    mounts: &[MountFacts],
) -> MountDecision {
    decide_mount_point(&wanted.mount_point, device_number, mounts)
}

/// Decides about a mount by comparing device numbers, never names.
pub fn decide_mount_point(
    target: &str,
    device_number: &str,
    mounts: &[MountFacts],
) -> MountDecision {
    // The last mount on a path is the one that is seen.
    let there = mounts.iter().rev().find(|mount| mount.target == target);
    match there {
        None => MountDecision::Mount,
        Some(mount) if mount.number == device_number => MountDecision::Hold,
        Some(mount) => MountDecision::Refuse(mount.source.clone()),
    }
}

/// What to do about a device that the operator names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceDecision {
    /// It carries the filesystem that is wanted.
    Mount,
    /// It is proven blank.
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
mod tests {
    use super::*;
    use quake_model::facts::Owner;
    use quake_model::step::Need;

    fn file(mode: u32, contents: &str) -> FileFacts {
        FileFacts {
            kind: EntryKind::File,
            mode,
            owner: Owner::default(),
            contents: Some(contents.as_bytes().to_vec()),
            modified_us: 0,
        }
    }

    #[test]
    fn a_file_is_written_only_when_its_bytes_differ() {
        let wanted = WriteFile::plain("/etc/x", 0o644, "a");
        let table = [
            (None, FileDecision::Write),
            (Some(file(0o644, "a")), FileDecision::Hold),
            (Some(file(0o600, "a")), FileDecision::SetPermissions),
            (Some(file(0o644, "b")), FileDecision::Write),
            (
                Some(FileFacts {
                    kind: EntryKind::Link,
                    ..file(0o644, "a")
                }),
                FileDecision::Write,
            ),
        ];
        for (found, decision) in table {
            assert_eq!(
                decide_file(&wanted, found.as_ref(), true),
                decision,
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_directory_in_the_place_of_a_file_is_never_replaced() {
        let wanted = WriteFile::plain("/etc/x", 0o644, "a");
        let found = FileFacts {
            kind: EntryKind::Directory,
            contents: None,
            ..file(0o755, "")
        };
        assert_eq!(
            decide_file(&wanted, Some(&found), true),
            FileDecision::Refuse(EntryKind::Directory)
        );
    }

    #[test]
    fn a_file_that_only_has_to_exist_keeps_its_contents() {
        let wanted = WriteFile::present("/var/log/x.log", 0o400);
        assert_eq!(
            decide_file(&wanted, Some(&file(0o400, "lines")), true),
            FileDecision::Hold
        );
    }

    fn unit(active: ActiveState) -> UnitFacts {
        UnitFacts {
            name: "kubelet.service".into(),
            found: true,
            active,
            sub_state: String::new(),
            enabled: true,
            installable: true,
            needs_reload: false,
            restarts: 0,
            active_since_us: 100,
            result: "success".into(),
            main_started_us: 0,
            main_ended: None,
        }
    }

    #[test]
    fn a_unit_is_restarted_only_for_files_newer_than_its_start() {
        let wanted = StartUnit {
            state: UnitState::Running,
            unit: "kubelet.service".into(),
            enable: true,
            inputs: Vec::new(),
            need: Need::Required,
        };
        let (active, fresh) = (unit(ActiveState::Active), UnitDone::default());
        assert_eq!(decide_unit(&wanted, &active, 99, fresh), UnitDecision::Hold);
        assert_eq!(
            decide_unit(&wanted, &active, 101, fresh),
            UnitDecision::Restart
        );
        assert_eq!(
            decide_unit(&wanted, &unit(ActiveState::Failed), 0, fresh),
            UnitDecision::Start
        );
        let stale = UnitFacts {
            needs_reload: true,
            ..active.clone()
        };
        assert_eq!(
            decide_unit(&wanted, &stale, 101, fresh),
            UnitDecision::Reload
        );
        let disabled = UnitFacts {
            enabled: false,
            ..active
        };
        assert_eq!(
            decide_unit(&wanted, &disabled, 0, fresh),
            UnitDecision::Enable
        );
    }

    #[test]
    fn nothing_is_done_twice_about_a_unit() {
        let wanted = StartUnit {
            state: UnitState::Running,
            unit: "hook.service".into(),
            enable: true,
            inputs: Vec::new(),
            need: Need::Required,
        };
        let done = UnitDone {
            reloaded: true,
            enabled: true,
            started: true,
            ..UnitDone::default()
        };
        let stale = UnitFacts {
            needs_reload: true,
            enabled: false,
            ..unit(ActiveState::Active)
        };
        assert_eq!(
            decide_unit(&wanted, &stale, u64::MAX, done),
            UnitDecision::Hold
        );
        assert_eq!(
            decide_unit(&wanted, &unit(ActiveState::Inactive), 0, done),
            UnitDecision::Hold
        );
        let died = UnitFacts {
            result: "exit-code".into(),
            ..unit(ActiveState::Inactive)
        };
        assert_eq!(decide_unit(&wanted, &died, 0, done), UnitDecision::Died);
        assert_eq!(
            decide_unit(&wanted, &unit(ActiveState::Failed), 0, done),
            UnitDecision::Died
        );
    }

    #[test]
    fn a_unit_that_is_not_to_run_is_kept_from_the_next_boot_and_stopped() {
        let wanted = StartUnit {
            state: UnitState::Stopped,
            unit: "kubelet.service".into(),
            enable: false,
            inputs: Vec::new(),
            need: Need::Required,
        };
        let decide = |found: &UnitFacts, done| decide_unit(&wanted, found, u64::MAX, done);
        let fresh = UnitDone::default();
        let running = unit(ActiveState::Active);
        assert_eq!(decide(&running, fresh), UnitDecision::Disable);
        let disabled = UnitFacts {
            enabled: false,
            ..running
        };
        assert_eq!(decide(&disabled, fresh), UnitDecision::Stop);
        let leaving = UnitFacts {
            active: ActiveState::Deactivating,
            ..disabled.clone()
        };
        assert_eq!(decide(&leaving, fresh), UnitDecision::Wait);
        for active in [ActiveState::Inactive, ActiveState::Failed] {
            let down = UnitFacts {
                active,
                ..disabled.clone()
            };
            assert_eq!(decide(&down, fresh), UnitDecision::Hold, "{active:?}");
        }
        let absent = UnitFacts {
            found: false,
            enabled: true,
            ..unit(ActiveState::Inactive)
        };
        assert_eq!(decide(&absent, fresh), UnitDecision::Hold);
    }

    #[test]
    fn of_a_unit_that_others_run_only_the_file_is_read_again() {
        let wanted = StartUnit {
            state: UnitState::Unmanaged,
            unit: "x.slice".into(),
            enable: false,
            inputs: Vec::new(),
            need: Need::Required,
        };
        let stale = UnitFacts {
            needs_reload: true,
            ..unit(ActiveState::Active)
        };
        let fresh = UnitDone::default();
        assert_eq!(
            decide_unit(&wanted, &stale, u64::MAX, fresh),
            UnitDecision::Reload
        );
        let down = unit(ActiveState::Inactive);
        assert_eq!(decide_unit(&wanted, &down, 0, fresh), UnitDecision::Hold);
    }

    #[test]
    fn only_a_blank_device_is_formatted_and_only_the_wanted_filesystem_mounted() {
        let wanted = VolumeMount {
            device: "/dev/nvme1n1".into(),
            path: "/data".into(),
            filesystem: "xfs".into(),
            mount_options: Vec::new(),
            format_options: Vec::new(),
        };
        let filesystem = |name: &str| DeviceContents::Filesystem {
            name: name.into(),
            uuid: None,
            label: None,
            size_bytes: None,
        };
        let name = String::from("xfs");
        for (contents, decision) in [
            (DeviceContents::Blank, DeviceDecision::Format),
            (filesystem("xfs"), DeviceDecision::Mount),
            (filesystem("ext4"), DeviceDecision::Refuse),
            (
                DeviceContents::Unsigned { offset: 9 },
                DeviceDecision::Refuse,
            ),
            (
                DeviceContents::Signature { name: "LVM".into() },
                DeviceDecision::Refuse,
            ),
            (
                DeviceContents::Ambiguous {
                    names: vec![name.clone()],
                },
                DeviceDecision::Refuse,
            ),
            (
                DeviceContents::Damaged { name, uuid: None },
                DeviceDecision::Refuse,
            ),
        ] {
            assert_eq!(decide_device(&wanted, &contents), decision, "{contents:?}");
        }
    }

    #[test]
    fn a_mount_point_is_ours_by_device_number_and_not_by_name() {
        let wanted = VolumeStep {
            slot: "main/a".into(),
            volume_id: "vol-1".into(),
            mount_point: "/mnt/master-vol-1".into(),
            label: String::new(),
            uuid: String::new(),
        };
        let mount = MountFacts {
            source: "/dev/nvme1n1".into(),
            target: "/mnt/master-vol-1".into(),
            filesystem: "ext4".into(),
            number: "259:1".into(),
        };
        let mounts = [mount];
        assert_eq!(decide_mount(&wanted, "259:1", &mounts), MountDecision::Hold);
        assert_eq!(
            decide_mount(&wanted, "259:2", &mounts),
            MountDecision::Refuse("/dev/nvme1n1".into())
        );
        assert_eq!(decide_mount(&wanted, "259:1", &[]), MountDecision::Mount);
    }
}
