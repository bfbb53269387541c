//! Which member this node runs, and which volume backs each of its slots.
//!
//! Total and pure: no clock, no chance, and no dependence on the order in which EC2 lists anything. The rules
//! and their order are those of docs/volumes.md.

use super::classify::{Verdict, VolumeClass, classify};
use super::decision::{Decision, Detail, SlotDecision};
use super::rule::{Action, Rule};
use super::slot::decide_slot;
use super::tags::Slot;
use super::world::{Peer, World};
use std::collections::{BTreeMap, BTreeSet};

/// Decides each slot of the member this node runs.
pub fn select_volumes(world: &World) -> Decision<'_> {
    let verdicts = classify(world);
    let slots: BTreeMap<Slot, SlotDecision> = world
        .members
        .iter()
        .map(|member| {
            (
                member.slot.clone(),
                decide_slot(world, &verdicts, &member.slot),
            )
        })
        .collect();
    let choice = Choice {
        world,
        verdicts: &verdicts,
        slots,
    };
    let (member, slots, node) = choice.choose();
    Decision {
        member,
        slots,
        node,
        verdicts,
    }
}

type Chosen = (
    Option<String>,
    Vec<(Slot, SlotDecision)>,
    Option<SlotDecision>,
);

struct Choice<'a> {
    world: &'a World,
    verdicts: &'a [Verdict<'a>],
    slots: BTreeMap<Slot, SlotDecision>,
}

impl Choice<'_> {
    fn choose(&self) -> Chosen {
        let names = self.names();
        let mut held = self.held(&names);
        if held.is_empty() {
            held = self.present(&names);
        }
        let intent = self.world.intent.as_deref();
        let strays = intent.is_some_and(|intent| !held.is_empty() && !held.contains(intent));
        if held.len() > 1 || strays {
            return self.several(&held);
        }
        if let Some(name) = held.first() {
            return self.bundle(name);
        }
        if names.is_empty() {
            return (None, Vec::new(), Some(self.nobody()));
        }
        match intent {
            Some(name) if names.contains(name) => return self.bundle(name),
            // One view without the volume of the member that was asked for is no reason to take another.
            Some(_) if !self.world.settled => {
                let node = SlotDecision::new(Action::Wait, Rule::NoVolumeYet);
                return (None, Vec::new(), Some(node));
            }
            _ => {}
        }
        match names.iter().collect::<Vec<_>>().as_slice() {
            [only] => self.bundle(only),
            _ => self.by_rank(&names),
        }
    }

    /// The members that this instance's group runs in this zone.
    fn names(&self) -> BTreeSet<&str> {
        let me = &self.world.me;
        let ours = |wanted: &Option<String>, mine: Option<&String>| {
            wanted.is_none() || wanted.as_ref() == mine
        };
        let members = self.world.members.iter();
        members
            .filter(|member| ours(&member.instance_group, me.instance_group.as_ref()))
            .filter(|member| ours(&member.zone, Some(&me.zone)))
            .map(|member| member.slot.member.as_str())
            .collect()
    }

    /// The members of which this instance has a volume, or has one on its way here or off. One that is not its
    /// own counts only if etcd runs on it: a running member is never given up for a changed spec. A volume elsewhere
    /// whose tags cannot be read hides none that is here.
    fn held(&self, names: &BTreeSet<&str>) -> BTreeSet<&str> {
        let read = self.verdicts.iter().filter(|it| it.slot.is_some());
        let read: Vec<Verdict<'_>> = read.cloned().collect();
        let as_read = |slot: &Slot, decision: &SlotDecision| match decision.rule {
            Rule::TagMalformed | Rule::MultiRole => decide_slot(self.world, &read, slot),
            _ => decision.clone(),
        };
        let holds = |slot: &Slot, decision: &SlotDecision| match decision.rule {
            Rule::AlreadyOurs | Rule::Surplus => {
                names.contains(slot.member.as_str()) || self.is_verified(decision)
            }
            Rule::AttachingSelf | Rule::BusySelf | Rule::DetachingSelf => {
                names.contains(slot.member.as_str())
            }
            _ => false,
        };
        let slots = self.slots.iter();
        slots
            .filter(|(slot, decision)| holds(slot, &as_read(slot, decision)))
            .map(|(slot, _)| slot.member.as_str())
            .collect()
    }

    /// Members of which a volume is on this instance, although nothing is decided to be held: a second volume
    /// or a listing that contradicts itself speaks against it. It is no reason to take another member.
    fn present(&self, names: &BTreeSet<&str>) -> BTreeSet<&str> {
        let me = &self.world.me.instance_id;
        let here = self.verdicts.iter().filter(|verdict| {
            verdict.class >= VolumeClass::Conflict && verdict.volume.is_held_by(me)
        });
        here.filter_map(|verdict| verdict.slot.as_ref())
            .map(|slot| slot.member.as_str())
            .filter(|member| names.contains(member))
            .collect()
    }

    fn is_verified(&self, decision: &SlotDecision) -> bool {
        let volume = decision.volume.as_ref();
        volume.is_some_and(|volume| self.world.verified.contains(volume))
    }

    /// This instance holds volumes of several members: what runs goes on as long as it runs once, and nothing
    /// new is attached.
    fn several(&self, held: &BTreeSet<&str>) -> Chosen {
        let names: Vec<String> = held
            .iter()
            .copied()
            .chain(self.world.intent.as_deref())
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let ours = self
            .slots
            .iter()
            .filter(|(_, decision)| decision.action == Action::Adopt);
        let (running, others): (Vec<_>, Vec<_>) =
            ours.partition(|(_, decision)| self.is_verified(decision));
        let clusters: BTreeSet<&str> = running.iter().map(|(slot, _)| slot.etcd.as_str()).collect();
        if running.is_empty() || clusters.len() < running.len() {
            let refused = SlotDecision::new(Action::Refuse, Rule::HoldsTwoMembers);
            return (None, Vec::new(), Some(refused.with(Detail::Members(names))));
        }
        let kept = running
            .into_iter()
            .map(|(slot, d)| (slot.clone(), d.instead(Action::Adopt, Rule::SplitBundle)));
        let refused = others.into_iter().map(|(slot, d)| {
            let refused = d.instead(Action::Refuse, Rule::HoldsTwoMembers);
            (slot.clone(), refused.with(Detail::Members(names.clone())))
        });
        let mut slots: Vec<(Slot, SlotDecision)> = kept.chain(refused).collect();
        slots.sort_by(|a, b| a.0.cmp(&b.0));
        (None, slots, None)
    }

    /// The slots of one member: taken one after the other, and none newly if one of them is refused. A member that runs here
    /// and is another group's by the spec goes on with what it has, and gets nothing more.
    fn bundle(&self, name: &str) -> Chosen {
        let is_own = self.names().contains(name);
        let of_member = self.slots.iter().filter(|(slot, _)| slot.member == name);
        let mut slots: Vec<(Slot, SlotDecision)> = of_member
            .map(|(slot, decision)| (slot.clone(), decision.clone()))
            .collect();
        let blocked = slots.iter().any(|(_, d)| d.action == Action::Refuse);
        let mut in_turn = true;
        for (_, decision) in &mut slots {
            let is_ours = decision.action == Action::Adopt;
            if decision.action == Action::Attach && !is_own {
                *decision = decision.instead(Action::Refuse, Rule::NoMemberForGroup);
            } else if decision.action == Action::Attach && blocked {
                *decision = decision.instead(Action::Wait, Rule::BundleBlocked);
            } else if decision.action == Action::Attach && !in_turn {
                *decision = decision.instead(Action::Wait, Rule::OrderedBehindMain);
            }
            in_turn &= is_ours;
        }
        (Some(name.to_owned()), slots, None)
    }

    /// Of several members, the one whose turn is this instance's: it only spares useless races, for the attach
    /// itself decides them.
    fn by_rank(&self, names: &BTreeSet<&str>) -> Chosen {
        let first = |name: &&str| self.slots.iter().find(|(slot, _)| slot.member == **name);
        let is_free = |name: &&str| first(name).is_some_and(|(_, d)| d.action == Action::Attach);
        let free: Vec<&str> = names.iter().copied().filter(is_free).collect();
        let rank = self.rank();
        if let Some(name) = free.get(rank) {
            return self.bundle(name);
        }
        let of_names = self
            .slots
            .iter()
            .filter(|(slot, _)| names.contains(slot.member.as_str()));
        let is_refused = |(_, decision): (&Slot, &SlotDecision)| decision.action == Action::Refuse;
        let rule = if of_names.clone().any(is_refused) {
            Rule::BehindConflict
        } else {
            Rule::NoFreeMember
        };
        let node = SlotDecision::new(Action::StandBy, rule);
        (None, Vec::new(), Some(node))
    }

    /// How many instances of this group and zone are before this one: alive, without a volume, and older.
    fn rank(&self) -> usize {
        let me = &self.world.me;
        let is_before =
            |peer: &&Peer| (peer.launched, &peer.instance_id) < (me.launched, &me.instance_id);
        let lives = |peer: &&Peer| peer.state.is_alive();
        let peers = self.world.instances.iter();
        let before: BTreeSet<&str> = peers
            .filter(|peer| peer.instance_id != me.instance_id)
            .filter(|peer| peer.instance_group == me.instance_group && peer.zone == me.zone)
            .filter(lives)
            .filter(is_before)
            .filter(|peer| !self.holds(&peer.instance_id))
            .map(|peer| peer.instance_id.as_str())
            .collect();
        before.len()
    }

    fn holds(&self, instance_id: &str) -> bool {
        let of_etcd = |verdict: &&Verdict<'_>| {
            verdict.slot.is_some() && verdict.class >= VolumeClass::Conflict
        };
        let mut volumes = self.verdicts.iter().filter(of_etcd);
        volumes.any(|verdict| verdict.volume.is_held_by(instance_id))
    }

    /// No member is this instance's: by the spec, or because nothing is tagged for one here, or not yet.
    fn nobody(&self) -> SlotDecision {
        let members = &self.world.members;
        let by_tags = members.iter().all(|it| it.instance_group.is_none());
        match (by_tags, self.world.settled) {
            (true, false) => SlotDecision::new(Action::Wait, Rule::NoVolumeYet),
            (true, true) if members.is_empty() => SlotDecision::new(Action::Refuse, Rule::NoVolume),
            _ => SlotDecision::new(Action::Refuse, Rule::NoMemberForGroup),
        }
    }
}
