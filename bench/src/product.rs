//! Every world of one volume: its state, attachment, holder, Multi-Attach, zone, uid, age, the operator's word,
//! and local evidence.

use crate::worlds::three_members;
use quake_model::facts::{Attachment, AttachmentState, InstanceState, VolumeState};
use quake_model::time::Timestamp;
use quake_volumes::{ADOPT, IGNORE, PIN, Peer, UID, World};

const STATES: [VolumeState; 6] = [
    VolumeState::Creating,
    VolumeState::Available,
    VolumeState::InUse,
    VolumeState::Deleting,
    VolumeState::Deleted,
    VolumeState::Error,
];

const ATTACHMENTS: [AttachmentState; 5] = [
    AttachmentState::Attaching,
    AttachmentState::Attached,
    AttachmentState::Detaching,
    AttachmentState::Detached,
    AttachmentState::Busy,
];

/// A holder: its state, and whether it is of the same group; `None` where EC2 does not describe it.
const HOLDERS: [Option<(InstanceState, bool)>; 8] = [
    None,
    Some((InstanceState::Pending, true)),
    Some((InstanceState::Running, true)),
    Some((InstanceState::Running, false)),
    Some((InstanceState::ShuttingDown, true)),
    Some((InstanceState::Stopping, true)),
    Some((InstanceState::Stopped, true)),
    Some((InstanceState::Terminated, true)),
];

const HOLDER: &str = "i-other";

/// All of them: 62,208.
pub fn product() -> Vec<World> {
    let mut base = three_members();
    base.volumes.truncate(1);
    base.members
        .retain(|member| member.slot.member == "a" && member.slot.etcd == "main");
    let mut worlds = vec![base];
    worlds = each(&worlds, &STATES, |world, state| {
        world.volumes[0].state = *state;
    });
    worlds = worlds.iter().flat_map(held).collect();
    worlds = each(&worlds, &[false, true], |world, multi_attach| {
        world.volumes[0].multi_attach = *multi_attach;
    });
    worlds = each(&worlds, &["us-west-2a", "us-west-2b"], |world, zone| {
        world.volumes[0].zone = (*zone).to_owned();
    });
    worlds = each(
        &worlds,
        &[None, Some("this life"), Some("another life")],
        |world, uid| tag(world, UID, *uid),
    );
    worlds = each(&worlds, &[0, 600_000], |world, older| {
        let created = &mut world.volumes[0].created;
        *created = Timestamp(created.0.saturating_sub(*older));
    });
    let said = [
        None,
        Some((PIN, "main/a")),
        Some((IGNORE, "a reason")),
        Some((ADOPT, "this life")),
    ];
    worlds = each(&worlds, &said, |world, said| {
        if let Some((key, value)) = said {
            tag(world, key, Some(value));
        }
    });
    each(&worlds, &[false, true], |world, verified| {
        let id = world.volumes[0].volume_id.clone();
        world.verified.extend(verified.then_some(id));
    })
}

fn each<T>(worlds: &[World], values: &[T], set: impl Fn(&mut World, &T)) -> Vec<World> {
    let with = |world: &World, value: &T| {
        let mut world = world.clone();
        set(&mut world, value);
        world
    };
    let of_one = |world| values.iter().map(move |value| (world, value));
    let all = worlds.iter().flat_map(of_one);
    all.map(|(world, value)| with(world, value)).collect()
}

fn tag(world: &mut World, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        let tags = &mut world.volumes[0].tags;
        tags.insert(key.to_owned(), value.to_owned());
    }
}

/// The world with each attachment that its volume may have.
fn held(world: &World) -> Vec<World> {
    let mut worlds = vec![world.clone()];
    let attachment = |instance_id: &str, state: AttachmentState| Attachment {
        instance_id: instance_id.to_owned(),
        device_name: "/dev/xvdba".to_owned(),
        state,
        since: None,
        delete_on_termination: false,
    };
    let me = world.me.instance_id.as_str();
    for state in ATTACHMENTS {
        let mut ours = world.clone();
        ours.volumes[0].attachments = vec![attachment(me, state)];
        worlds.push(ours);
    }
    for holder in HOLDERS {
        let mut theirs = world.clone();
        theirs
            .instances
            .extend(
                holder.map(|(state, same_group)| Peer {
                    instance_id: HOLDER.to_owned(),
                    state,
                    instance_group: Some(world.me.instance_group.clone().unwrap_or_default())
                        .filter(|_| same_group),
                    ..world.me.clone()
                }),
            );
        for state in ATTACHMENTS {
            theirs.volumes[0].attachments = vec![attachment(HOLDER, state)];
            worlds.push(theirs.clone());
        }
        let both = [me, HOLDER].map(|id| attachment(id, AttachmentState::Attached));
        theirs.volumes[0].attachments = both.to_vec();
        worlds.push(theirs);
    }
    worlds
}
