//! Random runs, for sizes whose graph is too large to visit: the same steps, chosen by chance from a seed.

use crate::agent::{self, Next};
use crate::cloud;
use crate::config::Config;
use crate::explore::Found;
use crate::history::History;
use crate::invariants::{Violation, broken};
use crate::liveness::Liveness;
use crate::moves::Move;
use crate::reading::Reading;
use crate::state::State;
use crate::view::Decider;
use std::collections::BTreeMap;

/// Steps of one run before its faults stop.
const STEPS: usize = 400;

/// One step in so many is a fault, while there are any left.
const FAULT_EVERY: u64 = 24;

/// What so many runs came to.
#[derive(Debug)]
pub struct Walks {
    /// How many runs there were.
    pub runs: u64,
    /// Runs that ended by a violation, by what it was.
    pub violations: BTreeMap<Violation, u64>,
    pub steps: u64,
    /// The first violation, with its seed.
    pub found: Option<(u64, Found)>,
}

/// Runs once for each seed below `runs`.
pub fn walk(config: &Config, runs: u64) -> Walks {
    let mut decider = Decider::new(config);
    let mut liveness = Liveness::new(config);
    let mut walks = Walks {
        runs,
        violations: BTreeMap::new(),
        steps: 0,
        found: None,
    };
    for seed in 0..runs {
        let mut run = Run {
            config,
            dice: Dice(seed),
            state: State::start(config),
            trace: Vec::new(),
        };
        let violation = run.finish(&mut decider, &mut liveness);
        walks.steps += run.trace.len() as u64;
        let Some(violation) = violation else {
            continue;
        };
        *walks.violations.entry(violation).or_default() += 1;
        walks.found.get_or_insert_with(|| {
            let found = Found {
                violation,
                trace: run.trace,
                end: run.state,
            };
            (seed, found)
        });
    }
    walks
}

struct Run<'a> {
    config: &'a Config,
    dice: Dice,
    state: State,
    trace: Vec<(State, Move)>,
}

impl Run<'_> {
    fn finish(&mut self, decider: &mut Decider, liveness: &mut Liveness) -> Option<Violation> {
        for _ in 0..STEPS {
            let Some((step, after)) = self.next(decider) else {
                continue;
            };
            let broken = broken(self.config, &self.state, step, &after)
                .or_else(|| decider.disturbed().map(Violation::Disturbed));
            let before = std::mem::replace(&mut self.state, after);
            self.trace.push((before, step));
            if broken.is_some() {
                return broken;
            }
        }
        let counts = Violation::Stuck.counts(self.config.judged);
        let is_stuck = counts && !liveness.is_reached(&self.state, decider);
        is_stuck.then_some(Violation::Stuck)
    }

    /// One step of someone whose turn it is by chance; `None` where it only waits.
    fn next(&mut self, decider: &mut Decider) -> Option<Next> {
        let mut next = Vec::new();
        if self.dice.below(FAULT_EVERY) == 0 {
            cloud::faults(self.config, &self.state, &mut next);
        } else {
            let turn = self.dice.below(self.state.instances.len() as u64 + 1) as usize;
            match turn.checked_sub(1) {
                None => cloud::steps(&self.state, &mut next),
                Some(me) => {
                    let reading = self.reading();
                    let outcome = agent::observes(self.config, &self.state, me)
                        .map(|known| decider.outcome(&self.state, &reading, known));
                    let outcomes = outcome.as_slice();
                    agent::steps(self.config, &self.state, me, outcomes, &mut next);
                }
            }
        }
        if next.is_empty() {
            return None;
        }
        let at = self.dice.below(next.len() as u64) as usize;
        Some(next.swap_remove(at))
    }

    fn reading(&mut self) -> Reading {
        let stale = self.config.stale;
        let dice = &mut self.dice;
        Reading {
            volumes: self
                .state
                .volumes
                .iter()
                .map(|it| dice.version(&it.shown, stale))
                .collect(),
            lives: self
                .state
                .instances
                .iter()
                .map(|it| dice.version(&it.life, stale))
                .collect(),
        }
    }
}

/// Chance from a seed: SplitMix64, Steele, Lea and Flood 2014.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound.max(1)
    }

    /// Half of all reads are fresh: a run in which none is gets nowhere.
    fn version<T: Copy + PartialEq>(&mut self, history: &History<T>, stale: usize) -> T {
        let versions = history.readable(stale);
        match self.below(2) {
            0 => versions[0],
            _ => versions[self.below(versions.len() as u64) as usize],
        }
    }
}
