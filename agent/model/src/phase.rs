//! The phases of a boot as one constant table: their order is data.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// One stage of a boot; the same words name modules, faults, conditions and metrics everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    Identity,
    /// What it was asked to be.
    Config,
    /// Modules, sysctls, hostname and interfaces.
    Network,
    Storage,
    /// Pinned files in the content-addressed store.
    Assets,
    Credentials,
    /// Every file the node is configured by.
    Files,
    Services,
    Ready,
}

/// One row of the phase table.
#[derive(Debug, Clone, Copy)]
pub struct PhaseRow {
    pub phase: Phase,
    /// Phases that must be done before this one starts.
    pub after: &'static [Phase],
    /// What is true once the phase is done, as a clause an operator can read.
    pub done_when: &'static str,
    /// How long the phase may take in all, waits and retries included. A guess with room to spare: a
    /// phase that reaches it fails with the last state seen, it never hangs.
    pub deadline: Duration,
    /// How many of its steps may run at once.
    pub lanes: usize,
}

const MINUTE: u64 = 60;

/// The table: order is data, visible, and tested for cycles.
pub const PHASES: &[PhaseRow] = &[
    PhaseRow {
        phase: Phase::Identity,
        after: &[],
        done_when: "instance id, zone, type, private address and role are known",
        deadline: Duration::from_secs(10 * MINUTE),
        lanes: 1,
    },
    PhaseRow {
        phase: Phase::Config,
        after: &[Phase::Identity],
        done_when: "the kops generation is recognised, the spec fetched, parsed, valid and lowered",
        deadline: Duration::from_secs(15 * MINUTE),
        lanes: 1,
    },
    PhaseRow {
        phase: Phase::Network,
        after: &[Phase::Config],
        done_when: "modules, sysctls and interface settings are as specified",
        deadline: Duration::from_secs(5 * MINUTE),
        lanes: 1,
    },
    PhaseRow {
        phase: Phase::Storage,
        after: &[Phase::Config],
        done_when: "each wanted volume is ours, attached, carries its filesystem and is mounted",
        deadline: Duration::from_secs(30 * MINUTE),
        lanes: 1,
    },
    PhaseRow {
        phase: Phase::Assets,
        after: &[Phase::Config],
        done_when: "each pinned asset is in the store under its digest and unpacked where wanted",
        deadline: Duration::from_secs(30 * MINUTE),
        // How many requests run at once is the store's to say; a step that waits for its turn costs little.
        lanes: 16,
    },
    PhaseRow {
        phase: Phase::Credentials,
        after: &[Phase::Config],
        done_when: "keys and certificates are present",
        deadline: Duration::from_secs(15 * MINUTE),
        lanes: 1,
    },
    PhaseRow {
        phase: Phase::Files,
        after: &[Phase::Storage, Phase::Assets, Phase::Credentials],
        done_when: "each file equals its rendering",
        deadline: Duration::from_secs(5 * MINUTE),
        lanes: 1,
    },
    PhaseRow {
        phase: Phase::Services,
        after: &[Phase::Network, Phase::Files],
        done_when: "each unit is active, verified after its start",
        deadline: Duration::from_secs(20 * MINUTE),
        // Units are one batch whatever this says; what is awaited around them is awaited together.
        lanes: 8,
    },
    PhaseRow {
        phase: Phase::Ready,
        after: &[Phase::Storage, Phase::Services],
        done_when: "the node answers, CNI is usable and kubelet is healthy",
        deadline: Duration::from_secs(20 * MINUTE),
        lanes: 1,
    },
];

impl PhaseRow {
    /// The phases that this one waits for. On a node that keeps etcd's pods back until their volumes are mounted, the
    /// files need no volume of etcd's, and so all but `ready` goes on without them.
    pub fn waits_for(&self, holds_etcd_back: bool) -> impl Iterator<Item = Phase> {
        let needs_no_volume = holds_etcd_back && self.phase == Phase::Files;
        let after = self.after.iter().copied();
        after.filter(move |phase| !(needs_no_volume && *phase == Phase::Storage))
    }
}

impl Phase {
    /// The word for this phase, as in `readyz/<word>` and in fault codes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Config => "config",
            Self::Network => "network",
            Self::Storage => "storage",
            Self::Assets => "assets",
            Self::Credentials => "credentials",
            Self::Files => "files",
            Self::Services => "services",
            Self::Ready => "ready",
        }
    }

    /// The phase with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        PHASES
            .iter()
            .map(|row| row.phase)
            .find(|phase| phase.name() == name)
    }

    /// This phase's row of [`PHASES`].
    pub fn row(self) -> &'static PhaseRow {
        PHASES
            .iter()
            .find(|row| row.phase == self)
            .expect("the table has a row for each phase")
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_comes_after_the_phases_it_waits_for() {
        for (index, row) in PHASES.iter().enumerate() {
            for wanted in row.after {
                let at = PHASES.iter().position(|other| other.phase == *wanted);
                assert!(
                    at.is_some_and(|at| at < index),
                    "{} waits for {wanted}",
                    row.phase
                );
            }
        }
    }

    #[test]
    fn only_ready_waits_for_volumes_where_etcd_is_held_back() {
        let waiting = |holds_etcd_back| {
            let rows = PHASES.iter().filter(move |row| {
                row.waits_for(holds_etcd_back)
                    .any(|phase| phase == Phase::Storage)
            });
            rows.map(|row| row.phase).collect::<Vec<_>>()
        };
        assert_eq!(waiting(false), [Phase::Files, Phase::Ready]);
        assert_eq!(waiting(true), [Phase::Ready]);
    }

    #[test]
    fn a_phase_is_found_by_its_own_name() {
        for row in PHASES {
            assert_eq!(Phase::from_name(row.phase.name()), Some(row.phase));
        }
    }
}
