//! Worlds put together from what is observed, where the spec does not say who runs which member.

use crate::laws::{outcome, shuffled};
use crate::worlds::{CLUSTER, bare, worlds};
use proptest::prelude::*;
use quake_model::facts::{
    Attachment, AttachmentState, InstanceFacts, InstanceView, VolumeFacts, VolumeState,
};
use quake_model::spec::{
    EtcdCluster, EtcdMember, EtcdProvider, KopsGeneration, Kubelet, NetworkMode, Networking,
    NodeSpec, Role, Runtime,
};
use quake_model::time::Timestamp;
use quake_volumes::{Action, Detail, IGNORE, LocalFacts, Rule, World};
use std::collections::{BTreeMap, BTreeSet};

/// A control plane's spec with these etcd clusters, whose members no group is said to run.
pub(crate) fn spec(members: &[&str]) -> NodeSpec {
    let member = |name: &&str| EtcdMember {
        name: (*name).to_owned(),
        instance_group: None,
        encrypted: false,
    };
    let cluster = |name: &str| EtcdCluster {
        name: name.to_owned(),
        members: members.iter().map(member).collect(),
        version: "3.4.13".to_owned(),
        image: "etcd".to_owned(),
        provider: EtcdProvider::Legacy,
        backup_store: None,
        manifest: None,
    };
    NodeSpec {
        generation: KopsGeneration::Legacy,
        cluster: CLUSTER.to_owned(),
        instance_group: "g1".to_owned(),
        role: Role::ControlPlane,
        kubernetes: "1.12.10".parse().expect("a version"),
        config_base: "s3://state/c".parse().expect("a location"),
        assets: Vec::new(),
        images: Vec::new(),
        channels: Vec::new(),
        addons_pod: None,
        node_object: None,
        etcd_manifests: Vec::new(),
        runtime: Runtime::Containerd { version: None },
        kubelet: Kubelet {
            flags: Vec::new(),
            labels: BTreeMap::new(),
            taints: Vec::new(),
            startup_taint: None,
            kubeconfig_path: String::new(),
            manifest_path: String::new(),
        },
        kube_proxy: None,
        control_plane: None,
        etcd: ["main", "events"].map(cluster).to_vec(),
        names: None,
        networking: Networking {
            mode: NetworkMode::Kubenet,
            mtu: None,
            cluster_cidr: None,
            non_masquerade_cidr: None,
            pod_cidr: None,
            service_cidr: None,
            node_port_range: None,
        },
        cloud_config: None,
        proxy: BTreeMap::new(),
        file_assets: Vec::new(),
        hooks: Vec::new(),
        bootstrap_servers: Vec::new(),
        automatic_upgrades: false,
        items: Vec::new(),
        start_conditions: Vec::new(),
        ready_conditions: Vec::new(),
    }
}

/// What an instance of group `g1` in a zone sees of a world.
fn observed(world: &World, members: &[&str]) -> World {
    let peers = world.instances.iter();
    let views: Vec<InstanceView> = peers
        .map(|peer| InstanceView {
            private_ip: String::new(),
            instance_id: peer.instance_id.clone(),
            state: peer.state,
            launched: peer.launched,
            zone: peer.zone.clone(),
            tags: peer
                .instance_group
                .iter()
                .map(|group| ("kops.k8s.io/instancegroup".to_owned(), group.clone()))
                .collect(),
            device_names: Vec::new(),
        })
        .collect();
    let instance = InstanceFacts {
        instance_id: world.me.instance_id.clone(),
        zone: world.me.zone.clone(),
        ..InstanceFacts::default()
    };
    let known = LocalFacts {
        cluster_generation: world.cluster_generation.clone(),
        verified: world.verified.clone(),
        intent: world.intent.clone(),
        settled: world.settled,
    };
    World::observed(
        &spec(members),
        &instance,
        world.volumes.clone(),
        &views,
        known,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn members_read_from_tags_do_not_depend_on_order(world in worlds(), seed in any::<u64>()) {
        for members in [&[] as &[&str], &["a", "b", "c"]] {
            let first = outcome(&observed(&world, members));
            prop_assert_eq!(first, outcome(&observed(&shuffled(&world, seed), members)));
        }
    }

    #[test]
    fn without_a_map_nothing_of_another_zone_is_attached(world in worlds()) {
        for members in [&[] as &[&str], &["a", "b", "c"]] {
            let seen = observed(&world, members);
            for (slot, decision) in outcome(&seen).slots {
                if decision.action == Action::Attach {
                    let id = decision.volume.expect("it is about a volume");
                    let mut volumes = seen.volumes.iter().filter(|volume| volume.volume_id == id);
                    prop_assert!(volumes.all(|volume| volume.zone == seen.me.zone), "{}", slot);
                }
            }
        }
    }
}

/// A world of free volumes, each for one member of both etcd clusters: member and zone.
fn free(members: &[(&str, &str)]) -> World {
    let mut world = bare();
    let created = world.cluster_generation.born.unwrap_or_default();
    let volume = |etcd: &str, member: &str, zone: &str| VolumeFacts {
        volume_id: format!("vol-{etcd}-{member}"),
        zone: zone.to_owned(),
        state: VolumeState::Available,
        size_gib: 20,
        created,
        encrypted: true,
        multi_attach: false,
        snapshot_id: None,
        tags: BTreeMap::from([
            ("KubernetesCluster".to_owned(), CLUSTER.to_owned()),
            ("k8s.io/role/master".to_owned(), "1".to_owned()),
            (format!("k8s.io/etcd/{etcd}"), format!("{member}/a,b,c")),
        ]),
        attachments: Vec::new(),
    };
    let both =
        |(member, zone): &(&str, &str)| ["main", "events"].map(|etcd| volume(etcd, member, zone));
    world.volumes = members.iter().flat_map(both).collect();
    world
}

#[test]
fn a_member_that_no_group_is_said_to_run_belongs_to_the_zone_of_its_volume() {
    let mut world = free(&[("a", "z1"), ("b", "z2"), ("c", "z3")]);
    for (zone, member) in [("z1", "a"), ("z2", "b"), ("z3", "c")] {
        world.me.zone = zone.to_owned();
        for members in [&[] as &[&str], &["a", "b", "c"]] {
            let seen = observed(&world, members);
            let decided = outcome(&seen);
            assert_eq!(
                decided.member.as_deref(),
                Some(member),
                "{zone} {members:?}"
            );
            assert_eq!(decided.slots[0].1.rule, Rule::Attach, "{zone} {members:?}");
        }
    }
}

#[test]
fn a_running_volume_that_an_operator_ignores_goes_on_without_a_map() {
    let mut world = free(&[("a", "z1")]);
    let volume = &mut world.volumes[0];
    volume.state = VolumeState::InUse;
    volume.attachments.push(Attachment {
        instance_id: world.me.instance_id.clone(),
        device_name: "/dev/xvdba".to_owned(),
        state: AttachmentState::Attached,
        since: None,
        delete_on_termination: false,
    });
    volume.tags.insert(IGNORE.to_owned(), "a reason".to_owned());
    world.verified = BTreeSet::from(["vol-main-a".to_owned()]);
    let decided = outcome(&observed(&world, &[]));
    assert_eq!(decided.slots[0].1.action, Action::Adopt);
}

#[test]
fn while_volumes_may_still_show_up_a_zone_without_members_waits() {
    let mut world = free(&[("b", "z2")]);
    world.settled = false;
    let waits = outcome(&observed(&world, &[])).node.expect("no slot");
    assert_eq!(
        (waits.action, waits.rule),
        (Action::Wait, Rule::NoVolumeYet)
    );
    world.settled = true;
    let refused = outcome(&observed(&world, &[])).node.expect("no slot");
    assert_eq!(refused.rule, Rule::NoMemberForGroup);
}

#[test]
fn of_several_conflicts_the_first_by_rule_is_named_and_all_are_listed() {
    let mut world = free(&[("a", "z1"), ("a", "z1")]);
    // The rule that sorts first is of the volume that sorts last.
    let [zone, _, shared, _] = world.volumes.as_mut_slice() else {
        panic!("two volumes of each etcd cluster");
    };
    zone.zone = "z2".to_owned();
    shared.multi_attach = true;
    shared.volume_id = "vol-main-z".to_owned();
    let decided = outcome(&observed(&world, &[]));
    let (slot, refused) = &decided.slots[0];
    assert_eq!(slot.to_string(), "main/a");
    assert_eq!(refused.rule, Rule::MultiAttachEnabled);
    let both = ["vol-main-a", "vol-main-z"].map(str::to_owned).to_vec();
    assert_eq!(refused.detail, Detail::Volumes(both));
}

/// The slots of the members that a node of this spec sees.
fn members_seen(spec: &NodeSpec, world: &World) -> Vec<String> {
    let instance = InstanceFacts {
        instance_id: world.me.instance_id.clone(),
        zone: world.me.zone.clone(),
        ..InstanceFacts::default()
    };
    let known = LocalFacts::default();
    let seen = World::observed(spec, &instance, world.volumes.clone(), &[], known);
    seen.members.iter().map(|it| it.slot.to_string()).collect()
}

#[test]
fn volumes_name_the_members_of_an_etcd_cluster_of_which_the_spec_names_none() {
    let world = free(&[("b", "z1")]);
    let mut spec = spec(&["a"]);
    assert_eq!(members_seen(&spec, &world), ["main/a", "events/a"]);
    spec.etcd[1].members.clear();
    assert_eq!(members_seen(&spec, &world), ["main/a", "events/b"]);
}

#[test]
fn only_volumes_of_this_control_plane_that_are_not_ignored_name_members() {
    let without = |key: &str, value: Option<&str>| {
        let mut world = free(&[("a", "z1")]);
        let tags = &mut world.volumes[0].tags;
        tags.remove(key);
        tags.extend(value.map(|value| (key.to_owned(), value.to_owned())));
        members_seen(&spec(&[]), &world)
    };
    let all = ["main/a", "events/a"];
    assert_eq!(without("Name", Some("a.etcd-main.c.example")), all);
    for (key, value) in [
        ("KubernetesCluster", Some("other.example")),
        ("KubernetesCluster", None),
        ("k8s.io/role/master", None),
        (IGNORE, Some("a reason")),
    ] {
        assert_eq!(without(key, value), ["events/a"], "{key}: {value:?}");
    }
}

#[test]
fn an_instance_is_as_old_as_it_is_described_and_the_youngest_where_it_is_not() {
    let mut world = bare();
    let mut other = world.me.clone();
    other.instance_id = "i-other".to_owned();
    other.launched = Timestamp(10);
    world.me.launched = Timestamp(50);
    world.instances = vec![other, world.me.clone()];
    assert_eq!(observed(&world, &["a"]).me.launched, Timestamp(50));
    world.instances.pop();
    assert_eq!(observed(&world, &["a"]).me.launched, Timestamp(u64::MAX));
}

#[test]
fn a_member_of_this_instances_group_is_in_its_zone_and_of_another_group_in_an_unknown_one() {
    let world = bare();
    let mut spec = spec(&["a", "b"]);
    for cluster in &mut spec.etcd {
        cluster.members[0].instance_group = Some(spec.instance_group.clone());
        cluster.members[1].instance_group = Some("g2".to_owned());
    }
    let instance = InstanceFacts {
        instance_id: world.me.instance_id.clone(),
        zone: "z3".to_owned(),
        ..InstanceFacts::default()
    };
    let seen = World::observed(&spec, &instance, Vec::new(), &[], LocalFacts::default());
    assert_eq!(seen.members.len(), 4);
    for member in &seen.members {
        let is_ours = member.slot.member == "a";
        let zone = is_ours.then(|| "z3".to_owned());
        assert_eq!(member.zone, zone, "{}", member.slot);
    }
}
