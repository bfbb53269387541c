//! Every state that can be reached, breadth first, so that the first violation found has a shortest trace.

use crate::agent::{self, Next};
use crate::cloud;
use crate::config::Config;
use crate::hash::{Spread, fingerprint};
use crate::invariants::{Violation, broken};
use crate::liveness::Liveness;
use crate::moves::Move;
use crate::state::State;
use crate::view::Decider;
use std::collections::HashSet;

/// What an exploration came to.
#[derive(Debug)]
pub struct Report {
    pub config: Config,
    pub states: usize,
    pub transitions: usize,
    /// The longest of the shortest ways to a state.
    pub depth: usize,
    /// Whether every state was visited; else the bound on states cut it.
    pub complete: bool,
    /// Views for which the real choice was called.
    pub views: usize,
    /// Settled states that were followed to their end.
    pub liveness_runs: usize,
    /// The first violation.
    pub found: Option<Found>,
}

/// A violation and how it came about.
#[derive(Debug)]
pub struct Found {
    pub violation: Violation,
    /// The steps, each with the state before it.
    pub trace: Vec<(State, Move)>,
    /// The state in which it does not hold.
    pub end: State,
}

/// All steps that may follow a state.
pub fn successors(config: &Config, state: &State, decider: &mut Decider, next: &mut Vec<Next>) {
    next.clear();
    for me in 0..state.instances.len() {
        let outcomes = agent::outcomes(config, state, me, decider);
        agent::steps(config, state, me, &outcomes, next);
    }
    cloud::steps(state, next);
    cloud::faults(config, state, next);
}

/// Explores until nothing new is left, a violation is found, or so many states were visited.
pub fn explore(config: &Config, most_states: usize) -> Report {
    let mut search = Search {
        config,
        decider: Decider::new(config),
        liveness: Liveness::new(config),
        visited: HashSet::default(),
        ways: Vec::new(),
        bytes: Vec::new(),
    };
    let start = State::start(config);
    search.is_new(&start);
    search.ways.push((0, 0));
    let mut level = vec![(0, start)];
    let (mut depth, mut transitions) = (0, 0);
    let mut next = Vec::new();
    let mut complete = true;
    let mut found = None;
    'search: while !level.is_empty() {
        let mut below = Vec::new();
        for (number, state) in level {
            successors(config, &state, &mut search.decider, &mut next);
            transitions += next.len();
            if let Some(by) = search.decider.disturbed() {
                found = Some(search.retrace(number, Violation::Disturbed(by)));
                break 'search;
            }
            for (choice, (step, after)) in next.drain(..).enumerate() {
                if !search.is_new(&after) {
                    continue;
                }
                search.ways.push((number, choice as u16));
                let here = search.ways.len() as u32 - 1;
                if let Some(violation) = search.judge(&state, step, &after) {
                    found = Some(search.retrace(here, violation));
                    break 'search;
                }
                below.push((here, after));
            }
            if search.ways.len() >= most_states {
                complete = false;
                break 'search;
            }
        }
        level = below;
        depth += usize::from(!level.is_empty());
    }
    Report {
        config: config.clone(),
        states: search.ways.len(),
        transitions,
        depth,
        complete: complete && found.is_none(),
        views: search.decider.calls(),
        liveness_runs: search.liveness.runs(),
        found,
    }
}

struct Search<'a> {
    config: &'a Config,
    decider: Decider,
    liveness: Liveness,
    visited: HashSet<u64, Spread>,
    /// How each state was first reached: from which, and by which of its steps.
    ways: Vec<(u32, u16)>,
    bytes: Vec<u8>,
}

impl Search<'_> {
    fn is_new(&mut self, state: &State) -> bool {
        state.encode(self.config.stale, &mut self.bytes);
        self.visited.insert(fingerprint(&self.bytes))
    }

    fn judge(&mut self, before: &State, step: Move, after: &State) -> Option<Violation> {
        broken(self.config, before, step, after).or_else(|| {
            if !Violation::Stuck.counts(self.config.judged) {
                return None;
            }
            let is_live = self.liveness.is_reached(after, &mut self.decider);
            (!is_live).then_some(Violation::Stuck)
        })
    }

    /// Runs the way to a state again, for only its choices are kept.
    fn retrace(&mut self, number: u32, violation: Violation) -> Found {
        let mut choices = Vec::new();
        let mut at = number;
        while at != 0 {
            let (from, choice) = self.ways[at as usize];
            choices.push(usize::from(choice));
            at = from;
        }
        let mut state = State::start(self.config);
        let mut trace = Vec::new();
        let mut next = Vec::new();
        for choice in choices.into_iter().rev() {
            successors(self.config, &state, &mut self.decider, &mut next);
            let (step, after) = next.swap_remove(choice);
            trace.push((std::mem::replace(&mut state, after), step));
        }
        Found {
            violation,
            trace,
            end: state,
        }
    }
}
