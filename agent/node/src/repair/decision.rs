//! The decision itself: the first reason to skip that applies, else a request.

use quake_model::repair::{RepairDecision, RepairShare, SharedCause, SkipReason, Symptom};
use quake_model::time::Timestamp;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long a node must have been ready. A guess: what a DaemonSet's first image pulls take.
pub const JUST_READY: Duration = Duration::from_secs(15 * 60);

/// How long a node's wish must have been readable before it acts. A guess: ten times what a group's view, or a round of
/// reading notes, is behind.
pub const ANNOUNCED_FOR: Duration = Duration::from_secs(150);

/// For how long a repair is remembered when the same symptom comes back.
pub const RECURS_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// How many repairs for one symptom within that time are the least that stop further ones.
const RECURS: usize = 3;

/// How much of a group may have one symptom before its cause is taken for a shared one: a fifth, as Karpenter stops to
/// repair a node pool of which more is unhealthy (its documentation of node auto repair, read 2026-11).
const ALIKE_OF: usize = 5;

/// How much of a group may have any symptom: a third.
const UNHEALTHY_OF: usize = 3;

/// The processes of a group without which a request loses an instance, or does nothing (EC2 Auto Scaling user guide, read
/// 2026-11).
const NEEDED: [&str; 4] = ["Launch", "Terminate", "HealthCheck", "ReplaceUnhealthy"];

/// One instance among those of which a share may be away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub instance: String,
    pub zone: String,
    /// Whether it is in service, healthy to its group, and past its own boot. Anything else is away.
    pub is_there: bool,
}

/// The instances of which a share may be away: a group's, or all of the cluster's control plane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Population {
    /// How many there should be.
    pub desired: usize,
    pub members: Vec<Member>,
    /// Processes suspended in the group of this instance.
    pub suspended: BTreeSet<String>,
}

impl Population {
    fn size(&self) -> usize {
        self.desired.max(self.members.len())
    }

    fn member(&self, instance: &str) -> Option<&Member> {
        self.members
            .iter()
            .find(|member| member.instance == instance)
    }
}

/// An unhealthy peer, by its own note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub instance: String,
    pub since: Timestamp,
    pub symptoms: BTreeSet<Symptom>,
    /// Whether it would have itself replaced if it were its turn.
    pub asks: bool,
}

impl Peer {
    /// Its place among those that ask: whoever is unhealthy for longer comes first.
    pub fn rank(&self) -> (Timestamp, &str) {
        (self.since, &self.instance)
    }
}

/// The members of etcd, as seen by one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Etcd {
    /// How many there are, this one included; zero where that is not known.
    pub members: usize,
    /// How many others said lately that they answer.
    pub healthy_others: usize,
}

impl Etcd {
    /// Whether a majority answers without this member.
    fn keeps_quorum(self) -> bool {
        self.members > 0 && self.healthy_others > self.members / 2
    }
}

/// All that the decision depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    pub instance: String,
    /// How long the node has been ready.
    pub ready_for: Duration,
    /// Since when something is wrong, by the node's own clock.
    pub since: Timestamp,
    /// What is wrong, whether or not it lasts.
    pub symptoms: BTreeSet<Symptom>,
    /// What lasts.
    pub lasting: BTreeSet<Symptom>,
    /// The shared causes that this node sees.
    pub shared: BTreeSet<SharedCause>,
    /// Whether a repair of this instance was requested before.
    pub requested: bool,
    /// For how long the note that it asks has been readable; `None` while it does not say so.
    pub announced_for: Option<Duration>,
    /// `None` when it cannot be seen.
    pub population: Option<Population>,
    /// The unhealthy peers; `None` when their notes cannot be seen.
    pub peers: Option<Vec<Peer>>,
    /// The symptoms of each repair of this population within [`RECURS_WITHIN`].
    pub repairs: Vec<BTreeSet<Symptom>>,
    /// `None` on a node without a member.
    pub etcd: Option<Etcd>,
}

/// Decides. The reasons that need nothing of others come first, so that nothing is asked of others for them; those for
/// which the node waits its turn come last.
pub fn decide(share: RepairShare, situation: &Situation) -> RepairDecision {
    if situation.symptoms.is_empty() {
        return RepairDecision::Healthy;
    }
    if let Some(reason) = own_reason(situation) {
        return RepairDecision::skip(reason);
    }
    if let Some(cause) = situation.shared.first() {
        return RepairDecision::shared(*cause);
    }
    let Some(population) = &situation.population else {
        return RepairDecision::skip(SkipReason::GroupUnseen);
    };
    let Some(peers) = &situation.peers else {
        return RepairDecision::skip(SkipReason::PeersUnseen);
    };
    let check = GroupCheck {
        situation,
        population,
        peers,
        // Of members of etcd it is always one, even where each has a group of its own.
        limit: situation.etcd.map_or(share.of(population.size()), |_| 1),
    };
    match check.group_reason().or_else(|| check.turn_reason()) {
        Some(reason) => RepairDecision::skip(reason),
        None => RepairDecision::Replace,
    }
}

fn own_reason(situation: &Situation) -> Option<SkipReason> {
    first_reason([
        (situation.requested, SkipReason::AlreadyRequested),
        (situation.ready_for < JUST_READY, SkipReason::JustReady),
        (situation.lasting.is_empty(), SkipReason::NotLasting),
    ])
}

/// The first reason that applies.
fn first_reason(reasons: impl IntoIterator<Item = (bool, SkipReason)>) -> Option<SkipReason> {
    let mut reasons = reasons.into_iter();
    reasons.find_map(|(applies, reason)| applies.then_some(reason))
}

/// What is seen of the others.
struct GroupCheck<'a> {
    situation: &'a Situation,
    population: &'a Population,
    peers: &'a [Peer],
    limit: usize,
}

impl GroupCheck<'_> {
    /// A reason for which it is not a matter of waiting.
    fn group_reason(&self) -> Option<SkipReason> {
        let (population, etcd) = (self.population, self.situation.etcd);
        let is_suspended = |process: &&str| population.suspended.contains(*process);
        let own = population.member(&self.situation.instance);
        let own = own.filter(|own| own.is_there);
        let is_zone_unhealthy = own.is_some_and(|own| self.is_zone_unhealthy(&own.zone));
        first_reason([
            (NEEDED.iter().any(is_suspended), SkipReason::GroupSuspended),
            (own.is_none(), SkipReason::NotInService),
            (self.limit == 0, SkipReason::GroupTooSmall),
            (
                etcd.is_some_and(|etcd| !etcd.keeps_quorum()),
                SkipReason::Quorum,
            ),
            (self.shares_symptom(), SkipReason::SharedSymptom),
            (self.is_unhealthy(), SkipReason::ManyUnhealthy),
            (is_zone_unhealthy, SkipReason::ZoneUnhealthy),
            (self.recurs(), SkipReason::Recurring),
        ])
    }

    /// Why it is not its turn yet.
    fn turn_reason(&self) -> Option<SkipReason> {
        let announced = self.situation.announced_for;
        let is_readable = announced.is_some_and(|announced| announced >= ANNOUNCED_FOR);
        first_reason([
            (self.used() >= self.limit, SkipReason::ShareUsed),
            (!is_readable, SkipReason::Announcing),
        ])
    }

    /// How many are away, or ask and come first: as one set, for one that asked may be away already.
    fn used(&self) -> usize {
        let own = (self.situation.since, self.situation.instance.as_str());
        let is_before = |member: &&Member| {
            let mut peers = self.peers.iter();
            peers.any(|peer| peer.instance == member.instance && peer.asks && peer.rank() < own)
        };
        let members = self.population.members.iter();
        let there = members.filter(|member| member.is_there);
        let before = there.clone().filter(is_before).count();
        self.population.size() - there.count() + before
    }

    /// The unhealthy peers that belong to this population.
    fn unhealthy_peers(&self) -> impl Iterator<Item = &Peer> {
        let known = |peer: &&Peer| {
            peer.instance != self.situation.instance
                && self.population.member(&peer.instance).is_some()
        };
        self.peers.iter().filter(known)
    }

    fn shares_symptom(&self) -> bool {
        let symptoms = &self.situation.symptoms;
        let alike = |peer: &&Peer| !peer.symptoms.is_disjoint(symptoms);
        1 + self.unhealthy_peers().filter(alike).count() > self.most(ALIKE_OF)
    }

    fn is_unhealthy(&self) -> bool {
        1 + self.unhealthy_peers().count() > self.most(UNHEALTHY_OF)
    }

    /// One part of `parts`, and not less than may be away.
    fn most(&self, parts: usize) -> usize {
        (self.population.size() / parts).max(self.limit)
    }

    /// Whether this node is not alone in its zone with its trouble, and most of the zone has some.
    fn is_zone_unhealthy(&self, zone: &str) -> bool {
        let members = self.population.members.iter();
        let members = members.filter(|member| member.zone == zone);
        let is_peer = |name: &str| self.peers.iter().any(|peer| peer.instance == name);
        let is_own = |name: &str| name == self.situation.instance;
        let is_bad = |it: &&Member| !it.is_there || is_own(&it.instance) || is_peer(&it.instance);
        let bad = members.clone().filter(is_bad).count();
        bad >= 2 && bad * 2 > members.count()
    }

    fn recurs(&self) -> bool {
        let symptoms = &self.situation.lasting;
        let alike = |past: &&BTreeSet<Symptom>| !past.is_disjoint(symptoms);
        self.situation.repairs.iter().filter(alike).count() >= self.limit.max(RECURS)
    }
}

#[cfg(test)]
mod tests;
