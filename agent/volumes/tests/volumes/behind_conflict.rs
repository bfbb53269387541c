//! An instance for which no member is free because one is refused names the way out: to wait for another instance is none.

use crate::worlds::{CLUSTER, ME, member_volume as volume, peer};
use quake_model::facts::{Attachment, AttachmentState, VolumeState};
use quake_model::fault::Code;
use quake_volumes::{ClusterGeneration, Member, Slot, World, decision_fault, select_volumes};
use std::collections::BTreeSet;

const PEER: &str = "i-peer";

#[test]
fn a_member_that_is_refused_for_two_volumes_is_named_to_who_waits_behind_it() {
    let mut held = volume("vol-a", "a");
    held.state = VolumeState::InUse;
    held.attachments = vec![Attachment {
        instance_id: PEER.to_owned(),
        device_name: "/dev/xvdba".to_owned(),
        state: AttachmentState::Attached,
        since: None,
        delete_on_termination: false,
    }];
    let member = |member: &str| Member {
        slot: Slot::new("main", member),
        instance_group: Some("g1".to_owned()),
        zone: Some("z1".to_owned()),
        encrypted: false,
    };
    let me = peer(ME, 2);
    let world = World {
        instances: vec![me.clone(), peer(PEER, 1)],
        me,
        cluster: CLUSTER.to_owned(),
        cluster_generation: ClusterGeneration::default(),
        members: vec![member("a"), member("b")],
        volumes: vec![held, volume("vol-b", "b"), volume("vol-b2", "b")],
        verified: BTreeSet::new(),
        intent: None,
        settled: true,
    };
    let decision = select_volumes(&world);
    let fault = decision_fault(&world, &decision).expect("it cannot go on");
    assert_eq!(fault.code, Code::StorageVolumeHeld);
    let remedy = fault.remedy_text();
    for words in ["vol-b vol-b2", "volumes ignore", "volumes explain"] {
        assert!(remedy.contains(words), "{remedy}");
    }
    assert!(!remedy.contains("vol-a"), "{remedy}");
}
