//! What is done about the volumes of a decision, and which members this node then runs.

use crate::observed::spec;
use crate::restore_members::{volume_of, world};
use quake_model::spec::Role;
use quake_model::step::Action;
use quake_volumes::{
    ViewRequest, has_slots, is_of_etcd, mounted_slots, select_volumes, steps, volume_steps,
};

#[test]
fn a_volume_that_is_chosen_is_attached_formatted_and_mounted_in_this_order() {
    let facts = world(true, 0);
    let requested = ViewRequest {
        instance_group: Some("master-b".to_owned()),
        instance_id: Some("i-b".to_owned()),
        ..ViewRequest::default()
    };
    let me = facts.viewpoints(&requested).remove(0);
    let seen = facts.world(&me);
    let volumes = volume_steps(&seen, &select_volumes(&seen), "uid", "/mnt");
    let [volume] = volumes.as_slice() else {
        panic!("{volumes:?}");
    };
    assert_eq!(volume.volume_id, "vol-b");
    assert_eq!(volume.mount_point, "/mnt/master-vol-b");
    let actions: Vec<Action> = steps(&volumes).into_iter().map(|it| it.action).collect();
    let wanted = [
        Action::AttachVolume(volume.clone()),
        Action::MakeFilesystem(volume.clone()),
        Action::MountVolume(volume.clone()),
    ];
    assert_eq!(actions, wanted);

    let mounted = mounted_slots(&seen, &volumes);
    let [slot] = mounted.as_slice() else {
        panic!("{mounted:?}");
    };
    assert_eq!((slot.cluster.as_str(), slot.member.as_str()), ("main", "b"));
    assert_eq!(slot.members, ["a", "b", "c"]);
    assert_eq!(slot.volume_id, "vol-b");
    let mut unknown = volumes.clone();
    unknown[0].volume_id = "vol-z".to_owned();
    assert_eq!(mounted_slots(&seen, &unknown), []);
}

#[test]
fn only_a_control_plane_with_an_etcd_cluster_runs_members() {
    let control_plane = spec(&["a"]);
    assert!(has_slots(&control_plane));
    let mut worker = control_plane.clone();
    worker.role = Role::Worker;
    assert!(!has_slots(&worker));
    let mut without = control_plane;
    without.etcd.clear();
    assert!(!has_slots(&without));
}

#[test]
fn a_volume_is_etcd_s_by_any_tag_of_etcd() {
    let mut volume = volume_of("a");
    assert!(is_of_etcd(&volume.tags));
    volume.tags.remove("k8s.io/etcd/main");
    assert!(!is_of_etcd(&volume.tags));
}
