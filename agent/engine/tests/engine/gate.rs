//! The gate before a volume's data: what is mounted, what is formatted, and what is left as it is.

use crate::common::{EPOCH, failing_boot, host, request, run, strike};
use quake_model::facts::{
    Attachment, AttachmentState, DeviceContents, InsideFacts, MountFacts, VolumeFacts, VolumeState,
};
use quake_model::fault::Code;
use quake_model::ports::Condition;
use quake_model::time::Timestamp;
use quake_testkit::region::{EtcdSlot, Region};
use quake_testkit::{Script, SimHost, Timing, example};
use quake_volumes::{
    ADOPT, BLANK_OK, FORMATTED, IGNORE, Marker, Slot, UID, Writer, consent, identity,
};
use std::sync::Arc;

const MAIN: &str = "vol-0aa";

fn volume<'a>(region: &'a mut Region, id: &str) -> &'a mut VolumeFacts {
    let mut volumes = region.volumes.iter_mut();
    volumes
        .find(|volume| volume.volume_id == id)
        .expect("it is there")
}

fn uid() -> String {
    format!("stand-in-for-{}", example::CLUSTER)
}

fn marker(uid: &str, slot: &str, volume_id: &str) -> String {
    let slot: Slot = slot.parse().expect("a literal");
    let writer = Writer {
        agent: "0.0.0".to_owned(),
        instance_id: "i-0b".to_owned(),
        now: EPOCH.to_string(),
    };
    Marker::new(
        identity(example::CLUSTER, uid, &slot, volume_id),
        writer,
        None,
        false,
    )
    .text()
}

/// An ext4 filesystem with this inside, on `main`'s volume.
fn plant(host: &Arc<SimHost>, inside: InsideFacts) {
    host.change(|region| {
        let filesystem = DeviceContents::Filesystem {
            name: "ext4".to_owned(),
            uuid: Some("11111111-2222-3333-4444-555555555555".to_owned()),
            label: None,
            size_bytes: Some(20 << 30),
        };
        region.contents.insert(MAIN.to_owned(), filesystem);
        region.inside.insert(MAIN.to_owned(), inside);
    });
}

fn with_marker(text: String) -> InsideFacts {
    InsideFacts {
        marker: Some(text),
        ..InsideFacts::default()
    }
}

#[tokio::test(start_paused = true)]
async fn what_carries_anything_else_is_left_as_it_is() {
    let named = |name: &str| DeviceContents::Filesystem {
        name: name.to_owned(),
        uuid: None,
        label: None,
        size_bytes: None,
    };
    let lvm = DeviceContents::Signature {
        name: "lvm2".to_owned(),
    };
    let several = DeviceContents::Ambiguous {
        names: vec!["xfs".to_owned(), "swap".to_owned()],
    };
    let damaged = DeviceContents::Damaged {
        name: "ext4".to_owned(),
        uuid: None,
    };
    for (contents, code) in [
        (named("xfs"), Code::StorageDeviceNotBlank),
        (lvm, Code::StorageDeviceNotBlank),
        (several, Code::StorageSignatureAmbiguous),
        (damaged, Code::StorageFilesystemUnusable),
        (
            DeviceContents::Unsigned { offset: 512 },
            Code::StorageDataUnsigned,
        ),
    ] {
        let host = host("control-plane", Timing::default());
        host.change(|region| region.contents.insert(MAIN.to_owned(), contents.clone()));
        let (fault, record) = failing_boot(&host, &request("control-plane")).await;
        assert_eq!(
            (fault.code, record.exit_status()),
            (code, 80),
            "{contents:?}"
        );
        let region = host.region();
        assert_eq!(region.contents[MAIN], contents);
        assert!(region.mounts.is_empty(), "{contents:?}");
    }
}

/// What may be inside, the code of its refusal, and whether an operator's word lets it in.
fn not_provably_ours() -> [(InsideFacts, Code, bool); 6] {
    let data = InsideFacts {
        etcd_data: vec!["var/etcd/data/member".to_owned()],
        ..InsideFacts::default()
    };
    let others = InsideFacts {
        others: vec!["photos".to_owned()],
        ..InsideFacts::default()
    };
    let marked = |uid: &str, slot: &str, volume: &str| with_marker(marker(uid, slot, volume));
    [
        (
            marked("ffff", "main/a", MAIN),
            Code::StorageForeignClusterData,
            true,
        ),
        (
            marked(&uid(), "main/a", "vol-0ee"),
            Code::StorageVolumeCloned,
            true,
        ),
        (
            marked(&uid(), "main/b", MAIN),
            Code::StorageForeignMemberData,
            false,
        ),
        (data, Code::StorageLegacyUnproven, true),
        (
            InsideFacts::default(),
            Code::StorageFilesystemUnproven,
            true,
        ),
        (others, Code::StorageMarkerMissing, true),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_filesystem_that_is_not_provably_ours_is_refused_and_an_operators_word_lets_it_in() {
    for (inside, code, adoptable) in not_provably_ours() {
        let host = host("control-plane", Timing::default());
        plant(&host, inside.clone());
        let (fault, _) = failing_boot(&host, &request("control-plane")).await;
        assert_eq!(fault.code, code);
        assert_eq!(host.region().inside[MAIN], inside, "nothing was written");
        host.change(|region| {
            volume(region, MAIN).tags.insert(ADOPT.to_owned(), uid());
        });
        host.next_boot(Script::default());
        let (verdict, _) = run(&host, &request("control-plane")).await;
        assert_eq!(
            verdict.fault.is_none(),
            adoptable,
            "{code} {:?}",
            verdict.fault
        );
        let text = host.region().inside[MAIN]
            .marker
            .clone()
            .unwrap_or_default();
        let kept = Marker::read(&text).is_some_and(|marker| marker.identity.slot == "main/a");
        assert_eq!(kept, adoptable, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_marked_volume_is_mounted_again_after_a_reboot_and_tagged() {
    let host = host("control-plane", Timing::default());
    run(&host, &request("control-plane")).await;
    let marked = host.region().inside[MAIN].clone();
    assert_eq!(volume(&mut host.region(), MAIN).tags.get(UID), Some(&uid()));
    assert!(
        volume(&mut host.region(), MAIN)
            .tags
            .contains_key(FORMATTED)
    );
    host.change(|region| region.mounts.clear());
    host.next_boot(Script::default());
    let (verdict, _) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    let region = host.region();
    assert_eq!((&region.inside[MAIN], region.mounts.len()), (&marked, 2));
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_grew_gets_its_filesystem_grown() {
    let host = host("control-plane", Timing::default());
    run(&host, &request("control-plane")).await;
    host.change(|region| volume(region, MAIN).size_gib = 40);
    host.next_boot(Script::default());
    run(&host, &request("control-plane")).await;
    let region = host.region();
    let DeviceContents::Filesystem { size_bytes, .. } = &region.contents[MAIN] else {
        unreachable!("it carries a filesystem");
    };
    assert_eq!(*size_bytes, Some(40 << 30));
}

/// A second member of `main`, on a volume that was used before the first one's was made.
fn plant_peer(region: &mut Region) {
    let slot = EtcdSlot {
        volume_id: "vol-0dd",
        etcd: "main",
        member: "b",
        members: &["a", "b"],
        created: Timestamp(0),
        encrypted: false,
    };
    region.add_etcd_volume(example::CLUSTER, &slot);
    let peer = volume(region, "vol-0dd");
    peer.zone = "us-test-1b".to_owned();
    peer.state = VolumeState::InUse;
    peer.attachments.push(Attachment {
        instance_id: "i-0b".to_owned(),
        device_name: "/dev/xvdbz".to_owned(),
        state: AttachmentState::Attached,
        since: Some(Timestamp(1000)),
        delete_on_termination: false,
    });
}

type Prepare = fn(&Arc<SimHost>);

/// Reasons to expect data where there is none.
const EXPECTATIONS: [Prepare; 3] = [
    |host| {
        let name = "backups/etcd/main/2024-05-06T07:08:09Z-000001/_etcd_backup.meta";
        host.put_object(&format!("{}/{name}", example_base()), "{}");
    },
    |host| host.change(plant_peer),
    |host| {
        host.change(|region| {
            volume(region, MAIN).tags.insert(UID.to_owned(), uid());
        });
    },
];

fn example_base() -> String {
    let objects = example::objects();
    let (location, _) = objects.first().expect("the example has objects");
    let end = location
        .find(example::CLUSTER)
        .expect("it is below the cluster");
    location[..end + example::CLUSTER.len()].to_owned()
}

#[tokio::test(start_paused = true)]
async fn an_empty_volume_where_data_is_expected_is_refused_with_the_way_back() {
    for (index, prepare) in EXPECTATIONS.into_iter().enumerate() {
        let host = host("control-plane", Timing::default());
        prepare(&host);
        let (fault, record) = failing_boot(&host, &request("control-plane")).await;
        assert_eq!(
            (fault.code, record.exit_status()),
            (Code::StorageDataExpected, 80),
            "{index}: {fault}"
        );
        assert!(
            fault.evidence_named("expected because").is_some(),
            "{index}"
        );
        assert!(
            fault
                .remedy_text()
                .contains("volumes wipe vol-0aa --slot main/a"),
            "{}",
            fault.remedy_text()
        );
        assert_eq!(
            host.region().contents[MAIN],
            DeviceContents::Blank,
            "{index}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_operators_consent_to_an_empty_volume_is_honoured_once() {
    for (index, prepare) in EXPECTATIONS.into_iter().enumerate() {
        let host = host("control-plane", Timing::default());
        prepare(&host);
        host.change(|region| {
            let given = consent(&Slot::new("main", "a"), EPOCH);
            volume(region, MAIN).tags.insert(BLANK_OK.to_owned(), given);
        });
        let (verdict, _) = run(&host, &request("control-plane")).await;
        assert_eq!(verdict.fault, None, "{index}");
        assert!(
            !volume(&mut host.region(), MAIN).tags.contains_key(BLANK_OK),
            "{index}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_operators_flag_is_a_consent_too() {
    let host = host("control-plane", Timing::default());
    EXPECTATIONS[0](&host);
    let mut request = request("control-plane");
    request.empty_slots = vec!["main/a".to_owned()];
    let (verdict, _) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
}

#[tokio::test(start_paused = true)]
async fn a_first_start_of_several_members_is_not_taken_for_a_loss() {
    let host = host("control-plane", Timing::default());
    // The peer began after all volumes were made, as at a cluster's first start.
    host.change(|region| {
        plant_peer(region);
        volume(region, "vol-0dd").attachments[0].since = Some(Timestamp(EPOCH.0 + 1));
    });
    let (verdict, _) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
}

#[tokio::test(start_paused = true)]
async fn another_volume_of_the_slot_that_had_its_data_is_not_forgotten() {
    // It lost its role tag, or an operator set it aside: either way the new one is not a first start.
    for lost in ["k8s.io/role/master", ""] {
        let host = host("control-plane", Timing::default());
        host.change(|region| {
            let slot = EtcdSlot {
                volume_id: "vol-0old",
                etcd: "main",
                member: "a",
                members: &["a"],
                created: EPOCH,
                encrypted: false,
            };
            region.add_etcd_volume(example::CLUSTER, &slot);
            let tags = &mut volume(region, "vol-0old").tags;
            tags.insert(UID.to_owned(), uid());
            match lost {
                "" => tags.insert(IGNORE.to_owned(), "by mistake".to_owned()),
                tag => tags.remove(tag),
            };
        });
        let (fault, _) = failing_boot(&host, &request("control-plane")).await;
        assert_eq!(fault.code, Code::StorageDataExpected, "{lost}");
        assert!(
            fault.remedy_text().contains("vol-0old"),
            "{}",
            fault.remedy_text()
        );
        assert_eq!(host.region().contents[MAIN], DeviceContents::Blank);
    }
}

#[tokio::test(start_paused = true)]
async fn a_mount_point_that_something_else_has_is_refused() {
    let host = host("control-plane", Timing::default());
    host.change(|region| {
        region.mounts.push(MountFacts {
            source: "/dev/sdz".to_owned(),
            target: format!("/mnt/master-{MAIN}"),
            filesystem: "ext4".to_owned(),
            number: "8:240".to_owned(),
        });
    });
    let (fault, record) = failing_boot(&host, &request("control-plane")).await;
    assert_eq!(
        (fault.code, record.exit_status()),
        (Code::StorageMountOccupied, 80)
    );
}

#[tokio::test(start_paused = true)]
async fn one_failed_read_of_a_disk_does_not_end_the_boot() {
    for operation in [
        "probe_device",
        "look_inside",
        "mount_device",
        "write_marker",
    ] {
        let host = host("control-plane", Timing::default());
        host.next_boot(Script::new(vec![strike(operation, 1..=1, Condition::Io)]));
        let (verdict, _) = run(&host, &request("control-plane")).await;
        assert_eq!(verdict.fault, None, "{operation}");
    }
}
