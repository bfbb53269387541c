//! What holds already, by tables of what may be there.

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
        (Some(file(0o644, "a")), FileDecision::Keep),
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
        FileDecision::Keep
    );
}

fn unit(active: ActiveState) -> UnitFacts {
    UnitFacts {
        name: "kubelet.service".into(),
        found: true,
        active,
        enabled: true,
        installable: true,
        active_since_us: 100,
        result: "success".into(),
        ..UnitFacts::default()
    }
}

#[test]
fn a_file_of_the_future_restarts_no_unit() {
    let now = 200;
    assert_eq!(newest_input([90, 150, 201], now), 150);
    assert_eq!(newest_input([150, 200], now), 200);
    assert_eq!(newest_input([300], now), 0);
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
    assert_eq!(decide_unit(&wanted, &active, 99, fresh), UnitDecision::Keep);
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
        UnitDecision::Keep
    );
    assert_eq!(
        decide_unit(&wanted, &unit(ActiveState::Inactive), 0, done),
        UnitDecision::Keep
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
        assert_eq!(decide(&down, fresh), UnitDecision::Keep, "{active:?}");
    }
    let absent = UnitFacts {
        found: false,
        enabled: true,
        ..unit(ActiveState::Inactive)
    };
    assert_eq!(decide(&absent, fresh), UnitDecision::Keep);
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
    assert_eq!(decide_unit(&wanted, &down, 0, fresh), UnitDecision::Keep);
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
    assert_eq!(decide_mount(&wanted, "259:1", &mounts), MountDecision::Keep);
    assert_eq!(
        decide_mount(&wanted, "259:2", &mounts),
        MountDecision::Refuse("/dev/nvme1n1".into())
    );
    assert_eq!(decide_mount(&wanted, "259:1", &[]), MountDecision::Mount);
}
