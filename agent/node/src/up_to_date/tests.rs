//! What holds already, by tables of what may be there.

use super::*;
use crate::managed_files::tests::found as file;
use crate::unit_health::tests::installed;
use quake_model::step::Need;

#[test]
fn a_file_is_written_only_when_its_bytes_differ() {
    use FileDecision::{Keep, Refuse, SetPermissions, Write};
    let of_kind = |kind| FileFacts {
        kind,
        ..file(0o644, "a")
    };
    let wanted = WriteFile::plain("/etc/x", 0o644, "a");
    for (found, decision) in [
        (None, Write),
        (Some(file(0o644, "a")), Keep),
        (Some(file(0o600, "a")), SetPermissions),
        (Some(file(0o644, "b")), Write),
        (Some(of_kind(EntryKind::Link)), Write),
        // A directory in the place of a file is never replaced.
        (
            Some(of_kind(EntryKind::Directory)),
            Refuse(EntryKind::Directory),
        ),
    ] {
        let decided = decide_file(&wanted, found.as_ref(), true);
        assert_eq!(decided, decision, "{found:?}");
    }
    // One that only has to exist keeps its contents.
    let wanted = WriteFile::present("/var/log/x.log", 0o400);
    let decided = decide_file(&wanted, Some(&file(0o400, "lines")), true);
    assert_eq!(decided, Keep);
}

fn unit(active: ActiveState) -> UnitFacts {
    UnitFacts {
        enabled: true,
        active_since_us: 100,
        result: "success".into(),
        ..installed("kubelet.service", active)
    }
}

#[test]
fn a_file_of_the_future_restarts_no_unit() {
    let now = 200;
    assert_eq!(newest_input([90, 150, 201], now), 150);
    assert_eq!(newest_input([150, 200], now), 200);
    assert_eq!(newest_input([300], now), 0);
}

fn wanted(state: UnitState) -> StartUnit {
    StartUnit {
        state,
        unit: "kubelet.service".into(),
        enable: state == UnitState::Running,
        inputs: Vec::new(),
        need: Need::Required,
    }
}

fn not_enabled(active: ActiveState) -> UnitFacts {
    UnitFacts {
        enabled: false,
        ..unit(active)
    }
}

fn stale() -> UnitFacts {
    UnitFacts {
        needs_reload: true,
        ..unit(ActiveState::Active)
    }
}

#[test]
fn a_unit_is_restarted_only_for_files_newer_than_its_start() {
    use UnitDecision::{Enable, Keep, Reload, Restart, Start};
    for (found, newest, decision) in [
        (unit(ActiveState::Active), 99, Keep),
        (unit(ActiveState::Active), 101, Restart),
        (unit(ActiveState::Failed), 0, Start),
        (stale(), 101, Reload),
        (not_enabled(ActiveState::Active), 0, Enable),
    ] {
        let wanted = wanted(UnitState::Running);
        let decided = decide_unit(&wanted, &found, newest, UnitDone::default());
        assert_eq!(decided, decision, "{found:?}");
    }
}

#[test]
fn nothing_is_done_twice_about_a_unit() {
    use UnitDecision::{Died, Keep};
    let done = UnitDone {
        reloaded: true,
        enabled: true,
        started: true,
        ..UnitDone::default()
    };
    let changed = UnitFacts {
        enabled: false,
        ..stale()
    };
    let died = UnitFacts {
        result: "exit-code".into(),
        ..unit(ActiveState::Inactive)
    };
    for (found, newest, decision) in [
        (changed, u64::MAX, Keep),
        (unit(ActiveState::Inactive), 0, Keep),
        (died, 0, Died),
        (unit(ActiveState::Failed), 0, Died),
    ] {
        let decided = decide_unit(&wanted(UnitState::Running), &found, newest, done);
        assert_eq!(decided, decision, "{found:?}");
    }
}

#[test]
fn a_unit_that_is_not_to_run_is_kept_from_the_next_boot_and_stopped() {
    use UnitDecision::{Disable, Keep, Stop, Wait};
    let absent = UnitFacts {
        found: false,
        ..unit(ActiveState::Inactive)
    };
    for (found, decision) in [
        (unit(ActiveState::Active), Disable),
        (not_enabled(ActiveState::Active), Stop),
        (not_enabled(ActiveState::Deactivating), Wait),
        (not_enabled(ActiveState::Inactive), Keep),
        (not_enabled(ActiveState::Failed), Keep),
        (absent, Keep),
    ] {
        let wanted = wanted(UnitState::Stopped);
        let decided = decide_unit(&wanted, &found, u64::MAX, UnitDone::default());
        assert_eq!(decided, decision, "{found:?}");
    }
}

#[test]
fn of_a_unit_that_others_run_only_the_file_is_read_again() {
    let decide = |found: UnitFacts, newest| {
        let wanted = wanted(UnitState::Unmanaged);
        decide_unit(&wanted, &found, newest, UnitDone::default())
    };
    assert_eq!(decide(stale(), u64::MAX), UnitDecision::Reload);
    assert_eq!(decide(unit(ActiveState::Inactive), 0), UnitDecision::Keep);
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
    use DeviceContents::{Ambiguous, Blank, Damaged, Signature, Unsigned};
    use DeviceDecision::{Format, Mount, Refuse};
    let name = String::from("xfs");
    let names = vec![name.clone()];
    for (contents, decision) in [
        (Blank, Format),
        (filesystem("xfs"), Mount),
        (filesystem("ext4"), Refuse),
        (Unsigned { offset: 9 }, Refuse),
        (Signature { name: "LVM".into() }, Refuse),
        (Ambiguous { names }, Refuse),
        (Damaged { name, uuid: None }, Refuse),
    ] {
        assert_eq!(decide_device(&wanted, &contents), decision, "{contents:?}");
    }
}

#[test]
fn a_mount_point_is_ours_by_device_number_and_not_by_name() {
    let path = "/mnt/master-vol-1";
    let mount = MountFacts {
        source: "/dev/nvme1n1".into(),
        target: path.into(),
        filesystem: "ext4".into(),
        number: "259:1".into(),
    };
    let mounts = [mount];
    assert_eq!(decide_mount(path, "259:1", &mounts), MountDecision::Keep);
    assert_eq!(
        decide_mount(path, "259:2", &mounts),
        MountDecision::Refuse("/dev/nvme1n1".into())
    );
    assert_eq!(decide_mount(path, "259:1", &[]), MountDecision::Mount);
}
