//! The laws of repairs: an instance is marked unhealthy for a fault of its own, never for one that many have, never beyond the
//! share, and never where etcd would lose its quorum.

use crate::bugs::Bug;
use crate::draw::Draw;
use crate::hub::{Hub, Status};
use crate::plan::{Fault, KopsGeneration, Plan, Service, Sickness};
use crate::scaling_groups::Marked;
use quake_model::ports::Condition;
use quake_testkit::Called;

/// How long a node must have been sick before all others know: two looks, its note, and a retry of it.
const KNOWN_AFTER_MS: u64 = 5 * 60_000;

/// How long an outage must have lasted before it counts: longer than a slow call to the group.
const OUTAGE_AFTER_MS: u64 = 2 * 60_000;

/// For how long the word of a member of etcd counts that it answers: 15 minutes by clocks that are set by four.
const SAID_WITHIN_MS: u64 = 20 * 60_000;

impl Plan {
    /// The nodes of which a share may be away, this one among them.
    fn population(&self, node: usize) -> Vec<usize> {
        let group = self.instances[node].group;
        let is_etcd = self.groups[group].is_control_plane();
        let instances = self.instances.iter().enumerate();
        let those = instances.filter(|(_, it)| match is_etcd {
            true => self.groups[it.group].is_control_plane(),
            false => it.group == group,
        });
        those.map(|(node, _)| node).collect()
    }

    /// How many a population is to have, and how many of them may be marked.
    fn share_of(&self, node: usize) -> (usize, usize) {
        let population = self.population(node);
        let size = population
            .iter()
            .filter(|node| !self.instances[**node].is_spare);
        let size = size
            .filter(|node| self.instances[**node].replaces.is_none())
            .count();
        let is_etcd = self.is_control_plane(node);
        let share = self.repair().map_or(0, |repair| repair.share.of(size));
        (size, if is_etcd { 1 } else { share })
    }
}

impl Hub {
    /// Holds a request that an instance be replaced to the laws.
    pub(crate) fn see_unhealthy(&mut self, node: usize, called: &Called<'_>) {
        if called.operation != "set_unhealthy" || called.ended.is_err() {
            return;
        }
        let now = self.now_ms();
        if !self.marked.iter().any(|marked| marked.node == node) {
            let mut draw = Draw::of(self.plan.seed, &[16, node as u64]);
            self.marked.push(Marked::new(node, now, &mut draw));
            if self.has(Bug::MarksTwo) {
                let population = self.plan.population(node);
                let other = population.into_iter().find(|other| *other != node);
                let other = other.map(|other| Marked::new(other, now, &mut draw));
                self.marked.extend(other);
            }
        }
        let laws: [(&'static str, Option<String>); 4] = [
            ("repair-share", self.beyond_share(node)),
            ("repair-own-fault", self.of_others(node, now)),
            ("repair-no-outage", self.in_outage(node, now)),
            ("repair-keeps-quorum", self.without_quorum(node, now)),
        ];
        for (law, seen) in laws {
            if let Some(seen) = seen {
                self.judge.broke(now, node, law, seen);
            }
        }
    }

    /// No more than the share of a group is marked and not replaced.
    fn beyond_share(&self, node: usize) -> Option<String> {
        let population = self.plan.population(node);
        let (size, limit) = self.plan.share_of(node);
        let open = self.marked.iter().filter(|it| !it.is_replaced());
        let marked: Vec<usize> = open
            .map(|marked| marked.node)
            .filter(|it| population.contains(it))
            .collect();
        let seen = || format!("of {size} nodes {marked:?} are marked, and {limit} may be");
        (marked.len() > limit).then(seen)
    }

    /// The node is sick, and not more of its population are than may be before the cause counts as shared.
    fn of_others(&self, node: usize, now: u64) -> Option<String> {
        let own: Vec<Sickness> = self.symptoms(node, now, 0);
        if own.is_empty() {
            return Some("nothing is wrong with it".to_owned());
        }
        let (size, limit) = self.plan.share_of(node);
        let population = self.plan.population(node);
        let others = population.iter().filter(|other| **other != node);
        let known: Vec<(usize, Vec<Sickness>)> = others
            .filter(|other| self.is_ready_for(**other, now, KNOWN_AFTER_MS))
            .map(|other| (*other, self.symptoms(*other, now, KNOWN_AFTER_MS)))
            .filter(|(_, sick)| !sick.is_empty())
            .collect();
        let alike = known
            .iter()
            .filter(|(_, sick)| sick.iter().any(|it| own.contains(it)));
        let is_shared = 1 + alike.count() > (size / 5).max(limit);
        let are_many = 1 + known.len() > (size / 3).max(limit);
        let was_unread = self.outage_of(Service::Objects, now.saturating_sub(KNOWN_AFTER_MS), now);
        let seen = || format!("it has {own:?}, and of {size} nodes {known:?}, too");
        ((is_shared || are_many) && !was_unread).then(seen)
    }

    /// What a node says of itself that is wrong with it, for so long already.
    fn symptoms(&self, node: usize, now: u64, since_ms: u64) -> Vec<Sickness> {
        let group = &self.plan.groups[self.plan.instances[node].group];
        let is_legacy = self.plan.generation == KopsGeneration::Legacy;
        // A worker has no member, and the pod of etcd-manager runs whether or not its member answers.
        let shows_etcd = is_legacy && group.is_control_plane();
        let sick = self.nodes[node].sick.iter();
        let sick = sick.filter(|(_, since)| since + since_ms <= now);
        let sick = sick.filter(|(sickness, _)| shows_etcd || *sickness != Sickness::Etcd);
        sick.map(|(sickness, _)| *sickness).collect()
    }

    fn is_ready_for(&self, node: usize, now: u64, time: u64) -> bool {
        let state = &self.nodes[node];
        let is_ready = state.status == Status::Ready && state.dead.is_none();
        is_ready && state.ready_ms + time <= now
    }

    /// Nothing is marked while all nodes have an outage of what they need to see each other.
    fn in_outage(&self, node: usize, now: u64) -> Option<String> {
        let is_worker = self.plan.groups[self.plan.instances[node].group]
            .members
            .is_empty();
        let from = now.saturating_sub(OUTAGE_AFTER_MS);
        let services = [
            (Service::Objects, true),
            // A control plane asks its own API server, which says nothing of others.
            (Service::Cluster, is_worker),
        ];
        let mut down = services.into_iter().filter(|(_, counts)| *counts);
        let down = down.find(|(service, _)| {
            self.outage_of(*service, now, now) && self.outage_of(*service, from, from)
        })?;
        Some(format!("{:?} is down for all", down.0))
    }

    /// Whether a service was down for all nodes at some moment of this time.
    fn outage_of(&self, service: Service, from: u64, to: u64) -> bool {
        let mut faults = self.plan.faults.iter();
        faults.any(|fault| match fault {
            Fault::Outage {
                node: None,
                service: down,
                from_ms,
                to_ms,
                condition: Condition::Unreachable | Condition::TimedOut,
            } => *down == service && *from_ms <= to && from < (*to_ms).min(self.plan.freeze_ms),
            _ => false,
        })
    }

    /// A majority of the members of etcd answers without it, as far as they said lately.
    fn without_quorum(&self, node: usize, now: u64) -> Option<String> {
        let members = self.plan.members().len();
        if self.plan.groups[self.plan.instances[node].group]
            .members
            .is_empty()
        {
            return None;
        }
        let population = self.plan.population(node);
        let others = population.iter().filter(|other| **other != node);
        let answered = others.filter(|other| {
            let last = self.nodes[**other].answered_ms;
            last.is_some_and(|last| last + SAID_WITHIN_MS > now)
        });
        let answered = answered.count();
        let seen = || format!("of {members} members {answered} others answer");
        (answered <= members / 2).then(seen)
    }
}
