//! What comes of a state once faults stop and reads are fresh: are all members taken in the end?
//!
//! Checked by fair runs, not by an analysis of the graph: from every state that was reached, EC2 finishes what it
//! began and the agents take whole passes in turn, until nothing changes. Two turns are run, the older instances
//! first and the younger first. Each such run is deterministic, so it ends or it repeats a state.

use crate::agent;
use crate::cloud;
use crate::config::{Config, Duplicate, Faults};
use crate::hash::{Spread, fingerprint};
use crate::invariants::is_complete;
use crate::moves::Move;
use crate::state::{At, Life, State};
use crate::view::Decider;
use std::collections::HashSet;

/// Rounds after which a run that still changes counts as one that never ends; a complete run takes about ten.
const ROUNDS: usize = 60;

/// The fair continuations of states, each looked at once.
#[derive(Debug)]
pub struct Liveness {
    config: Config,
    good: [HashSet<u64, Spread>; 2],
    bytes: Vec<u8>,
}

impl Liveness {
    /// Nothing is looked at yet.
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone().stale(0),
            good: [HashSet::default(), HashSet::default()],
            bytes: Vec::new(),
        }
    }

    /// How many settled states were run from.
    pub fn runs(&self) -> usize {
        self.good.iter().map(HashSet::len).sum()
    }

    /// Whether every member is taken in the end, from here, whoever comes first. Says nothing where a duplicate is:
    /// then nobody is to take its member.
    pub fn is_reached(&mut self, state: &State, decider: &mut Decider) -> bool {
        if self.config.duplicate != Duplicate::None {
            return true;
        }
        let settled = settled(state);
        [false, true]
            .into_iter()
            .all(|younger_first| self.run(&settled, decider, younger_first))
    }

    /// The state that a fair continuation ends in or comes back to, where members stay untaken.
    pub fn end(&self, state: &State, decider: &mut Decider) -> Option<State> {
        [false, true].into_iter().find_map(|younger_first| {
            let mut end = settled(state);
            for _ in 0..ROUNDS {
                round(&self.config, &mut end, decider, younger_first);
            }
            (!is_complete(&self.config, &end)).then_some(end)
        })
    }

    fn run(&mut self, state: &State, decider: &mut Decider, younger_first: bool) -> bool {
        let good = usize::from(younger_first);
        let mut state = state.clone();
        let mut met = Vec::new();
        for _ in 0..ROUNDS {
            state.encode(0, &mut self.bytes);
            let print = fingerprint(&self.bytes);
            if self.good[good].contains(&print) {
                break;
            }
            if met.contains(&print) {
                if is_complete(&self.config, &state) {
                    break;
                }
                return false;
            }
            met.push(print);
            round(&self.config, &mut state, decider, younger_first);
        }
        let ended = met.len() < ROUNDS;
        if ended {
            self.good[good].extend(met);
        }
        ended
    }
}

/// The state with no more faults and nothing to see but the truth.
pub(crate) fn settled(state: &State) -> State {
    let mut settled = state.clone();
    settled.faults = Faults::default();
    for volume in &mut settled.volumes {
        volume.shown.settle();
    }
    for instance in &mut settled.instances {
        instance.life.settle();
        if instance.life.now() == Life::Untagged {
            instance.life.set(Life::Running);
            instance.life.settle();
        }
    }
    settled
}

/// EC2 finishes, and every agent takes one pass.
fn round(config: &Config, state: &mut State, decider: &mut Decider, younger_first: bool) {
    let mut order: Vec<usize> = (0..state.instances.len()).collect();
    if younger_first {
        order.reverse();
    }
    for agent in order {
        finish(state);
        pass(config, state, agent, decider);
    }
    finish(state);
}

fn finish(state: &mut State) {
    let mut next = Vec::new();
    loop {
        next.clear();
        cloud::steps(state, &mut next);
        match next.pop() {
            Some((_, after)) => *state = settled(&after),
            None => return,
        }
    }
}

/// One pass to its end; where it forgets an intent, it does so before it observes.
fn pass(config: &Config, state: &mut State, me: usize, decider: &mut Decider) {
    let mut next = Vec::new();
    // A pass has seven steps at most.
    for _ in 0..8 {
        next.clear();
        let outcomes = agent::outcomes(config, state, me, decider);
        agent::steps(config, state, me, &outcomes, &mut next);
        let forgets = |step: Move| matches!(step, Move::Forget(_) | Move::ForgetOnView(_));
        let at = next.iter().position(|(step, _)| forgets(*step));
        if next.is_empty() {
            return;
        }
        let (step, after) = next.swap_remove(at.unwrap_or(0));
        *state = settled(&after);
        if state.instances[me].at == At::Start && !forgets(step) {
            return;
        }
    }
}
