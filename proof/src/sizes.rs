//! What is run: the sizes that are explored.

use crate::config::{Config, Duplicate, Faults};
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

/// The protocol at the largest sizes whose every state fits two cores, two gigabytes and three minutes.
pub fn large() -> Vec<Case> {
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
