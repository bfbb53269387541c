//! What is run: the sizes that are explored, and the random runs.

use crate::config::{Config, Duplicate, Faults, Variant};
use crate::invariants::Violation;

/// A crash and a lost reply.
pub(crate) const CALLS: Faults = Faults {
    crashes: 1,
    losses: 1,
    kills: 0,
    reboots: 0,
};

/// A crash, a lost reply and a termination.
const KILLS: Faults = Faults { kills: 1, ..CALLS };

/// A reboot.
pub(crate) const REBOOT: Faults = Faults {
    crashes: 0,
    losses: 0,
    kills: 0,
    reboots: 1,
};

/// Something that is explored, and what is expected of it.
#[derive(Debug, Clone)]
pub struct Case {
    pub config: Config,
    /// States after which it is cut.
    pub most_states: usize,
    /// The violation that it must lead to; `None` where there must be none.
    pub expected: Option<Violation>,
}

impl Case {
    pub(crate) fn holds(config: Config, most_states: usize) -> Self {
        Self {
            config,
            most_states,
            expected: None,
        }
    }
}

/// The protocol at sizes that are explored in seconds, for every run of the tests.
pub fn small() -> Vec<Case> {
    [
        Config::new(2, 1, 2).stale(1).faults(KILLS),
        Config::new(2, 1, 2).stale(2).faults(CALLS),
        Config::new(2, 1, 2).stale(1).faults(REBOOT).late_tags(),
        Config::new(2, 2, 2).stale(1).faults(CALLS),
        Config::new(3, 2, 1).stale(1).faults(CALLS),
        Config::groups(3, 1).stale(1).faults(CALLS),
        Config::new(2, 1, 2)
            .stale(2)
            .faults(CALLS)
            .duplicate(Duplicate::Persistent),
        Config::new(2, 2, 1)
            .stale(2)
            .faults(CALLS)
            .duplicate(Duplicate::Late),
    ]
    .map(|config| Case::holds(config.described(), 1_000_000))
    .into()
}

/// The protocol at the sizes that fit two cores, two gigabytes and three minutes.
pub fn large() -> Vec<Case> {
    let mut all = whole();
    all.extend(cut());
    all
}

/// Sizes whose every state is visited.
fn whole() -> Vec<Case> {
    let twice = Faults {
        crashes: 2,
        losses: 2,
        ..Faults::default()
    };
    let (one, persistent, late) = (Faults::each(1), Duplicate::Persistent, Duplicate::Late);
    [
        Config::new(2, 1, 2).stale(2).faults(one),
        Config::new(2, 2, 2).stale(1).faults(KILLS),
        Config::new(2, 2, 2).stale(2).faults(twice),
        Config::new(2, 2, 2).stale(2).faults(KILLS).serials_first(),
        Config::new(3, 2, 2).stale(2).faults(CALLS),
        Config::new(3, 1, 2).stale(2).faults(KILLS),
        Config::groups(3, 1).stale(2).faults(CALLS),
        Config::groups(3, 2).stale(1).faults(CALLS),
        Config::new(2, 2, 2)
            .stale(2)
            .faults(KILLS)
            .duplicate(persistent),
        Config::new(2, 1, 2).stale(2).faults(one).duplicate(late),
        Config::new(2, 2, 2).stale(2).faults(CALLS).duplicate(late),
    ]
    .map(|config| Case::holds(config.described(), 5_000_000))
    .into()
}

/// Sizes that are too large: as far as they go.
fn cut() -> Vec<Case> {
    let one = Faults::each(1);
    [
        Config::new(2, 2, 2).stale(2).faults(KILLS),
        Config::new(2, 2, 2).stale(1).faults(one),
        Config::new(3, 2, 1).stale(2).faults(KILLS),
        Config::new(3, 2, 2).stale(1).faults(KILLS),
        Config::groups(3, 1).stale(2).faults(KILLS),
        Config::new(2, 2, 1).stale(2).faults(one).late_tags(),
    ]
    .map(|config| Case::holds(config.described(), 3_000_000))
    .into()
}

/// Random runs of the protocol at the size of a real control plane: how many, and of what.
pub fn walks() -> Vec<(Config, u64)> {
    let faults = Faults {
        crashes: 6,
        losses: 6,
        kills: 3,
        reboots: 3,
    };
    let base = || Config::new(5, 3, 2).stale(4).faults(faults);
    vec![
        (base().named("5 x 3 x 2"), 4_000),
        (base().late_tags().named("5 x 3 x 2, late tags"), 2_000),
        (
            base().serials_first().named("5 x 3 x 2, serials first"),
            2_000,
        ),
        (
            base()
                .duplicate(Duplicate::Persistent)
                .named("5 x 3 x 2 and a duplicate"),
            2_000,
        ),
        (
            base()
                .duplicate(Duplicate::Late)
                .named("5 x 3 x 2 and a late duplicate"),
            2_000,
        ),
    ]
}

/// The rows of the reference's own table of races (part E7), to be set beside it.
pub fn reference_walks() -> Vec<(Config, u64)> {
    let faults = Faults {
        crashes: 2,
        losses: 2,
        kills: 2,
        reboots: 0,
    };
    let shapes = [
        Config::groups(3, 2).named("3 groups x 1 member"),
        Config::new(3, 3, 2).named("1 group, 3 members, 3 instances"),
        Config::new(2, 1, 2).named("1 group, 1 member, 2 instances"),
        Config::new(5, 3, 2).named("1 group, 3 members, 5 instances"),
    ];
    let mut rows = Vec::new();
    for shape in shapes {
        let shape = shape.stale(4).faults(faults);
        let name = |what: &str| format!("{}, {what}", shape.name);
        let with = |variant: Variant, what: &str| shape.clone().variant(variant).named(&name(what));
        rows.push((with(Variant::Whole, "whole"), 1_000));
        rows.push((with(Variant::AsWritten, "E10 as written"), 1_000));
        rows.push((with(Variant::NoIntent, "no journal"), 1_000));
        rows.push((with(Variant::NoOrder, "no ordering"), 1_000));
        let duplicate = with(Variant::Whole, "one duplicate");
        rows.push((duplicate.duplicate(Duplicate::Persistent), 1_000));
    }
    rows
}
