//! An instance that holds volumes of two members is reported, whatever else is listed.

use crate::laws::outcome;
use crate::worlds::{CLUSTER, ME, bare_volume};
use quake_model::facts::{Attachment, AttachmentState, InstanceState, VolumeState};
use quake_model::time::Timestamp;
use quake_volumes::{ClusterGeneration, Member, Peer, Rule, Slot, World};
use std::collections::BTreeSet;

#[test]
fn a_tag_that_cannot_be_read_elsewhere_hides_no_second_member_that_is_here() {
    let here = |member: &str, state| {
        let mut volume = bare_volume();
        volume.volume_id = format!("vol-{member}");
        volume.zone = "z1".to_owned();
        volume.state = VolumeState::InUse;
        let value = format!("{member}/a,b");
        volume.tags.insert("k8s.io/etcd/main".to_owned(), value);
        volume.attachments = vec![Attachment {
            instance_id: ME.to_owned(),
            device_name: format!("/dev/xvdb{member}"),
            state,
            since: None,
            delete_on_termination: false,
        }];
        volume
    };
    let member = |member: &str| Member {
        slot: Slot::new("main", member),
        instance_group: Some("g1".to_owned()),
        zone: Some("z1".to_owned()),
        encrypted: false,
    };
    let me = Peer {
        instance_id: ME.to_owned(),
        state: InstanceState::Running,
        instance_group: Some("g1".to_owned()),
        zone: "z1".to_owned(),
        launched: Timestamp(0),
    };
    let mut world = World {
        instances: vec![me.clone()],
        me,
        cluster: CLUSTER.to_owned(),
        cluster_generation: ClusterGeneration::default(),
        members: vec![member("a"), member("b")],
        volumes: vec![
            here("a", AttachmentState::Attaching),
            here("b", AttachmentState::Attached),
        ],
        verified: BTreeSet::new(),
        intent: Some("b".to_owned()),
        settled: false,
    };
    let rule = |world: &World| outcome(world).node.map(|node| node.rule);
    assert_eq!(rule(&world), Some(Rule::HoldsTwoMembers));

    let mut typo = bare_volume();
    typo.tags
        .insert("k8s.io/etcd/other".to_owned(), "a".to_owned());
    world.volumes.push(typo);
    assert_eq!(rule(&world), Some(Rule::HoldsTwoMembers));
}
