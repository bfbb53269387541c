//! The members of an etcd cluster as a restore sees them: which have lost their volumes, and which
//! volumes are too young to hold anything.

use quake_model::facts::{
    Attachment, AttachmentState, InstanceState, InstanceView, VolumeFacts, VolumeState,
};
use quake_model::spec::EtcdMember;
use quake_model::time::Timestamp;
use quake_volumes::restore::{
    MemberVolume, backup_names, member_addresses, member_layout, members_of,
};
use quake_volumes::{ClusterGeneration, Facts};
use std::collections::BTreeMap;

const HOUR: u64 = 3_600_000;
const NOW: Timestamp = Timestamp(1_795_658_400_000);

/// What EC2 has: volumes of three members of one group, or of three.
pub(crate) fn world(split: bool, lost: usize) -> Facts {
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

pub(crate) fn volume_of(name: &str) -> VolumeFacts {
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

pub(crate) fn instance_of(name: &str) -> InstanceView {
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

#[test]
fn without_the_spec_the_volumes_name_the_members_and_their_instances_the_groups() {
    let mut facts = world(false, 0);
    facts.etcd.clear();
    facts.volumes.swap(0, 2);
    facts.volumes.push(volume_of("a"));
    let mut events = volume_of("d");
    events.tags.remove("k8s.io/etcd/main");
    let tag = ("k8s.io/etcd/events".to_owned(), "d/d".to_owned());
    events.tags.extend([tag]);
    facts.volumes.push(events);
    let tags = &mut facts.instances[1].tags;
    tags.insert("kops.k8s.io/instancegroup".to_owned(), "g2".to_owned());
    let seen = members_of(&facts, "main", &BTreeMap::new(), None);
    let seen: Vec<_> = seen
        .iter()
        .map(|it| (it.name.as_str(), it.instance_group.as_deref()))
        .collect();
    assert_eq!(seen, [("a", None), ("b", Some("g2")), ("c", None)]);
}

#[test]
fn a_member_runs_on_an_instance_that_runs_or_that_nobody_described() {
    let mut facts = world(false, 0);
    for (state, runs) in [
        (InstanceState::Running, true),
        (InstanceState::Pending, true),
        (InstanceState::Unknown, true),
        (InstanceState::Stopped, false),
        (InstanceState::Terminated, false),
    ] {
        facts.instances[0].state = state;
        let seen = members_of(&facts, "main", &BTreeMap::new(), None);
        assert_eq!(seen[0].is_running(), runs, "{state:?}");
        let MemberVolume::One { instance, .. } = &seen[0].volume else {
            panic!("{:?}", seen[0].volume);
        };
        assert_eq!(instance.as_deref(), runs.then_some("i-a"));
    }
    facts.instances.clear();
    let seen = members_of(&facts, "main", &BTreeMap::new(), None);
    assert!(
        seen.iter()
            .all(quake_volumes::restore::MemberFacts::is_running)
    );
    facts.volumes[0].attachments.clear();
    let seen = members_of(&facts, "main", &BTreeMap::new(), None);
    assert!(!seen[0].is_running(), "nobody has its volume");
}

#[test]
fn a_member_of_kops_legacy_has_protokube_s_directory_and_ports() {
    let members = ["a", "b"].map(str::to_owned);
    let layout = |etcd: &str| {
        let layout = member_layout("c.example", etcd, &members)?;
        let last = layout.members.last()?.clone();
        Some((layout.data, layout.members.len(), last.0, last.1))
    };
    let url = |url: &str| url.to_owned();
    let main = (
        "var/etcd/data",
        2,
        "etcd-b".to_owned(),
        url("http://etcd-b.internal.c.example:2380"),
    );
    assert_eq!(layout("main"), Some(main));
    let events = (
        "var/etcd/data-events",
        2,
        "etcd-events-b".to_owned(),
        url("http://etcd-events-b.internal.c.example:2381"),
    );
    assert_eq!(layout("events"), Some(events));
    assert_eq!(layout("cilium"), None);
}

#[test]
fn a_backup_is_named_by_a_time_in_utc_and_a_number() {
    let named = |name: &str| backup_names(&[name.to_owned()]).len();
    assert_eq!(named("2026-05-06T07:08:09Z-000001"), 1);
    for name in [
        "2026-05-06T07:08:09Z-",
        "2026-05-06T07:08:09Z-00000a",
        "2026-05-06T07:08:09+00:00-000001",
        "2026-05-06T07:08:09Z",
        "control",
    ] {
        assert_eq!(named(name), 0, "{name}");
    }
}

#[test]
fn a_volume_that_is_listed_twice_is_one_and_two_volumes_are_several() {
    let mut facts = world(false, 0);
    facts.volumes.push(volume_of("a"));
    let volume = |facts: &Facts| {
        let members = members_of(facts, "main", &BTreeMap::new(), None);
        members[0].volume.clone()
    };
    assert!(matches!(volume(&facts), MemberVolume::One { id, .. } if id == "vol-a"));
    facts.volumes[3].volume_id = "vol-0".to_owned();
    let ids = ["vol-0", "vol-a"].map(str::to_owned).to_vec();
    assert_eq!(volume(&facts), MemberVolume::Several { ids });
}

#[test]
fn a_volume_is_new_if_it_is_younger_than_the_newest_backup() {
    let facts = world(false, 0);
    let created = facts.volumes[0].created.0;
    for (backup, expected) in [
        (Some(created - 1), true),
        (Some(created), false),
        (Some(created + 1), false),
        (None, false),
    ] {
        let members = members_of(&facts, "main", &BTreeMap::new(), backup.map(Timestamp));
        let MemberVolume::One { new, .. } = members[0].volume else {
            panic!("{members:?}");
        };
        assert_eq!(new, expected, "{backup:?}");
    }
}
