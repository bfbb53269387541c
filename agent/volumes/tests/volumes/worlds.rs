//! Random worlds for the laws: small, so that they shrink to something readable, and biased, so that every kind
//! of decision comes up often.

use crate::bodies::{BORN, Body, Mood, bodies, instance_id, instance_states, weighted};
use proptest::collection::vec;
use proptest::prelude::*;
use quake_model::facts::{AttachmentState, InstanceState, VolumeFacts, VolumeState};
use quake_model::time::Timestamp;
use quake_volumes::{ClusterGeneration, Member, Peer, Slot, World, select_volumes};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const CLUSTER: &str = "c.example.com";
pub(crate) const ME: &str = "i-5";
pub(crate) const UID_NOW: &str = "uid-now";
const ETCD: [&str; 4] = ["main", "events", "cilium", "leases"];
const NAMES: [&str; 3] = ["a", "b", "c"];
const GROUPS: [&str; 3] = ["g1", "g2", "g3"];
pub(crate) const ZONES: [&str; 2] = ["z1", "z2"];

/// Who runs which member, and where.
#[derive(Debug, Clone)]
struct Layout {
    groups: usize,
    names: usize,
    etcd: usize,
    one_zone: bool,
    mapped: bool,
    encrypted: bool,
}

fn layouts() -> impl Strategy<Value = Layout> {
    let counts = (
        1..=3_usize,
        1..=3_usize,
        prop_oneof![1 => Just(1_usize), 3 => Just(2), 1 => 3..=4_usize],
    );
    let flags = (weighted(0.6), weighted(0.7), weighted(0.15));
    (counts, flags).prop_map(
        |((groups, names, etcd), (one_zone, mapped, encrypted))| Layout {
            groups,
            names,
            etcd,
            one_zone,
            mapped,
            encrypted,
        },
    )
}

fn peers() -> impl Strategy<Value = Vec<Peer>> {
    let group = prop_oneof![6 => Just(Some(0)), 3 => (0..3_usize).prop_map(Some), 1 => Just(None)];
    let one = (
        instance_states(),
        group,
        weighted(0.8),
        0..3_u64,
        weighted(0.85),
    );
    vec(one, 6).prop_map(|peers| {
        let described = peers.into_iter().enumerate().filter(|(_, peer)| peer.4);
        described
            .map(|(number, (state, group, same_zone, launched, _))| Peer {
                instance_id: instance_id(number + 1),
                state,
                instance_group: group.map(|group: usize| GROUPS[group].to_owned()),
                zone: ZONES[usize::from(!same_zone)].to_owned(),
                launched: Timestamp(launched),
            })
            .collect()
    })
}

impl Layout {
    fn zone_of(&self, name: usize) -> &'static str {
        match self.one_zone {
            true => ZONES[0],
            false => ZONES[name % self.groups % ZONES.len()],
        }
    }

    fn slots(&self) -> Vec<(usize, usize)> {
        let names = 0..self.names;
        names
            .flat_map(|name| (0..self.etcd).map(move |etcd| (etcd, name)))
            .collect()
    }

    fn world(&self, listed: &[((usize, usize), Body)], peers: Vec<Peer>, about: &About) -> World {
        let mut volumes = Vec::new();
        let mut verified = BTreeSet::new();
        for (number, ((etcd, name), body)) in listed.iter().enumerate() {
            // Ids in another order than slots.
            let id = format!("vol-{}{number}", number * 7 % 10);
            let slot = Slot::new(ETCD[*etcd], NAMES[*name]);
            volumes.extend(body.listings(&id, &slot, self.zone_of(*name)));
            let here = body.holders.contains(&(0, AttachmentState::Attached));
            if here && body.verified {
                verified.insert(id);
            }
        }
        let zone = if about.away { "z3" } else { self.zone_of(0) };
        let me = Peer {
            instance_id: ME.to_owned(),
            state: InstanceState::Running,
            instance_group: Some(GROUPS[0].to_owned()),
            zone: zone.to_owned(),
            launched: Timestamp(about.launched),
        };
        let mut instances = peers;
        instances.extend(about.described.then(|| me.clone()));
        World {
            me,
            cluster: CLUSTER.to_owned(),
            cluster_generation: ClusterGeneration {
                current: None,
                uids: BTreeSet::from([UID_NOW.to_owned()]),
                born: about.born.then_some(Timestamp(BORN)),
            },
            members: self.members(),
            instances,
            volumes,
            verified,
            intent: about.intent.map(|name| NAMES[name].to_owned()),
            settled: about.settled,
        }
    }

    fn members(&self) -> Vec<Member> {
        let member = |(etcd, name): (usize, usize)| Member {
            slot: Slot::new(ETCD[etcd], NAMES[name]),
            instance_group: self.mapped.then(|| GROUPS[name % self.groups].to_owned()),
            zone: Some(self.zone_of(name).to_owned()),
            encrypted: self.encrypted,
        };
        self.slots().into_iter().map(member).collect()
    }
}

/// Worlds of every kind.
pub(crate) fn worlds() -> impl Strategy<Value = World> {
    let mood = prop_oneof![
        4 => Just(Mood::Free), 3 => Just(Mood::Here), 2 => Just(Mood::AtAPeer), 2 => Just(Mood::Mixed),
    ];
    (layouts(), mood).prop_flat_map(|(layout, mood)| worlds_of(layout, mood))
}

/// Worlds in which the instances of one group share out several members.
pub(crate) fn shared_groups() -> impl Strategy<Value = World> {
    (2..=3_usize, 1..=2_usize, weighted(0.7)).prop_flat_map(|(names, etcd, mapped)| {
        let layout = Layout {
            groups: 1,
            names,
            etcd,
            one_zone: true,
            mapped,
            encrypted: false,
        };
        worlds_of(layout, Mood::Free)
    })
}

fn worlds_of(layout: Layout, mood: Mood) -> impl Strategy<Value = World> {
    let slots = layout.slots();
    let one = prop_oneof![14 => bodies(mood, 40).prop_map(Some), 1 => Just(None)];
    let each = vec(one, slots.len());
    let count = prop_oneof![4 => 0..=0_usize, 1 => 1..=3_usize];
    let more = count.prop_flat_map(|count| {
        vec(
            (any::<prop::sample::Index>(), bodies(Mood::Mixed, 3)),
            count,
        )
    });
    let about = abouts();
    (each, more, peers(), about).prop_map(move |(each, more, peers, about)| {
        let each = slots.iter().copied().zip(each);
        let mut listed: Vec<((usize, usize), Body)> = each
            .filter_map(|(slot, body)| Some((slot, body?)))
            .collect();
        let more = more.into_iter();
        listed.extend(more.map(|(slot, body)| (*slot.get(&slots), body)));
        layout.world(&listed, peers, &about)
    })
}

/// A settled world of one instance in `z1`, without members and volumes.
pub(crate) fn bare() -> World {
    let layout = Layout {
        groups: 1,
        names: 1,
        etcd: 1,
        one_zone: true,
        mapped: false,
        encrypted: false,
    };
    let about = About {
        described: true,
        away: false,
        launched: 0,
        settled: true,
        born: true,
        intent: None,
    };
    let mut world = layout.world(&[], Vec::new(), &about);
    world.members.clear();
    world
}

/// A free volume of the cluster's control plane that has no etcd tag yet.
pub(crate) fn bare_volume() -> VolumeFacts {
    let owned = format!("kubernetes.io/cluster/{CLUSTER}");
    let tags = [
        ("KubernetesCluster", CLUSTER),
        (&owned, "owned"),
        ("k8s.io/role/master", "1"),
    ];
    VolumeFacts {
        volume_id: "vol-typo".to_owned(),
        zone: "z9".to_owned(),
        state: VolumeState::Available,
        size_gib: 20,
        created: Timestamp(0),
        encrypted: false,
        multi_attach: false,
        snapshot_id: None,
        tags: tags
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        attachments: Vec::new(),
    }
}

/// What a world is beside its volumes and peers.
#[derive(Debug, Clone)]
struct About {
    described: bool,
    away: bool,
    launched: u64,
    settled: bool,
    born: bool,
    intent: Option<usize>,
}

fn abouts() -> impl Strategy<Value = About> {
    let intent = prop_oneof![6 => Just(None), 1 => (0..3_usize).prop_map(Some)];
    let flags = (weighted(0.9), weighted(0.03), weighted(0.7), weighted(0.9));
    (flags, 0..3_u64, intent).prop_map(|((described, away, settled, born), launched, intent)| {
        About {
            described,
            away,
            launched,
            settled,
            born,
            intent,
        }
    })
}

#[test]
fn the_random_worlds_meet_every_action_and_nearly_every_rule_often() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let strategy = worlds();
    let mut actions: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..4000 {
        let world = strategy.new_tree(&mut runner).expect("a world").current();
        let decision = select_volumes(&world);
        let seen: BTreeSet<&str> = decision.all().map(|(_, d)| d.action.name()).collect();
        seen.into_iter()
            .for_each(|action| *actions.entry(action).or_default() += 1);
        let verdicts = decision.verdicts.iter().map(|verdict| verdict.rule.name());
        let seen: BTreeSet<&str> = decision
            .all()
            .map(|(_, d)| d.rule.name())
            .chain(verdicts)
            .collect();
        seen.into_iter()
            .for_each(|rule| *rules.entry(rule).or_default() += 1);
    }
    println!("{actions:?}\n{rules:?}");
    for action in ["ATTACH", "ADOPT", "STANDBY", "WAIT", "REFUSE"] {
        let count = actions.get(action).copied().unwrap_or_default();
        assert!(count >= 300, "{action}: {count} of 4000 worlds");
    }
    let all = quake_volumes::Rule::ALL.iter().map(|rule| rule.name());
    let missing: Vec<&str> = all.filter(|rule| !rules.contains_key(rule)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "rules that no world reaches");
}

/// A free volume in zone `z1` of a member of `main`, which has the members `a` and `b`.
pub(crate) fn member_volume(id: &str, member: &str) -> VolumeFacts {
    let mut volume = bare_volume();
    volume.volume_id = id.to_owned();
    volume.zone = "z1".to_owned();
    let value = format!("{member}/a,b");
    volume.tags.insert("k8s.io/etcd/main".to_owned(), value);
    volume
}

/// A running instance of the group `g1` in zone `z1`.
pub(crate) fn peer(id: &str, launched: u64) -> Peer {
    Peer {
        instance_id: id.to_owned(),
        state: InstanceState::Running,
        instance_group: Some("g1".to_owned()),
        zone: "z1".to_owned(),
        launched: Timestamp(launched),
    }
}
