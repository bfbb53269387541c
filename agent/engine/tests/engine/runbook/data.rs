//! What is on a volume: what is refused, and what an operator does about it.

use super::{
    ALWAYS, MAIN, NOTHING, ends_until_mended, location, strikes, volume, waits_until_mended,
    warns_until_mended,
};
use crate::common::EPOCH;
use quake_model::facts::{DeviceContents, InsideFacts, MountFacts};
use quake_model::fault::Code;
use quake_model::ports::Condition;
use quake_testkit::{SimHost, example};
use quake_volumes::{ADOPT, BLANK_OK, JOURNAL, Marker, Slot, Writer, consent, identity};

fn uid() -> String {
    format!("stand-in-for-{}", example::CLUSTER)
}

fn marker(uid: &str, slot: &str, volume_id: &str) -> InsideFacts {
    let slot: Slot = slot.parse().expect("a literal");
    let writer = Writer {
        agent: "0.0.0".to_owned(),
        instance_id: "i-0b".to_owned(),
        now: EPOCH.to_string(),
    };
    let identity = identity(example::CLUSTER, uid, &slot, volume_id);
    InsideFacts {
        marker: Some(Marker::new(identity, writer, None, false).text()),
        ..InsideFacts::default()
    }
}

/// An ext4 filesystem of 10 GiB with this inside; the volumes have 20.
fn plant(host: &SimHost, id: &str, inside: InsideFacts) {
    host.change(|region| {
        let filesystem = DeviceContents::Filesystem {
            name: "ext4".to_owned(),
            uuid: Some("11111111-2222-3333-4444-555555555555".to_owned()),
            label: None,
            size_bytes: Some(10 << 30),
        };
        region.contents.insert(id.to_owned(), filesystem);
        region.inside.insert(id.to_owned(), inside);
    });
}

/// A filesystem that carries this cluster's marker for the slot.
pub(super) fn plant_ours(host: &SimHost, id: &str, slot: &str) {
    plant(host, id, marker(&uid(), slot, id));
}

fn write(host: &SimHost, contents: DeviceContents) {
    host.change(|region| region.contents.insert(MAIN.to_owned(), contents));
}

/// `wipefs` by hand on another instance, or another volume.
const WIPED: fn(&SimHost) = |host| write(host, DeviceContents::Blank);

/// `e2fsck` by hand, or a restored snapshot.
const RESTORED: fn(&SimHost) = |host| plant_ours(host, MAIN, "main/a");

const ADOPTED: fn(&SimHost) = |host| {
    host.change(|region| volume(region, MAIN).tags.insert(ADOPT.to_owned(), uid()));
};

#[tokio::test(start_paused = true)]
async fn a_device_that_carries_anything_else_is_used_once_someone_emptied_or_restored_it() {
    ends_until_mended(
        "control-plane",
        &[
            (
                Code::StorageDeviceNotBlank,
                |host| {
                    let name = "lvm2".to_owned();
                    write(host, DeviceContents::Signature { name });
                },
                WIPED,
            ),
            (
                Code::StorageSignatureAmbiguous,
                |host| {
                    let names = vec!["xfs".to_owned(), "swap".to_owned()];
                    write(host, DeviceContents::Ambiguous { names });
                },
                WIPED,
            ),
            (
                Code::StorageDataUnsigned,
                |host| write(host, DeviceContents::Unsigned { offset: 512 }),
                WIPED,
            ),
            (
                Code::StorageFilesystemUnusable,
                |host| {
                    let (name, uuid) = ("ext4".to_owned(), None);
                    write(host, DeviceContents::Damaged { name, uuid });
                },
                RESTORED,
            ),
            (
                Code::StorageDeviceUnreadable,
                |host| strikes(host, "probe_device", ALWAYS, Condition::Io),
                NOTHING,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_filesystem_of_unknown_past_is_mounted_once_it_is_adopted() {
    ends_until_mended(
        "control-plane",
        &[
            (
                Code::StorageForeignClusterData,
                |host| plant(host, MAIN, marker("ffff", "main/a", MAIN)),
                ADOPTED,
            ),
            (
                Code::StorageVolumeCloned,
                |host| plant(host, MAIN, marker(&uid(), "main/a", "vol-0ee")),
                ADOPTED,
            ),
            (
                Code::StorageForeignMemberData,
                |host| plant_ours(host, MAIN, "main/b"),
                RESTORED,
            ),
            (
                Code::StorageLegacyUnproven,
                |host| {
                    let etcd_data = vec!["var/etcd/data/member".to_owned()];
                    let inside = InsideFacts {
                        etcd_data,
                        ..InsideFacts::default()
                    };
                    plant(host, MAIN, inside);
                },
                ADOPTED,
            ),
            (
                Code::StorageFilesystemUnproven,
                |host| plant(host, MAIN, InsideFacts::default()),
                ADOPTED,
            ),
            (
                Code::StorageMarkerMissing,
                |host| {
                    let others = vec!["photos".to_owned()];
                    let inside = InsideFacts {
                        others,
                        ..InsideFacts::default()
                    };
                    plant(host, MAIN, inside);
                },
                ADOPTED,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_volume_is_formatted_once_an_operator_consents() {
    ends_until_mended(
        "control-plane",
        &[
            (
                Code::StorageDataExpected,
                |host| {
                    let backup = "backups/etcd/main/2024-05-06T07:08:09Z-000001/_etcd_backup.meta";
                    host.put_object(&location(backup), "{}");
                },
                |host| {
                    let given = consent(&Slot::new("main", "a"), EPOCH);
                    host.change(|region| {
                        volume(region, MAIN).tags.insert(BLANK_OK.to_owned(), given)
                    });
                },
            ),
            (
                Code::StorageBlankFromSnapshot,
                |host| {
                    let snapshot = Some("snap-0a".to_owned());
                    host.change(|region| volume(region, MAIN).snapshot_id = snapshot);
                },
                |host| host.change(|region| volume(region, MAIN).snapshot_id = None),
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_could_not_format_check_or_mount_does_so_at_the_next_start() {
    ends_until_mended(
        "control-plane",
        &[
            (
                Code::StorageFormatFailed,
                |host| strikes(host, "make_filesystem", ALWAYS, Condition::Missing),
                NOTHING,
            ),
            (
                Code::StorageCheckFailed,
                |host| strikes(host, "check_filesystem", ALWAYS, Condition::Missing),
                NOTHING,
            ),
            (
                Code::StorageMountFailed,
                |host| strikes(host, "mount_device", ALWAYS, Condition::Io),
                NOTHING,
            ),
            (
                Code::StorageMountOccupied,
                |host| {
                    host.change(|region| {
                        region.mounts.push(MountFacts {
                            source: "/dev/sdz".to_owned(),
                            target: format!("/mnt/master-{MAIN}"),
                            filesystem: "ext4".to_owned(),
                            number: "8:240".to_owned(),
                        });
                    });
                },
                |host| {
                    host.change(|region| region.mounts.retain(|mount| mount.source != "/dev/sdz"));
                },
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_does_not_stop_etcd_is_warned_of_and_done_at_the_next_start() {
    warns_until_mended(
        "control-plane",
        &[
            (
                Code::StorageGrowFailed,
                |host| {
                    plant_ours(host, MAIN, "main/a");
                    strikes(host, "grow_filesystem", ALWAYS, Condition::Missing);
                },
                NOTHING,
            ),
            (
                Code::StorageFilesystemRepaired,
                |host| {
                    plant_ours(host, MAIN, "main/a");
                    host.scratch_filesystem(MAIN);
                },
                NOTHING,
            ),
            (
                Code::StorageTagDenied,
                |host| strikes(host, "tag_volume", ALWAYS, Condition::Denied),
                NOTHING,
            ),
            (
                Code::StorageJournalUnusable,
                |host| host.put_file(JOURNAL, "{"),
                NOTHING,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_device_that_another_program_has_is_waited_for() {
    waits_until_mended(
        "control-plane",
        &[(
            Code::StorageVolumeBusy,
            |host| strikes(host, "make_filesystem", 1..=3, Condition::Conflict),
            NOTHING,
        )],
    )
    .await;
}
