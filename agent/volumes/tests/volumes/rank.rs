//! Which of several free members an instance takes: as many are left to others as are before it.

use crate::worlds::{CLUSTER, ME, member_volume, peer};
use quake_model::facts::{Attachment, AttachmentState, InstanceState, VolumeFacts, VolumeState};
use quake_model::time::Timestamp;
use quake_volumes::{ClusterGeneration, IGNORE, Member, Slot, World, select_volumes};
use std::collections::BTreeSet;

const OLDER: &str = "i-000";

fn volume(member: &str) -> VolumeFacts {
    let mut volume = member_volume(&format!("vol-{member}"), member);
    volume.created = Timestamp(1);
    volume
}

fn hold(volume: &mut VolumeFacts) {
    volume.state = VolumeState::InUse;
    volume.attachments = vec![Attachment {
        instance_id: OLDER.to_owned(),
        device_name: "/dev/xvdu".to_owned(),
        state: AttachmentState::Attached,
        since: None,
        delete_on_termination: false,
    }];
}

/// Two free members of one group, this instance, and one that is older.
fn world() -> World {
    let member = |name: &str| Member {
        slot: Slot::new("main", name),
        instance_group: Some("g1".to_owned()),
        zone: Some("z1".to_owned()),
        encrypted: false,
    };
    World {
        me: peer(ME, 2),
        instances: vec![peer(OLDER, 1), peer(ME, 2)],
        cluster: CLUSTER.to_owned(),
        cluster_generation: ClusterGeneration::default(),
        members: vec![member("a"), member("b")],
        volumes: vec![volume("a"), volume("b")],
        verified: BTreeSet::new(),
        intent: None,
        settled: true,
    }
}

/// The member that is taken after a change of the world.
fn taken(change: impl FnOnce(&mut World)) -> Option<String> {
    let mut world = world();
    change(&mut world);
    select_volumes(&world).member
}

#[test]
fn a_member_is_left_to_each_older_instance_of_the_group_and_zone_that_has_none() {
    assert_eq!(taken(|_| {}).as_deref(), Some("b"));
    let first = [
        taken(|world| world.instances[0].instance_group = Some("g2".to_owned())),
        taken(|world| "z2".clone_into(&mut world.instances[0].zone)),
        taken(|world| world.instances[0].state = InstanceState::Terminated),
        taken(|world| world.instances[0].launched = Timestamp(3)),
    ];
    assert_eq!(first.map(Option::unwrap_or_default), ["a"; 4]);
    let as_old = taken(|world| world.instances[0].launched = Timestamp(2));
    assert_eq!(as_old.as_deref(), Some("b"), "its id decides");
}

#[test]
fn to_an_older_instance_that_has_a_volume_no_other_member_is_left() {
    let holds = taken(|world| hold(&mut world.volumes[0]));
    assert_eq!(holds.as_deref(), Some("b"));
    let ignored = taken(|world| {
        let mut second = volume("a");
        second.volume_id = "vol-ignored".to_owned();
        second.tags.insert(IGNORE.to_owned(), "old".to_owned());
        hold(&mut second);
        world.volumes.push(second);
    });
    assert_eq!(ignored.as_deref(), Some("b"), "an ignored one is none");
}
