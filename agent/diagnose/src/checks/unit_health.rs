//! Whether a unit is up and stays up.

use super::check::Finding;
use super::from_journal::QUOTED;
use super::quote::quote;
use quake_model::facts::{ActiveState, UnitFacts};
use quake_model::time::Timestamp;

/// So many restarts are no accident any more.
const MANY: u32 = 3;

/// A process that lives this long has come up; both runtimes and kubelet fail within seconds if they fail at all.
const SETTLED_MS: u64 = 60_000;

/// How a unit is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnitHealth {
    /// It is up; what was seen, in a few words.
    Up(String),
    /// It is on its way, in these words.
    Coming(String),
    /// It is down, or does not stay up, in these words.
    Down(String),
}

/// How a unit that is to be up is at the moment `now`.
pub(super) fn health(unit: &UnitFacts, now: Timestamp) -> UnitHealth {
    let name = &unit.name;
    let ended = match &unit.main_ended {
        Some(how) => format!(", its main process ended with {how}"),
        None => String::new(),
    };
    let again = match unit.restarts {
        0 => String::new(),
        1 => ", started again once".to_owned(),
        times => format!(", started again {times} times"),
    };
    match unit.active {
        ActiveState::Active | ActiveState::Reloading => {
            let lived = now.0.saturating_sub(unit.main_started_us / 1000);
            let is_young = unit.main_started_us > 0 && lived < SETTLED_MS;
            match is_young && unit.restarts >= MANY {
                true => UnitHealth::Down(format!(
                    "{name} does not stay up{again}, now for {} s",
                    lived / 1000
                )),
                false => UnitHealth::Up(format!("{name} is up{again}")),
            }
        }
        ActiveState::Activating if unit.sub_state == "auto-restart" => {
            UnitHealth::Down(format!("{name} does not stay up{again}{ended}"))
        }
        ActiveState::Activating if unit.restarts >= MANY => {
            UnitHealth::Down(format!("{name} does not come up{again}{ended}"))
        }
        ActiveState::Activating => {
            UnitHealth::Coming(format!("{name} is being started ({})", unit.sub_state))
        }
        ActiveState::Deactivating => UnitHealth::Down(format!("{name} is being stopped{again}")),
        ActiveState::Inactive => UnitHealth::Down(format!("{name} is not running{ended}")),
        ActiveState::Failed => UnitHealth::Down(format!("{name} failed{again}{ended}")),
    }
}

/// A unit that ended because it was stopped: systemd says so last, and no process of it failed.
pub(super) fn stopped(unit: &UnitFacts, journal: &[String]) -> Option<Finding> {
    const LAST: usize = 4;
    let is_idle = unit.active == ActiveState::Inactive && unit.result == "success";
    let mut last = journal.iter().rev().take(LAST);
    let says =
        |line: &&String| line.contains("Stopped ") || line.contains("Deactivated successfully");
    let line = last
        .find(says)
        .filter(|_| is_idle && unit.main_ended.is_none())?;
    let name = &unit.name;
    let finding = Finding::new(
        format!("{name} was stopped: no error ended it, and nobody started it again"),
        format!(
            "systemctl start {name}; find who stopped it: journalctl -b _COMM=sudo _COMM=systemctl _COMM=cron, crontabs, an upgrade of its package, or a unit that it Requires= (systemctl list-dependencies --reverse {name})"
        ),
    );
    Some(finding.seen("journal", quote(line, QUOTED)))
}

/// Adds what systemd shows of a unit, and the end of its journal.
pub(super) fn with_evidence(finding: Finding, unit: &UnitFacts, journal: &[String]) -> Finding {
    const LINES: usize = 5;
    let mut finding = finding
        .seen(
            "unit",
            format_args!("{} ({}, result {})", unit.name, unit.sub_state, unit.result),
        )
        .seen("restarts", unit.restarts);
    for line in &journal[journal.len().saturating_sub(LINES)..] {
        finding = finding.seen("journal", quote(line, QUOTED));
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn unit(active: ActiveState, sub_state: &str, restarts: u32, lived_s: u64) -> UnitFacts {
        UnitFacts {
            name: "x.service".to_owned(),
            found: true,
            active,
            sub_state: sub_state.to_owned(),
            enabled: false,
            installable: false,
            needs_reload: false,
            restarts,
            active_since_us: 0,
            result: "success".to_owned(),
            main_started_us: (NOW.0 - lived_s * 1000) * 1000,
            main_ended: None,
            notifies: false,
        }
    }

    fn word(unit: &UnitFacts) -> &'static str {
        match health(unit, NOW) {
            UnitHealth::Up(_) => "up",
            UnitHealth::Coming(_) => "coming",
            UnitHealth::Down(_) => "down",
        }
    }

    #[test]
    fn a_unit_that_is_started_again_and_again_is_down_even_while_it_runs() {
        use ActiveState::{Activating, Active, Deactivating, Failed, Inactive};
        for (active, sub_state, restarts, lived_s, wanted) in [
            (Active, "running", 0, 5, "up"),
            (Active, "running", 2, 5, "up"),
            (Active, "running", 7, 5, "down"),
            (Active, "running", 7, 3600, "up"),
            (Activating, "auto-restart", 0, 1, "down"),
            (Activating, "start-pre", 0, 1, "coming"),
            (Activating, "start", 9, 1, "down"),
            (Deactivating, "stop-sigterm", 0, 1, "down"),
            (Inactive, "dead", 0, 1, "down"),
            (Failed, "failed", 5, 1, "down"),
        ] {
            let unit = unit(active, sub_state, restarts, lived_s);
            assert_eq!(
                word(&unit),
                wanted,
                "{active:?} {sub_state} {restarts} {lived_s}"
            );
        }
    }
}
