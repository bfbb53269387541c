//! The members of an etcd cluster as a restore sees them: which have lost their volumes, and which
//! volumes are too young to hold anything.

use quake_model::facts::{
    Attachment, AttachmentState, InstanceState, InstanceView, VolumeFacts, VolumeState,
};
use quake_model::spec::EtcdMember;
use quake_model::time::Timestamp;
use quake_volumes::restore::{member_addresses, members_of};
use quake_volumes::{ClusterGeneration, Facts};
use std::collections::BTreeMap;

const HOUR: u64 = 3_600_000;
const NOW: Timestamp = Timestamp(1_795_658_400_000);

/// What EC2 has: volumes of three members of one group, or of three.
fn world(split: bool, lost: usize) -> Facts {
    let group = |name: &str| match split {
        true => format!("master-{name}"),
        false => "masters".to_owned(),
    };
    let names = ["a", "b", "c"];
    let etcd = names.map(|name| EtcdMember {
        name: name.to_owned(),
        instance_group: Some(group(name)),
        encrypted: false,
    });
    let held = &names[lost..];
    Facts {
        cluster: "c.example".to_owned(),
        etcd: vec![("main".to_owned(), etcd.to_vec())],
        zones: BTreeMap::new(),
        cluster_generation: ClusterGeneration::default(),
        volumes: held.iter().map(|name| volume_of(name)).collect(),
        instances: held.iter().map(|name| instance_of(name)).collect(),
        settled: true,
    }
}

fn volume_of(name: &str) -> VolumeFacts {
    let tags = [
        ("KubernetesCluster", "c.example".to_owned()),
        ("k8s.io/role/master", "1".to_owned()),
        ("k8s.io/etcd/main", format!("{name}/a,b,c")),
    ];
    VolumeFacts {
        volume_id: format!("vol-{name}"),
        zone: "us-test-1a".to_owned(),
        state: VolumeState::InUse,
        size_gib: 20,
        created: Timestamp(NOW.0 - 500 * HOUR),
        encrypted: false,
        multi_attach: false,
        snapshot_id: None,
        tags: tags.map(|(key, value)| (key.to_owned(), value)).into(),
        attachments: vec![Attachment {
            instance_id: format!("i-{name}"),
            state: AttachmentState::Attached,
            device_name: "/dev/xvdu".to_owned(),
            since: None,
            delete_on_termination: false,
        }],
    }
}

fn instance_of(name: &str) -> InstanceView {
    InstanceView {
        instance_id: format!("i-{name}"),
        state: InstanceState::Running,
        launched: NOW,
        zone: "us-test-1a".to_owned(),
        tags: BTreeMap::new(),
        private_ip: "10.0.0.10".to_owned(),
        device_names: Vec::new(),
    }
}

#[test]
fn a_member_is_asked_at_the_address_of_the_running_instance_that_has_its_volume() {
    let addressed = |facts: &Facts| {
        let addresses = member_addresses(facts, "main");
        addresses.into_keys().collect::<String>()
    };
    assert_eq!(addressed(&world(false, 0)), "abc");
    assert_eq!(addressed(&world(true, 2)), "c");
    let mut facts = world(false, 0);
    facts.instances[0].state = InstanceState::Terminated;
    facts.instances[1].private_ip.clear();
    assert_eq!(addressed(&facts), "c");
    let found = member_addresses(&facts, "main");
    assert_eq!(found["c"], "10.0.0.10");
    assert_eq!(addressed(&world(false, 3)), "");
}

#[test]
fn lost_volumes_are_seen_whichever_groups_run_the_members() {
    for split in [false, true] {
        for lost in 0..=3 {
            let facts = world(split, lost);
            let members = members_of(&facts, "main", &BTreeMap::new(), None);
            let found = members.iter().filter(|member| member.is_lost()).count();
            assert_eq!(found, lost, "split: {split}");
            let groups = members.iter().filter_map(|it| it.instance_group.as_deref());
            let wanted = if split { "master-a" } else { "masters" };
            assert_eq!(groups.clone().count(), 3);
            assert_eq!(groups.clone().next(), Some(wanted));
        }
    }
}

#[test]
fn a_volume_younger_than_the_backup_holds_nothing_unless_it_is_a_copy() {
    let backup = Some(Timestamp(NOW.0 - HOUR));
    let look = |change: &dyn Fn(&mut VolumeFacts)| {
        let mut facts = world(false, 0);
        change(&mut facts.volumes[0]);
        members_of(&facts, "main", &BTreeMap::new(), backup)[0].is_lost()
    };
    assert!(!look(&|_| {}));
    assert!(look(&|volume| volume.created = NOW));
    let copy = |volume: &mut VolumeFacts| {
        volume.created = NOW;
        volume.snapshot_id = Some("snap-1".to_owned());
    };
    assert!(!look(&copy));
    let ignored = |volume: &mut VolumeFacts| {
        volume
            .tags
            .insert("quake.io/etcd-ignore".to_owned(), "x".to_owned());
    };
    assert!(look(&ignored), "another volume has to be found");
    assert!(look(&|volume| volume.state = VolumeState::Deleting));
}
