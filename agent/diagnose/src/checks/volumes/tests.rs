//! Tests of the checks of etcd's volumes.

use super::super::fixtures::{
    CLUSTER, TAKEN, control_plane, expected_of, metadata, reads, says, stuck_in, worker,
};
use quake_model::facts::{
    Attachment, AttachmentState, DeviceContents, DeviceFacts, DeviceSeen, InstanceState,
    InstanceView, Seen, SpaceFacts, Survey, VolumeFacts, VolumeState,
};
use quake_model::phase::Phase;
use quake_model::time::Timestamp;

const MOUNTINFO: &str = "\
28 0 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw
60 28 259:11 / /mnt/master-vol-0m rw,relatime shared:60 - ext4 /dev/nvme1n1 rw
61 28 259:21 / /mnt/master-vol-0e rw,relatime shared:61 - ext4 /dev/nvme2n1 rw
";

fn volume(id: &str, etcd: &str, holder: Option<&str>) -> VolumeFacts {
    let attachment = holder.map(|instance_id| Attachment {
        instance_id: instance_id.to_owned(),
        device_name: "/dev/xvdu".to_owned(),
        state: AttachmentState::Attached,
        since: None,
        delete_on_termination: false,
    });
    let tags = [
        ("KubernetesCluster", CLUSTER),
        ("k8s.io/role/master", "1"),
        (&format!("k8s.io/etcd/{etcd}"), "a/a"),
    ];
    VolumeFacts {
        volume_id: id.to_owned(),
        zone: "us-west-2a".to_owned(),
        state: if holder.is_some() {
            VolumeState::InUse
        } else {
            VolumeState::Available
        },
        size_gib: 20,
        created: Timestamp(TAKEN.0 - 86_400_000),
        encrypted: false,
        multi_attach: false,
        snapshot_id: None,
        tags: tags
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        attachments: attachment.into_iter().collect(),
    }
}

fn device(path: &str, serial: &str, number: &str, contents: DeviceContents) -> DeviceSeen {
    DeviceSeen {
        device: DeviceFacts {
            path: path.to_owned(),
            serial: Some(serial.to_owned()),
            size_bytes: 20 << 30,
            number: number.to_owned(),
        },
        contents: Some(contents),
    }
}

fn ext4() -> DeviceContents {
    DeviceContents::Filesystem {
        name: "ext4".to_owned(),
        uuid: None,
        label: None,
        size_bytes: None,
    }
}

fn instance(id: &str, state: InstanceState) -> InstanceView {
    let tags = [
        ("KubernetesCluster", CLUSTER),
        ("kops.k8s.io/instancegroup", "masters"),
    ];
    InstanceView {
        private_ip: String::new(),
        instance_id: id.to_owned(),
        state,
        launched: TAKEN,
        zone: "us-west-2a".to_owned(),
        tags: tags
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        device_names: Vec::new(),
    }
}

/// A control plane whose volumes are as they should be.
fn well() -> Survey {
    let mut survey = Survey {
        metadata: Seen::Yes(metadata()),
        volumes: Seen::Yes(vec![
            volume("vol-0m", "main", Some("i-0a")),
            volume("vol-0e", "events", Some("i-0a")),
        ]),
        instances: Seen::Yes(vec![instance("i-0a", InstanceState::Running)]),
        devices: Seen::Yes(vec![
            device("/dev/nvme1n1", "vol0m", "259:11", ext4()),
            device("/dev/nvme2n1", "vol0e", "259:21", ext4()),
        ]),
        ..control_plane()
    };
    reads(&mut survey, "/proc/self/mountinfo", MOUNTINFO);
    survey
}

/// The same before the volumes are attached and mounted.
fn early(volumes: Vec<VolumeFacts>) -> Survey {
    let mut survey = well();
    survey.volumes = Seen::Yes(volumes);
    survey.devices = Seen::Yes(Vec::new());
    survey.texts.clear();
    survey.entries.clear();
    stuck_in(&mut survey, Phase::Storage);
    survey
}

const ALL: [&str; 6] = [
    "volumes.discovered",
    "volumes.conflict",
    "volumes.attached",
    "volumes.contents",
    "volumes.usable",
    "volumes.mounted",
];

#[test]
fn volumes_that_are_as_they_should_be_give_no_alarm() {
    for id in ALL {
        let said = says(id, &well());
        assert!(said.starts_with("ok: "), "{id}: {said}");
    }
}

#[test]
fn volumes_do_not_concern_a_worker_nor_what_was_not_looked_at() {
    for id in ALL {
        let said = says(id, &worker());
        assert!(said.starts_with("skip: no member of etcd"), "{id}: {said}");
        let said = says(id, &control_plane());
        assert!(said.starts_with("skip: "), "{id}: {said}");
    }
}

#[test]
fn two_volumes_for_one_member_are_a_conflict_that_names_both() {
    let survey = early(vec![
        volume("vol-0m", "main", None),
        volume("vol-0n", "main", None),
        volume("vol-0e", "events", None),
    ]);
    assert_eq!(
        says("volumes.conflict", &survey),
        "fail: main/a is claimed by vol-0m, vol-0n; nothing was attached [storage.volume-conflict]"
    );
    assert!(says("volumes.discovered", &survey).starts_with("ok: "));
    assert!(says("volumes.attached", &survey).starts_with("skip: "));
}

#[test]
fn a_second_volume_beside_the_one_that_runs_is_a_warning() {
    let mut survey = well();
    if let Seen::Yes(volumes) = &mut survey.volumes {
        volumes.push(volume("vol-0n", "main", None));
    }
    assert_eq!(
        says("volumes.conflict", &survey),
        "warn: main/a runs on vol-0m; vol-0n has its tags too [storage.surplus-volumes]"
    );
}

#[test]
fn a_volume_that_is_missing_or_elsewhere_is_told() {
    let survey = early(vec![volume("vol-0e", "events", None)]);
    assert_eq!(
        says("volumes.discovered", &survey),
        "fail: no volume in us-west-2a is tagged for main/a [storage.volume-missing]"
    );
    let mut far = volume("vol-0m", "main", None);
    far.zone = "us-west-2b".to_owned();
    let mut survey = early(vec![far, volume("vol-0e", "events", None)]);
    let said = says("volumes.discovered", &survey);
    assert!(said.ends_with("[storage.volume-elsewhere]"), "{said}");
    survey.volumes = Seen::Failed("no answer".to_owned().into());
    assert_eq!(says("volumes.discovered", &survey), "error: no answer");
}

#[test]
fn a_volume_that_another_instance_holds_is_told_with_its_state() {
    let survey = |state| {
        let mut survey = early(vec![
            volume("vol-0m", "main", Some("i-0b")),
            volume("vol-0e", "events", Some("i-0b")),
        ]);
        survey.instances = Seen::Yes(vec![instance("i-0b", state)]);
        survey
    };
    for (state, code) in [
        (InstanceState::Running, "storage.volume-held"),
        (InstanceState::ShuttingDown, "storage.holder-ending"),
        (InstanceState::Terminated, "storage.holder-ending"),
        (InstanceState::Stopped, "storage.holder-stopped"),
    ] {
        let said = says("volumes.attached", &survey(state));
        assert!(
            said.starts_with("fail: vol-0m of main/a is attached to i-0b"),
            "{said}"
        );
        assert!(said.ends_with(&format!("[{code}]")), "{said}");
    }
}

#[test]
fn a_volume_that_is_attached_must_have_a_device() {
    let mut survey = well();
    survey.devices = Seen::Yes(vec![device("/dev/nvme1n1", "vol0m", "259:11", ext4())]);
    assert_eq!(
        says("volumes.attached", &survey),
        "fail: vol-0e of events/a is attached, and no device has its serial [storage.device-missing]"
    );
    let mut xen = device("/dev/xvdu", "", "202:1", ext4());
    xen.device.serial = None;
    survey.devices = Seen::Yes(vec![xen]);
    assert!(says("volumes.attached", &survey).starts_with("ok: "));
}

#[test]
fn a_volume_that_was_detached_from_a_ready_node_is_told() {
    let mut survey = well();
    survey.volumes = Seen::Yes(vec![
        volume("vol-0m", "main", None),
        volume("vol-0e", "events", None),
    ]);
    assert_eq!(
        says("volumes.attached", &survey),
        "fail: vol-0m of main/a is not attached any more, and free"
    );
}

#[test]
fn what_is_on_a_device_is_judged_by_the_gate() {
    let with = |contents: DeviceContents, change: fn(&mut VolumeFacts)| {
        let mut survey = well();
        if let Seen::Yes(volumes) = &mut survey.volumes {
            change(&mut volumes[0]);
        }
        if let Seen::Yes(devices) = &mut survey.devices {
            devices[0].contents = Some(contents);
        }
        says("volumes.contents", &survey)
    };
    let formatted = |volume: &mut VolumeFacts| {
        let at = "2026-11-01T00:00:00Z".to_owned();
        volume.tags.insert("quake.io/etcd-formatted".to_owned(), at);
    };
    let copied = |volume: &mut VolumeFacts| volume.snapshot_id = Some("snap-1".to_owned());
    let plain = |_: &mut VolumeFacts| ();
    let signature = || DeviceContents::Signature {
        name: "LVM2".to_owned(),
    };
    for (said, code) in [
        (
            with(DeviceContents::Blank, formatted),
            "storage.data-expected",
        ),
        (
            with(DeviceContents::Blank, copied),
            "storage.blank-from-snapshot",
        ),
        (with(signature(), plain), "storage.device-not-blank"),
        (
            with(DeviceContents::Unsigned { offset: 9 }, plain),
            "storage.data-unsigned",
        ),
    ] {
        assert!(
            said.starts_with("fail: vol-0m of main/a is not what"),
            "{said}"
        );
        assert!(said.ends_with(&format!("[{code}]")), "{said}");
    }
    assert!(
        with(DeviceContents::Blank, plain).starts_with("ok: "),
        "it is new"
    );
}

#[test]
fn a_volume_with_another_members_marker_is_told() {
    use quake_volumes::{Marker, Slot, Writer, identity};
    let mut survey = well();
    let marker = |slot: &str| {
        let slot: Slot = slot.parse().expect("a slot");
        let writer = Writer {
            agent: "1".to_owned(),
            instance_id: "i-0a".to_owned(),
            now: "2026-11-01T00:00:00Z".to_owned(),
        };
        Marker::new(identity(CLUSTER, "", &slot, "vol-0m"), writer, None, false).text()
    };
    let path = "/mnt/master-vol-0m/.quake-agent/volume.json";
    reads(&mut survey, path, &marker("main/a"));
    assert!(says("volumes.contents", &survey).starts_with("ok: "));
    reads(&mut survey, path, &marker("main/b"));
    assert!(says("volumes.contents", &survey).ends_with("[storage.foreign-member-data]"));
}

#[test]
fn other_faults_of_the_choice_are_told_too() {
    let mut shared = volume("vol-0m", "main", None);
    shared.multi_attach = true;
    let survey = early(vec![shared, volume("vol-0e", "events", None)]);
    assert_eq!(
        says("volumes.usable", &survey),
        "fail: vol-0m of main/a has Multi-Attach enabled [storage.multi-attach]"
    );
}

#[test]
fn mounts_are_counted_and_compared_with_their_devices() {
    let id = "volumes.mounted";
    let with = |from: &str, to: &str| {
        let mut survey = well();
        reads(
            &mut survey,
            "/proc/self/mountinfo",
            &MOUNTINFO.replace(from, to),
        );
        says(id, &survey)
    };
    assert_eq!(
        with("/mnt/master-vol-0e", "/srv/x"),
        "fail: 1 of 2 volumes of etcd are mounted [storage.mount-gone]"
    );
    assert_eq!(
        with("259:11 / /mnt", "259:21 / /mnt"),
        "fail: /dev/nvme1n1 at /mnt/master-vol-0m is another volume [storage.mount-occupied]"
    );
    assert_eq!(
        with("ext4 /dev/nvme1n1 rw", "ext4 /dev/nvme1n1 ro"),
        "fail: /mnt/master-vol-0m is mounted read-only"
    );
    let mut survey = early(Vec::new());
    assert!(says(id, &survey).starts_with("skip: the boot has not come"));
    survey = well();
    expected_of(&mut survey).etcd.truncate(1);
    assert!(says(id, &survey).starts_with("ok: "), "one more is no harm");
}

#[test]
fn a_volume_without_room_is_told_before_etcd_stops() {
    let with = |free: u64| {
        let mut survey = well();
        survey.spaces = Seen::Yes(vec![SpaceFacts {
            path: "/mnt/master-vol-0m".to_owned(),
            bytes: 1000,
            bytes_free: free,
            inodes: 10,
            inodes_free: 10,
            read_only: false,
        }]);
        says("volumes.space", &survey)
    };
    assert_eq!(with(500), "ok: 50 % of /mnt/master-vol-0m is free");
    assert_eq!(
        with(50),
        "warn: /mnt/master-vol-0m is almost full: 5.0 % is free"
    );
    assert_eq!(
        with(10),
        "fail: /mnt/master-vol-0m is almost full: 1.0 % is free"
    );
    assert!(says("volumes.space", &well()).starts_with("skip: "));
    assert!(says("volumes.space", &worker()).starts_with("skip: no member"));
}
