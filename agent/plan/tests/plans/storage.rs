//! Which volumes are chosen, and that no order of the facts changes it.

use crate::nodes;
use proptest::prelude::*;
use quake_model::facts::{
    Attachment, AttachmentState, InstanceFacts, InstanceState, InstanceView, VolumeFacts,
    VolumeState,
};
use quake_model::fault::{Class, Code, Fault};
use quake_model::spec::NodeSpec;
use quake_model::step::VolumeStep;
use quake_model::time::Timestamp;
use quake_plan::lint::lint;
use quake_plan::storage;

const ME: &str = "i-0123456789abcdef0";
const OTHER: &str = "i-0fffffffffffffff0";

fn spec() -> NodeSpec {
    nodes::control_plane_kubenet().spec
}

/// A spec of three members in one zone, which does not say who runs which.
fn spec_without_owners() -> NodeSpec {
    let mut spec = spec();
    for cluster in &mut spec.etcd {
        cluster.members.clear();
    }
    spec
}

fn me() -> InstanceFacts {
    nodes::control_plane_kubenet().known.instance
}

fn volume(id: &str, etcd: &str, tag: &str) -> VolumeFacts {
    let tags = [
        ("KubernetesCluster", "test.example.com"),
        ("k8s.io/role/master", "1"),
        (&format!("k8s.io/etcd/{etcd}"), tag),
    ];
    VolumeFacts {
        volume_id: id.to_owned(),
        zone: "us-west-2a".to_owned(),
        state: VolumeState::Available,
        size_gib: 20,
        created: Timestamp(1_577_959_932_000),
        encrypted: false,
        multi_attach: false,
        snapshot_id: None,
        tags: tags
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        attachments: Vec::new(),
    }
}

fn attached(mut volume: VolumeFacts, instance: &str, state: AttachmentState) -> VolumeFacts {
    volume.state = VolumeState::InUse;
    volume.attachments.push(Attachment {
        instance_id: instance.to_owned(),
        device_name: "/dev/xvdu".to_owned(),
        state,
    });
    volume
}

fn view(id: &str, state: InstanceState, names: &[&str]) -> InstanceView {
    InstanceView {
        instance_id: id.to_owned(),
        state,
        launched: Timestamp(1_577_959_932_000),
        tags: [].into(),
        device_names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn views() -> Vec<InstanceView> {
    vec![
        view(ME, InstanceState::Running, &["/dev/xvda", "/dev/xvdba"]),
        view(OTHER, InstanceState::ShuttingDown, &["/dev/xvda"]),
    ]
}

fn pair() -> Vec<VolumeFacts> {
    vec![
        volume("vol-0m", "main", "a/a"),
        volume("vol-0e", "events", "a/a"),
    ]
}

fn select(spec: &NodeSpec, volumes: &[VolumeFacts]) -> Result<Vec<VolumeStep>, Fault> {
    storage::select_volumes(spec, &me(), volumes, &views())
}

fn code(volumes: &[VolumeFacts]) -> Code {
    select(&spec(), volumes)
        .expect_err("nothing may be chosen")
        .code
}

#[test]
fn one_volume_for_each_cluster_is_used_main_first() {
    let mut volumes = pair();
    volumes.reverse();
    let chosen = select(&spec(), &volumes).expect("both are free");
    let main = VolumeStep {
        slot: "main/a".to_owned(),
        volume_id: "vol-0m".to_owned(),
        device_name: "/dev/xvdbb".to_owned(),
        mount_point: "/mnt/master-vol-0m".to_owned(),
        label: "qk-main-a".to_owned(),
    };
    assert_eq!(chosen[0], main, "xvdba is taken by another device");
    assert_eq!(
        (chosen[1].slot.as_str(), chosen[1].device_name.as_str()),
        ("events/a", "/dev/xvdbc")
    );
    let slots = storage::mounted_slots(&chosen, &volumes);
    assert_eq!(
        (slots[0].member.as_str(), slots[0].members.as_slice()),
        ("a", ["a".to_owned()].as_slice())
    );
    let steps = storage::steps(&chosen);
    let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    let wanted = [
        "attach/main/a",
        "filesystem/main/a",
        "mount/main/a",
        "attach/events/a",
    ];
    assert_eq!(ids[..4], wanted.map(|id| format!("storage:{id}")));
    assert_eq!(lint(&steps), Vec::<String>::new());
}

#[test]
fn a_worker_wants_no_volume() {
    let worker = nodes::worker_cni().spec;
    assert_eq!(select(&worker, &pair()), Ok(Vec::new()));
}

#[test]
fn two_volumes_for_one_member_are_refused_and_both_are_named() {
    let mut volumes = pair();
    let mut second = volume("vol-0n", "main", "a/a");
    second.created = Timestamp(1_600_000_000_000);
    volumes.insert(0, second);
    let fault = select(&spec(), &volumes).expect_err("an operator must choose");
    assert_eq!(
        (fault.code, fault.class()),
        (Code::StorageVolumeConflict, Class::Refused)
    );
    let wanted = "several volumes claim one etcd member: \
                  vol-0m (available, us-west-2a, created 2020-01-02T10:12:12.000Z) for main/a, \
                  vol-0n (available, us-west-2a, created 2020-09-13T12:26:40.000Z) for main/a; nothing was attached";
    assert_eq!(fault.summary, wanted);
}

#[test]
fn a_duplicate_is_refused_even_if_only_one_is_free() {
    let mut volumes = pair();
    volumes.push(attached(
        volume("vol-0n", "main", "a/a"),
        OTHER,
        AttachmentState::Attached,
    ));
    assert_eq!(code(&volumes), Code::StorageVolumeConflict);
}

#[test]
fn a_duplicate_that_is_being_deleted_is_waited_for() {
    let mut volumes = pair();
    let mut going = volume("vol-0n", "main", "a/a");
    going.state = VolumeState::Deleting;
    volumes.push(going);
    assert_eq!(code(&volumes), Code::StorageVolumeBusy);
}

#[test]
fn a_volume_already_here_is_kept_whatever_else_there_is() {
    let mut volumes = pair();
    volumes[0] = attached(volumes[0].clone(), ME, AttachmentState::Attached);
    volumes.push(volume("vol-00", "main", "a/a"));
    let chosen = select(&spec(), &volumes).expect("the attached one is used");
    assert_eq!(
        (chosen[0].volume_id.as_str(), chosen[0].device_name.as_str()),
        ("vol-0m", "/dev/xvdu")
    );
}

#[test]
fn a_volume_in_another_zone_is_never_chosen() {
    let mut volumes = pair();
    volumes[0].zone = "us-west-2b".to_owned();
    let fault = select(&spec(), &volumes).expect_err("it cannot be attached");
    assert_eq!(fault.code, Code::StorageVolumeElsewhere);
    assert_eq!(
        fault.summary,
        "volume vol-0m of etcd main/a is in us-west-2b, and this instance is in us-west-2a"
    );
}

#[test]
fn an_absent_volume_is_waited_for_and_near_misses_are_named() {
    let mut volumes = pair();
    volumes[0].tags.remove("k8s.io/role/master");
    let fault = select(&spec(), &volumes).expect_err("there is none");
    assert_eq!(
        (fault.code, fault.class()),
        (Code::StorageVolumeMissing, Class::NotYet)
    );
    let miss = fault.evidence_named("near miss").expect("it is named");
    assert!(
        miss.contains("vol-0m") && miss.contains("it has no tag k8s.io/role/master"),
        "{miss}"
    );
}

#[test]
fn a_volume_of_another_cluster_is_never_chosen() {
    let mut volumes = pair();
    volumes[0].tags.insert(
        "KubernetesCluster".to_owned(),
        "other.example.com".to_owned(),
    );
    assert_eq!(code(&volumes), Code::StorageVolumeMissing);
    volumes[0].tags.remove("KubernetesCluster");
    let owned = "kubernetes.io/cluster/test.example.com".to_owned();
    volumes[0].tags.insert(owned.clone(), "shared".to_owned());
    assert_eq!(code(&volumes), Code::StorageVolumeMissing);
    volumes[0].tags.insert(owned, "owned".to_owned());
    assert!(select(&spec(), &volumes).is_ok());
}

#[test]
fn a_held_volume_is_waited_for_and_its_holder_is_named() {
    let mut volumes = pair();
    volumes[0] = attached(volumes[0].clone(), OTHER, AttachmentState::Attached);
    let fault = select(&spec(), &volumes).expect_err("another has it");
    assert_eq!(fault.code, Code::StorageVolumeHeld);
    let wanted = format!("volume vol-0m of main/a is attached to {OTHER}, which is shutting-down");
    assert_eq!(fault.summary, wanted);
}

#[test]
fn a_volume_between_two_states_is_waited_for() {
    for state in [
        VolumeState::Creating,
        VolumeState::Deleting,
        VolumeState::Error,
        VolumeState::InUse,
    ] {
        let mut volumes = pair();
        volumes[0].state = state;
        assert_eq!(code(&volumes), Code::StorageVolumeBusy, "{state:?}");
    }
    for state in [
        AttachmentState::Attaching,
        AttachmentState::Detaching,
        AttachmentState::Busy,
    ] {
        let mut volumes = pair();
        volumes[0] = attached(volumes[0].clone(), ME, state);
        assert_eq!(code(&volumes), Code::StorageVolumeBusy, "{state:?}");
    }
}

#[test]
fn a_multi_attach_volume_and_a_malformed_tag_are_refused() {
    let mut volumes = pair();
    volumes[1].multi_attach = true;
    assert_eq!(code(&volumes), Code::StorageMultiAttach);
    let mut volumes = pair();
    volumes[1]
        .tags
        .insert("k8s.io/etcd/events".to_owned(), "a".to_owned());
    assert_eq!(code(&volumes), Code::StorageTagMalformed);
}

#[test]
fn a_member_of_another_instance_group_is_not_ours() {
    let volumes = [
        volume("vol-0m", "main", "b/a,b"),
        volume("vol-0e", "events", "b/a,b"),
    ];
    assert_eq!(code(&volumes), Code::StorageVolumeMissing);
}

#[test]
fn main_and_events_are_never_of_two_members() {
    let volumes = [
        volume("vol-0m", "main", "a/a,b"),
        volume("vol-0e", "events", "b/a,b"),
    ];
    let fault = select(&spec_without_owners(), &volumes).expect_err("they are of two members");
    assert_eq!(fault.code, Code::StorageVolumeConflict);
    let both = [
        attached(volumes[0].clone(), ME, AttachmentState::Attached),
        attached(volumes[1].clone(), ME, AttachmentState::Attached),
    ];
    let fault = select(&spec_without_owners(), &both).expect_err("they are of two members");
    assert_eq!(fault.code, Code::StorageVolumeConflict);
}

#[test]
fn without_owners_the_only_free_member_is_ours() {
    let mut volumes = Vec::new();
    for member in ["a", "b"] {
        let tag = format!("{member}/a,b");
        volumes.push(volume(&format!("vol-0m{member}"), "main", &tag));
        volumes.push(volume(&format!("vol-0e{member}"), "events", &tag));
    }
    let fault = select(&spec_without_owners(), &volumes).expect_err("both members are free");
    assert_eq!(fault.code, Code::StorageVolumeConflict);
    volumes[0] = attached(volumes[0].clone(), OTHER, AttachmentState::Attached);
    let chosen = select(&spec_without_owners(), &volumes).expect("only b is free");
    assert!(
        chosen.iter().all(|step| step.slot.ends_with("/b")),
        "{chosen:?}"
    );
}

fn any_volume() -> impl Strategy<Value = VolumeFacts> {
    let tag = prop_oneof![4 => Just("a/a,b"), 4 => Just("b/a,b"), 1 => Just("a")];
    let etcd = prop_oneof![Just("main"), Just("events")];
    let zone = prop_oneof![4 => Just("us-west-2a"), 1 => Just("us-west-2b")];
    let state = prop_oneof![
        6 => Just(VolumeState::Available),
        1 => Just(VolumeState::Creating),
        1 => Just(VolumeState::Deleting),
        1 => Just(VolumeState::Deleted),
    ];
    let holder = prop_oneof![4 => Just(None), 2 => Just(Some(ME)), 1 => Just(Some(OTHER))];
    (tag, etcd, zone, state, holder).prop_map(|(tag, etcd, zone, state, holder)| {
        let mut volume = volume("", etcd, tag);
        volume.zone = zone.to_owned();
        volume.state = state;
        match holder {
            Some(holder) => attached(volume, holder, AttachmentState::Attached),
            None => volume,
        }
    })
}

fn any_world() -> impl Strategy<Value = Vec<VolumeFacts>> {
    prop::collection::vec(any_volume(), 0..7).prop_map(|mut volumes| {
        for (index, volume) in volumes.iter_mut().enumerate() {
            volume.volume_id = format!("vol-{index}");
        }
        volumes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn the_choice_does_not_depend_on_the_order_of_the_facts(
        (world, shuffled) in any_world().prop_flat_map(|world| (Just(world.clone()), Just(world).prop_shuffle())),
        owners in any::<bool>(),
    ) {
        let spec = if owners { spec() } else { spec_without_owners() };
        let mut reversed = views();
        reversed.reverse();
        let other = storage::select_volumes(&spec, &me(), &shuffled, &reversed);
        prop_assert_eq!(select(&spec, &world), other);
    }

    #[test]
    fn what_is_chosen_is_here_free_or_ours_and_of_one_member(world in any_world()) {
        let Ok(chosen) = select(&spec_without_owners(), &world) else {
            return Ok(());
        };
        prop_assert_eq!(chosen.len(), 2);
        let members: Vec<_> = chosen.iter().map(|step| step.slot.split_once('/').map(|(_, member)| member)).collect();
        prop_assert_eq!(members[0], members[1]);
        for step in &chosen {
            let volume = world.iter().find(|volume| volume.volume_id == step.volume_id).expect("it is of the world");
            prop_assert_eq!(&volume.zone, "us-west-2a");
            prop_assert!(volume.attachments.iter().all(|attachment| attachment.instance_id == ME));
        }
    }
}
