//! What one pass observes, and what the real choice makes of it.

use crate::config::{Config, Variant};
use crate::disturb::Disturbance;
use crate::hash::{Spread, fingerprint};
use crate::reading::{Reading, for_each_reading};
use crate::state::{Content, Life, Shown, State};
use quake_model::facts::{Attachment, AttachmentState, InstanceState, VolumeFacts, VolumeState};
use quake_model::time::Timestamp;
use quake_volumes::{
    Action, ClusterGeneration, Decision, Member, Peer, Rule, Slot, World, select_volumes,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

const CLUSTER: &str = "c.example.com";
const ZONE: &str = "eu-west-1a";
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const ETCD: [&str; 2] = ["main", "events"];

/// What an agent makes of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Outcome {
    /// Volumes that are this instance's, as bits.
    pub adopt: u8,
    /// Volumes of which one may be attached now, as bits; several only where the order is off.
    pub attach: u8,
}

/// What an agent knows beside a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalFacts {
    pub me: usize,
    /// Volumes whose device is here with its marker, as bits.
    pub verified: u8,
    /// Volumes whose device is here, as bits; none where EC2 is believed first.
    pub devices: u8,
    /// The member of the intent.
    pub intent: Option<usize>,
}

impl LocalFacts {
    /// What an agent knows by its journal and its kernel.
    pub fn for_instance(config: &Config, state: &State, me: usize) -> Self {
        let is_marked = |volume: &usize| {
            state.volumes[*volume].content == Content::Marked(config.slot_of(*volume) as u8)
        };
        let instance = &state.instances[me];
        let bits = |bits: u8, volume: usize| bits | 1 << volume;
        let devices = state.devices(me).fold(0, bits);
        Self {
            me,
            verified: state.devices(me).filter(is_marked).fold(0, bits),
            devices: if config.serials_first { devices } else { 0 },
            intent: instance
                .intent
                .map(|volume| config.member_of(usize::from(volume))),
        }
    }
}

/// Calls the real choice, once for each view.
#[derive(Debug)]
pub struct Decider {
    variant: Variant,
    members: Vec<Member>,
    volumes: Vec<VolumeFacts>,
    by_view: HashMap<u64, Outcome, Spread>,
    by_history: HashMap<u64, Rc<[Outcome]>, Spread>,
    bytes: Vec<u8>,
    disturbed: Option<Disturbance>,
}

impl Decider {
    /// A decider that has decided nothing yet.
    pub fn new(config: &Config) -> Self {
        let members = config.members.iter().enumerate();
        Self {
            variant: config.variant,
            members: members
                .flat_map(|(member, group)| {
                    let etcds = ETCD.iter().take(config.clusters);
                    etcds.map(move |etcd| Member {
                        slot: Slot::new(etcd, NAMES[member]),
                        instance_group: Some(group_name(*group)),
                        zone: Some(ZONE.to_owned()),
                        encrypted: false,
                    })
                })
                .collect(),
            volumes: (0..config.volumes())
                .map(|volume| volume_facts(config, volume))
                .collect(),
            by_view: HashMap::default(),
            by_history: HashMap::default(),
            bytes: Vec::new(),
            disturbed: None,
        }
    }

    /// The first disturbance that changed a choice, if any did.
    pub fn disturbed(&self) -> Option<Disturbance> {
        self.disturbed
    }

    /// How often the real choice was called.
    pub fn calls(&self) -> usize {
        self.by_view.len()
    }

    /// Every outcome that some reading leads to, reads being stale by up to `stale` versions of each object.
    pub fn outcomes(&mut self, state: &State, stale: usize, known: LocalFacts) -> Rc<[Outcome]> {
        let key = self.history_key(state, stale, known);
        if let Some(found) = self.by_history.get(&key) {
            return Rc::clone(found);
        }
        let mut found: Vec<Outcome> = Vec::new();
        for_each_reading(state, stale, |reading, _| {
            let outcome = self.outcome(state, reading, known);
            if !found.contains(&outcome) {
                found.push(outcome);
            }
        });
        let found: Rc<[Outcome]> = found.into();
        self.by_history.insert(key, Rc::clone(&found));
        found
    }

    /// The outcome of one reading.
    pub fn outcome(&mut self, state: &State, reading: &Reading, known: LocalFacts) -> Outcome {
        if known.devices != 0 {
            let believed = reading.believing(known);
            return self.outcome(
                state,
                &believed,
                LocalFacts {
                    devices: 0,
                    ..known
                },
            );
        }
        let seen = seen_instances(state, reading, known.me);
        self.bytes.clear();
        let intent = known.intent.map_or(0, |member| member as u8 + 1);
        self.bytes.extend([known.me as u8, known.verified, intent]);
        for shown in &reading.volumes {
            let (kind, by) = match shown {
                Shown::Untagged => (0, 0),
                Shown::Free => (1, 0),
                Shown::Attaching(by) => (2, *by),
                Shown::Attached(by) => (3, *by),
                Shown::Detaching(by) => (4, *by),
            };
            self.bytes.push(kind << 5 | by);
        }
        for (instance, life) in state.instances.iter().zip(&seen) {
            self.bytes.push(instance.group << 4 | *life as u8);
        }
        let key = fingerprint(&self.bytes);
        if let Some(outcome) = self.by_view.get(&key) {
            return *outcome;
        }
        let world = self.world(state, reading, &seen, known);
        let outcome = self.decide(&world);
        self.by_view.insert(key, outcome);
        let changes = |it: &Disturbance| {
            let (clean, disturbed) = it.pair(&world);
            let (clean, disturbed) = (self.decide(&clean), self.decide(&disturbed));
            !it.is_kept(clean, disturbed, known.verified)
        };
        self.disturbed = self
            .disturbed
            .or_else(|| Disturbance::ALL.into_iter().find(changes));
        outcome
    }

    fn history_key(&mut self, state: &State, stale: usize, known: LocalFacts) -> u64 {
        // Only what a reading and the knowledge depend on: no content, no place in a pass, no faults.
        let bytes = &mut self.bytes;
        bytes.clear();
        let intent = known.intent.map_or(0, |member| member as u8 + 1);
        bytes.extend([known.me as u8, known.verified, known.devices, intent]);
        for volume in &state.volumes {
            for shown in volume.shown.readable(stale) {
                let holder = shown.holder().map_or(0, |by| by + 1);
                let kind = match shown {
                    Shown::Untagged => 0,
                    Shown::Free => 1,
                    Shown::Attaching(_) => 2,
                    Shown::Attached(_) => 3,
                    Shown::Detaching(_) => 4,
                };
                bytes.push(kind << 5 | holder);
            }
        }
        for instance in &state.instances {
            bytes.push(instance.group);
            bytes.extend(instance.life.readable(stale).iter().map(|life| *life as u8));
        }
        fingerprint(bytes)
    }

    fn decide(&self, world: &World) -> Outcome {
        let decision = select_volumes(world);
        let number = |id: &str| self.volumes.iter().position(|it| it.volume_id == id);
        let bits = |wanted: &dyn Fn(Action, Rule) -> bool| {
            let slots = slots_of(&decision);
            slots
                .filter(|(action, rule, _)| wanted(*action, *rule))
                .filter_map(|(_, _, volume)| number(volume))
                .fold(0, |bits, volume| bits | 1 << volume)
        };
        let any_order = self.variant == Variant::NoOrder;
        Outcome {
            adopt: bits(&|action, _| action == Action::Adopt),
            attach: bits(&|action, rule| {
                action == Action::Attach || any_order && rule == Rule::OrderedBehindMain
            }),
        }
    }

    /// The world as [`World::observed`] would put it together: holders and peers of the group are listed, and an
    /// instance that is not shown to itself takes itself for the oldest.
    fn world(&self, state: &State, reading: &Reading, seen: &[Life], known: LocalFacts) -> World {
        let me = &state.instances[known.me];
        let peer = |(index, life): (usize, &Life)| {
            let group = state.instances[index].group;
            Peer {
                instance_id: instance_id(index),
                state: match life {
                    Life::ShuttingDown => InstanceState::ShuttingDown,
                    Life::Terminated => InstanceState::Terminated,
                    Life::Absent | Life::Untagged | Life::Running => InstanceState::Running,
                },
                instance_group: (*life != Life::Untagged).then(|| group_name(group)),
                zone: ZONE.to_owned(),
                launched: launched(index),
            }
        };
        let listed = seen.iter().enumerate();
        let listed = listed.filter(|(_, life)| **life != Life::Absent);
        let shown = self.volumes.iter().zip(&reading.volumes);
        World {
            me: Peer {
                instance_id: instance_id(known.me),
                state: InstanceState::Running,
                instance_group: Some(group_name(me.group)),
                zone: ZONE.to_owned(),
                launched: match seen[known.me] {
                    Life::Absent => Timestamp(0),
                    _ => launched(known.me),
                },
            },
            cluster: CLUSTER.to_owned(),
            cluster_generation: ClusterGeneration::default(),
            members: self.members.clone(),
            instances: listed.map(peer).collect(),
            volumes: shown
                .filter(|(_, shown)| **shown != Shown::Untagged)
                .map(|(facts, shown)| shown_facts(facts, *shown))
                .collect(),
            verified: bits_of(known.verified)
                .map(|volume| self.volumes[volume].volume_id.clone())
                .collect::<BTreeSet<_>>(),
            intent: known.intent.map(|member| NAMES[member].to_owned()),
            settled: false,
        }
    }
}

/// The instances as a pass sees them: holders as they are shown, of the others only what runs in the group.
fn seen_instances(state: &State, reading: &Reading, me: usize) -> Vec<Life> {
    let group = state.instances[me].group;
    let holds = |index: usize| {
        let volumes = reading.volumes.iter();
        volumes
            .filter_map(|shown| shown.holder())
            .any(|by| usize::from(by) == index)
    };
    let instances = state.instances.iter().zip(&reading.lives).enumerate();
    instances
        .map(|(index, (instance, life))| {
            let of_group = instance.group == group && *life == Life::Running;
            match (index == me, *life) {
                (_, Life::Absent) => Life::Absent,
                (true, _) => Life::Running,
                (false, life) if holds(index) || of_group => life,
                (false, _) => Life::Absent,
            }
        })
        .collect()
}

fn slots_of<'a>(decision: &'a Decision<'_>) -> impl Iterator<Item = (Action, Rule, &'a str)> {
    let slots = decision.slots.iter();
    slots.filter_map(|(_, slot)| Some((slot.action, slot.rule, slot.volume.as_deref()?)))
}

/// The numbers of the bits that are set.
pub fn bits_of(bits: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |volume| bits & (1 << volume) != 0)
}

/// An instance's id.
pub fn instance_id(index: usize) -> String {
    format!("i-{index}")
}

/// A volume's name in traces: its slot, with a prime if it is the duplicate.
pub fn volume_name(config: &Config, volume: usize) -> String {
    let slot = format!(
        "{}/{}",
        ETCD[config.cluster_of(volume)],
        NAMES[config.member_of(volume)]
    );
    match Some(volume) == config.duplicate_volume() {
        true => format!("{slot}'"),
        false => slot,
    }
}

fn group_name(group: u8) -> String {
    format!("masters-{group}")
}

fn launched(index: usize) -> Timestamp {
    Timestamp(1_000_000 + 1_000 * index as u64)
}

fn volume_facts(config: &Config, volume: usize) -> VolumeFacts {
    let members = NAMES[..config.members.len()].join(",");
    let etcd = format!("k8s.io/etcd/{}", ETCD[config.cluster_of(volume)]);
    let tags = [
        ("KubernetesCluster".to_owned(), CLUSTER.to_owned()),
        ("k8s.io/role/master".to_owned(), "1".to_owned()),
        (
            etcd,
            format!("{}/{members}", NAMES[config.member_of(volume)]),
        ),
    ];
    VolumeFacts {
        volume_id: format!("vol-{volume}"),
        zone: ZONE.to_owned(),
        state: VolumeState::Available,
        size_gib: 20,
        created: Timestamp(1_000),
        encrypted: false,
        multi_attach: false,
        snapshot_id: None,
        tags: BTreeMap::from(tags),
        attachments: Vec::new(),
    }
}

fn shown_facts(facts: &VolumeFacts, shown: Shown) -> VolumeFacts {
    let (by, state) = match shown {
        Shown::Untagged | Shown::Free => return facts.clone(),
        Shown::Attaching(by) => (by, AttachmentState::Attaching),
        Shown::Attached(by) => (by, AttachmentState::Attached),
        Shown::Detaching(by) => (by, AttachmentState::Detaching),
    };
    VolumeFacts {
        state: VolumeState::InUse,
        attachments: vec![Attachment {
            instance_id: instance_id(usize::from(by)),
            device_name: "/dev/xvdba".to_owned(),
            state,
            since: None,
            delete_on_termination: false,
        }],
        ..facts.clone()
    }
}
