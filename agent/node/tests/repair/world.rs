//! A group of nodes that decide by themselves, an Auto Scaling group that replaces what is unhealthy, and a store of notes.

use quake_model::health_note::{HealthNote, NOTE_SCHEMA};
use quake_model::repair::{RepairDecision, RepairShare, SharedCause, Symptom};
use quake_model::time::Timestamp;
use quake_node::repair::{
    Etcd, Health, Member, Peer, Population, RECURS_WITHIN, Situation, decide, note_due, peer_of,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Seconds between two looks of a node.
pub(crate) const STEP: u64 = 30;

/// How long a group takes to terminate an unhealthy instance, and an instance to be past its boot.
const TERMINATES: u64 = 240;
const BOOTS: u64 = 480;

/// What a node finds when it looks at itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) symptoms: BTreeSet<Symptom>,
    pub(crate) shared: BTreeSet<SharedCause>,
    pub(crate) leaving: bool,
    pub(crate) blind: bool,
}

/// One instance.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) zone: String,
    /// How far its clock is ahead, in seconds.
    pub(crate) skew: i64,
    launched: u64,
    health: Health,
    note: Option<HealthNote>,
    announced_at: Option<u64>,
    requested_at: Option<u64>,
    leaves: bool,
    pub(crate) decisions: Vec<RepairDecision>,
}

impl Node {
    fn is_ready(&self, now: u64) -> bool {
        now >= self.launched + BOOTS
    }

    fn is_there(&self, now: u64) -> bool {
        self.is_ready(now) && self.requested_at.is_none() && !self.leaves
    }

    fn clock(&self, seconds: u64) -> Timestamp {
        // The world begins long after the epoch.
        let millis = (1_700_000_000 + i64::try_from(seconds).expect("small") + self.skew) * 1000;
        Timestamp(u64::try_from(millis).expect("after the epoch"))
    }
}

/// What does not change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    pub(crate) size: usize,
    pub(crate) zones: usize,
    pub(crate) share: RepairShare,
    /// Whether each node is a member of etcd.
    pub(crate) etcd: bool,
    pub(crate) suspended: BTreeSet<String>,
    /// How old a node's view of the group may be, in seconds.
    pub(crate) stale: u64,
}

/// The world at one moment.
pub(crate) struct World {
    rules: Rules,
    pub(crate) now: u64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) replaced: Vec<String>,
    repairs: Vec<(u64, BTreeSet<Symptom>)>,
    views: Vec<(u64, Population)>,
    launches: usize,
    /// The most that were away at once because of repairs.
    pub(crate) most_away: usize,
}

impl World {
    /// A group that has been ready for an hour.
    pub(crate) fn new(rules: Rules) -> Self {
        let mut world = Self {
            now: 3600,
            nodes: Vec::new(),
            replaced: Vec::new(),
            repairs: Vec::new(),
            views: Vec::new(),
            launches: 0,
            most_away: 0,
            rules,
        };
        for _ in 0..world.rules.size {
            let zone = world.launches % world.rules.zones;
            world.launch(0, &format!("z{zone}"));
        }
        world
    }

    fn launch(&mut self, at: u64, zone: &str) {
        self.nodes.push(Node {
            name: format!("n{:02}", self.launches),
            zone: zone.to_owned(),
            skew: 0,
            launched: at,
            health: Health::default(),
            note: None,
            announced_at: None,
            requested_at: None,
            leaves: false,
            decisions: Vec::new(),
        });
        self.launches += 1;
    }

    /// One round of all nodes: each sees what `look` says, and none sees what another does in the same round.
    pub(crate) fn step(&mut self, look: impl Fn(&Node, u64) -> Seen) {
        self.now += STEP;
        self.replace_unhealthy();
        let seen: Vec<Seen> = self.nodes.iter().map(|node| look(node, self.now)).collect();
        for (node, seen) in self.nodes.iter_mut().zip(&seen) {
            node.leaves = seen.leaving;
        }
        self.views.push((self.now, self.population()));
        let notes = self.notes();
        let mut after = Vec::new();
        for (index, seen) in seen.iter().enumerate() {
            after.push(self.round(index, seen, &notes));
        }
        for (index, after) in after.into_iter().enumerate() {
            if let Some((node, decision)) = after {
                self.nodes[index] = node;
                self.act(index, decision);
            }
        }
        let requested = |node: &&Node| node.requested_at.is_some();
        let coming = |node: &&Node| node.launched > 0 && !node.is_ready(self.now);
        let away = self
            .nodes
            .iter()
            .filter(|node| requested(node) || coming(node))
            .count();
        self.most_away = self.most_away.max(away);
    }

    fn act(&mut self, index: usize, decision: RepairDecision) {
        let node = &mut self.nodes[index];
        if decision == RepairDecision::Replace {
            node.requested_at = Some(self.now);
            self.replaced.push(node.name.clone());
            self.repairs.push((self.now, node.health.lasting()));
        }
        node.decisions.push(decision);
    }

    fn replace_unhealthy(&mut self) {
        let now = self.now;
        let is_done = |node: &Node| node.requested_at.is_some_and(|at| now >= at + TERMINATES);
        let gone: Vec<Node> = self
            .nodes
            .iter()
            .filter(|node| is_done(node))
            .cloned()
            .collect();
        self.nodes.retain(|node| !is_done(node));
        for node in gone {
            self.launch(now, &node.zone);
        }
    }

    fn population(&self) -> Population {
        let member = |node: &Node| Member {
            instance: node.name.clone(),
            zone: node.zone.clone(),
            is_there: node.is_there(self.now),
        };
        Population {
            desired: self.rules.size,
            members: self.nodes.iter().map(member).collect(),
            suspended: self.rules.suspended.clone(),
        }
    }

    fn notes(&self) -> BTreeMap<String, HealthNote> {
        let noted = |node: &Node| Some((node.name.clone(), node.note.clone()?));
        self.nodes.iter().filter_map(noted).collect()
    }

    /// The group as this node sees it: each is behind by another time.
    fn view(&self, index: usize) -> Option<Population> {
        let behind = self.rules.stale * (index as u64 % 5) / 4;
        let until = self.now.saturating_sub(behind);
        let seen = self.views.iter().rfind(|(at, _)| *at <= until);
        seen.or(self.views.first())
            .map(|(_, population)| population.clone())
    }

    /// What a node makes of its look, and its decision; `None` for one that runs no agent, or has asked already.
    fn round(
        &self,
        index: usize,
        seen: &Seen,
        notes: &BTreeMap<String, HealthNote>,
    ) -> Option<(Node, RepairDecision)> {
        let mut node = self.nodes[index].clone();
        if !node.is_ready(self.now) || node.requested_at.is_some() {
            return None;
        }
        let at = Duration::from_secs(self.now);
        node.health.fold(at, &seen.symptoms, &BTreeSet::new());
        let situation = self.situation(&node, index, seen, notes);
        let decision = decide(self.rules.share, &situation);
        // Who cannot reach the store cannot write its note either.
        if !seen.blind && !seen.shared.contains(&SharedCause::StateStore) {
            let note = self.note(&node, &decision, seen);
            if note_due(node.note.as_ref(), &note) {
                node.note = Some(note);
            }
            let asks = node.note.as_ref().is_some_and(|note| note.asks);
            node.announced_at = asks.then_some(node.announced_at.unwrap_or(self.now));
        }
        Some((node, decision))
    }

    fn note(&self, node: &Node, decision: &RepairDecision, seen: &Seen) -> HealthNote {
        let etcd_healthy = !seen.symptoms.contains(&Symptom::EtcdMember);
        HealthNote {
            schema_version: NOTE_SCHEMA.to_owned(),
            instance: node.name.clone(),
            zone: node.zone.clone(),
            at: node.clock(self.now),
            since: node.health.since().map(|since| node.clock(since.as_secs())),
            symptoms: node.health.unhealthy(),
            asks: decision.asks(),
            etcd_healthy: self.rules.etcd.then_some(etcd_healthy),
        }
    }

    fn situation(
        &self,
        node: &Node,
        index: usize,
        seen: &Seen,
        notes: &BTreeMap<String, HealthNote>,
    ) -> Situation {
        let now = node.clock(self.now);
        let others = notes.values().filter(|note| note.instance != node.name);
        let read: Vec<(Option<Peer>, bool)> =
            others.filter_map(|note| peer_of(note, now)).collect();
        let healthy_others = read.iter().filter(|(_, etcd)| *etcd).count();
        let recent = |at: u64| self.now.saturating_sub(at) < RECURS_WITHIN.as_secs();
        let repairs = self.repairs.iter().filter(|(at, _)| recent(*at));
        let requested = node
            .announced_at
            .map(|at| Duration::from_secs(self.now - at));
        Situation {
            instance: node.name.clone(),
            ready_for: Duration::from_secs(self.now - node.launched - BOOTS),
            since: node.clock(node.health.since().unwrap_or_default().as_secs()),
            symptoms: node.health.unhealthy(),
            lasting: node.health.lasting(),
            shared: seen.shared.clone(),
            requested: false,
            announced_for: requested,
            population: self.view(index).filter(|_| !seen.blind),
            peers: (!seen.blind).then(|| read.into_iter().filter_map(|(peer, _)| peer).collect()),
            repairs: repairs.map(|(_, symptoms)| symptoms.clone()).collect(),
            etcd: self.rules.etcd.then_some(Etcd {
                members: self.rules.size,
                healthy_others,
            }),
        }
    }
}
