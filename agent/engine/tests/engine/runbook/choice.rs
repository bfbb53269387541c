//! Which volume the node takes: what stands in the way, and the tag or the call that clears it.

use super::{
    ALWAYS, EVENTS, MAIN, NOTHING, ends_until_mended, location, put_changed, strikes, volume,
    waits_until_mended, warns_until_mended,
};
use crate::common::EPOCH;
use quake_model::facts::{Attachment, AttachmentState, InstanceState, InstanceView, VolumeState};
use quake_model::fault::Code;
use quake_model::ports::Condition;
use quake_model::time::Timestamp;
use quake_testkit::region::{EtcdSlot, Region};
use quake_testkit::{SimHost, example};
use quake_volumes::{ADOPT, IGNORE, PIN, cluster_generation};

const ME: &str = "i-0123456789abcdef0";
const PEER: &str = "i-0fedcba9876543210";
const SECOND: &str = "vol-0cc";
const TAG: &str = "k8s.io/etcd/main";

/// A CA that was made at 2020-09-13, by its serial.
const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----
MIIBeDCCAR+gAwIBAgIMFjRXhdigAAAAAAAAMAoGCCqGSM49BAMCMBUxEzARBgNV
BAMMCmt1YmVybmV0ZXMwIBcNMjYxMTIyMDIzNjEwWhgPMjEyNjEwMjkwMjM2MTBa
MBUxEzARBgNVBAMMCmt1YmVybmV0ZXMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AAQLozaTh3Hc/re36rhSDeybqfKsAxAO8qwqYIG7qirshVxqPxHvwTD/x+/9znz4
HMG3tCvJC979w5Juk+jWrwTAo1MwUTAdBgNVHQ4EFgQUWzJbxhLI0eH2VmsVdHE0
lQOCja8wHwYDVR0jBBgwFoAUWzJbxhLI0eH2VmsVdHE0lQOCja8wDwYDVR0TAQH/
BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiAQCsmruT2bPtdBqKZBuaEHLEBza2Pu
zir5+3LQLH9l3QIgNGZ6ueqOKpYjyye/+A6W8bw+1nyFrfDXMkrUkTBMDfk=
-----END CERTIFICATE-----
";

fn tag(host: &SimHost, id: &str, key: &str, value: &str) {
    host.change(|region| {
        let tags = &mut volume(region, id).tags;
        tags.insert(key.to_owned(), value.to_owned());
    });
}

fn untag(host: &SimHost, id: &str, key: &str) {
    host.change(|region| volume(region, id).tags.remove(key));
}

fn add(host: &SimHost, volume_id: &str, etcd: &str, member: &str, members: &[&str]) {
    host.change(|region| {
        let slot = EtcdSlot {
            volume_id,
            etcd,
            member,
            members,
            created: EPOCH,
            encrypted: false,
        };
        region.add_etcd_volume(example::CLUSTER, &slot);
    });
}

fn remove(region: &mut Region, id: &str) {
    region.volumes.retain(|volume| volume.volume_id != id);
}

fn attach(host: &SimHost, id: &str, instance: &str) {
    host.change(|region| {
        let held = volume(region, id);
        held.state = VolumeState::InUse;
        held.attachments.push(Attachment {
            instance_id: instance.to_owned(),
            device_name: format!("/dev/xvdb{}", id.trim_start_matches("vol-0")),
            state: AttachmentState::Attached,
            since: Some(EPOCH),
            delete_on_termination: false,
        });
    });
}

/// What `aws ec2 detach-volume` does, or the end of the holder.
fn detach(host: &SimHost, id: &str, instance: &str) {
    host.change(|region| {
        let held = volume(region, id);
        held.attachments.retain(|a| a.instance_id != instance);
        if held.attachments.is_empty() {
            held.state = VolumeState::Available;
        }
    });
}

/// Another instance, of this group if any, that has `main`'s volume.
fn hold(host: &SimHost, state: InstanceState, group: Option<&str>) {
    attach(host, MAIN, PEER);
    let tag = |group: &str| ("kops.k8s.io/instancegroup".to_owned(), group.to_owned());
    host.change(|region| {
        region.instances.push(InstanceView {
            private_ip: String::new(),
            instance_id: PEER.to_owned(),
            state,
            launched: Timestamp(0),
            zone: region.instance.zone.clone(),
            tags: group.map(tag).into_iter().collect(),
            device_names: Vec::new(),
        });
    });
}

const RELEASED: fn(&SimHost) = |host| detach(host, MAIN, PEER);

/// Two members of each etcd cluster, both of this group.
fn two_members(host: &SimHost) {
    put_changed(host, "cluster.spec", |text| {
        let member = "    - instanceGroup: control-plane\n      name: a\n";
        text.replace(
            member,
            &format!("{member}{}", member.replace("name: a", "name: b")),
        )
    });
    tag(host, MAIN, TAG, "a/a,b");
    tag(host, EVENTS, "k8s.io/etcd/events", "a/a,b");
    add(host, SECOND, "main", "b", &["a", "b"]);
    add(host, "vol-0dd", "events", "b", &["a", "b"]);
}

fn restore_spec(host: &SimHost) {
    put_changed(host, "cluster.spec", str::to_owned);
}

#[tokio::test(start_paused = true)]
async fn what_only_an_operator_can_decide_is_taken_once_it_is_decided() {
    ends_until_mended(
        "control-plane",
        &[
            (
                Code::StorageVolumeConflict,
                |host| add(host, SECOND, "main", "a", &["a"]),
                |host| tag(host, MAIN, PIN, "main/a"),
            ),
            (
                Code::StorageSeveralPins,
                |host| {
                    add(host, SECOND, "main", "a", &["a"]);
                    tag(host, MAIN, PIN, "main/a");
                    tag(host, SECOND, PIN, "main/a");
                },
                |host| untag(host, SECOND, PIN),
            ),
            (
                Code::StorageVolumeStale,
                |host| {
                    host.put_object(&location("pki/issued/ca/1.crt"), AUTHORITY);
                    let before = Timestamp(1_590_000_000_000);
                    host.change(|region| volume(region, MAIN).created = before);
                },
                |host| {
                    let generation = cluster_generation(&[AUTHORITY.to_owned()], EPOCH);
                    tag(
                        host,
                        MAIN,
                        ADOPT,
                        &generation.current.expect("it has a key"),
                    );
                },
            ),
            (
                Code::StorageHeldByForeign,
                |host| hold(host, InstanceState::Running, Some("workers")),
                RELEASED,
            ),
            (
                Code::StorageSeveralAttachments,
                |host| {
                    attach(host, MAIN, ME);
                    hold(host, InstanceState::Running, Some("control-plane"));
                },
                RELEASED,
            ),
            (
                Code::StorageTwoMembers,
                |host| {
                    two_members(host);
                    attach(host, MAIN, ME);
                    attach(host, SECOND, ME);
                },
                |host| detach(host, SECOND, ME),
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_cannot_be_the_members_is_taken_or_replaced_once_it_is_put_right() {
    ends_until_mended(
        "control-plane",
        &[
            (
                Code::StorageVolumeElsewhere,
                |host| host.change(|region| volume(region, MAIN).zone = "us-test-1b".to_owned()),
                |host| {
                    tag(host, MAIN, IGNORE, "in another zone");
                    add(host, SECOND, "main", "a", &["a"]);
                },
            ),
            (
                Code::StorageMultiAttach,
                |host| host.change(|region| volume(region, MAIN).multi_attach = true),
                |host| host.change(|region| volume(region, MAIN).multi_attach = false),
            ),
            (
                Code::StorageTagMalformed,
                |host| tag(host, MAIN, TAG, "a"),
                |host| tag(host, MAIN, TAG, "a/a"),
            ),
            (
                Code::StorageSeveralRoles,
                |host| tag(host, MAIN, "k8s.io/etcd/events", "a/a"),
                |host| untag(host, MAIN, "k8s.io/etcd/events"),
            ),
            (
                Code::StorageNotEncrypted,
                |host| {
                    put_changed(host, "cluster.spec", |text| {
                        let member = "    - instanceGroup: control-plane\n      name: a\n";
                        let encrypted = member.replace("- ", "- encryptedVolume: true\n      ");
                        text.replacen(member, &encrypted, 1)
                    });
                },
                |host| {
                    tag(host, MAIN, IGNORE, "not encrypted");
                    add(host, SECOND, "main", "a", &["a"]);
                    host.change(|region| volume(region, SECOND).encrypted = true);
                },
            ),
            (
                Code::StorageNoMember,
                |host| {
                    put_changed(host, "cluster.spec", |text| {
                        text.replace("instanceGroup: control-plane", "instanceGroup: other")
                    });
                },
                restore_spec,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_ec2_does_not_allow_ends_the_boot_until_it_does() {
    ends_until_mended(
        "control-plane",
        &[
            (
                Code::StorageDescribeDenied,
                |host| strikes(host, "describe_volumes", ALWAYS, Condition::Denied),
                NOTHING,
            ),
            (
                Code::StorageAttachDenied,
                |host| strikes(host, "attach_volume", ALWAYS, Condition::Denied),
                NOTHING,
            ),
            (
                Code::StorageAttachLimit,
                |host| strikes(host, "attach_volume", ALWAYS, Condition::Limit),
                NOTHING,
            ),
            (
                Code::StorageKeyDenied,
                |host| host.lock_key(MAIN),
                |host| host.unlock_key(MAIN),
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_is_not_free_yet_is_taken_by_the_boot_that_waits() {
    waits_until_mended(
        "control-plane",
        &[
            (
                Code::StorageVolumeHeld,
                |host| hold(host, InstanceState::Running, Some("control-plane")),
                RELEASED,
            ),
            (
                Code::StorageHolderEnding,
                |host| hold(host, InstanceState::ShuttingDown, None),
                RELEASED,
            ),
            (
                Code::StorageHolderStopped,
                |host| hold(host, InstanceState::Stopped, Some("control-plane")),
                RELEASED,
            ),
            (
                Code::StorageHolderUnknown,
                |host| attach(host, MAIN, PEER),
                RELEASED,
            ),
            (
                Code::StorageVolumeMissing,
                |host| host.change(|region| remove(region, MAIN)),
                |host| add(host, MAIN, "main", "a", &["a"]),
            ),
            (
                Code::StorageVolumeBusy,
                |host| host.change(|region| volume(region, MAIN).state = VolumeState::Creating),
                |host| host.change(|region| volume(region, MAIN).state = VolumeState::Available),
            ),
            (
                Code::StorageViewInconsistent,
                |host| host.change(|region| volume(region, MAIN).state = VolumeState::InUse),
                |host| host.change(|region| volume(region, MAIN).state = VolumeState::Available),
            ),
            (
                Code::StorageAttachFailed,
                |host| strikes(host, "attach_volume", 1..=1, Condition::Conflict),
                NOTHING,
            ),
            (
                Code::StorageCloudUnreachable,
                |host| strikes(host, "describe_volumes", 1..=3, Condition::Unreachable),
                NOTHING,
            ),
            (
                Code::StorageDeviceMissing,
                |host| strikes(host, "list_devices", 1..=5, Condition::Missing),
                NOTHING,
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_node_of_two_members_warns_until_one_is_moved() {
    warns_until_mended(
        "control-plane",
        &[(
            Code::StorageSplitBundle,
            |host| {
                two_members(host);
                super::data::plant_ours(host, MAIN, "main/a");
                super::data::plant_ours(host, EVENTS, "events/a");
                super::data::plant_ours(host, "vol-0dd", "events/b");
                attach(host, MAIN, ME);
                attach(host, "vol-0dd", ME);
            },
            |host| {
                host.change(|region| region.mounts.clear());
                detach(host, "vol-0dd", ME);
            },
        )],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_surplus_volume_is_warned_of_until_it_is_ignored() {
    warns_until_mended(
        "control-plane",
        &[(
            Code::StorageSurplusVolumes,
            |host| {
                super::data::plant_ours(host, MAIN, "main/a");
                attach(host, MAIN, ME);
                add(host, SECOND, "main", "a", &["a"]);
            },
            |host| tag(host, SECOND, IGNORE, "a copy"),
        )],
    )
    .await;
}
