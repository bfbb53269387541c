//! The health of a unit that has to stay up: up, starting, or failing.

use quake_model::facts::{ActiveState, UnitFacts};
use std::time::Duration;

/// A unit that does not show that it lives counts as up when it has stayed up this long: most that die at their start die
/// within it.
pub const STEADY: Duration = Duration::from_secs(2);

/// From how many failed starts on a unit is said not to stay up. One is no verdict: a unit that lacks something in the
/// first moments of a boot fixes itself when systemd starts it again.
const FAILED_STARTS: u32 = 2;

/// The health of a unit that has to stay up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitHealth {
    /// It is up, and has been for a while.
    Up,
    /// It is on its way up, as far as can be seen.
    Coming,
    /// It is down for good, or it ends whenever it is started.
    Failing,
}

/// Judges a unit.
///
/// `up` is how long it has been active. `starts_seen` is how many starts of its main process one wait has seen;
/// systemd counts restarts itself, but only since version 235. A unit that lives, because its program told systemd or
/// answered (`answers`), is believed at once unless a start of it failed before.
pub fn unit_health(found: &UnitFacts, starts_seen: u32, up: Duration, answers: bool) -> UnitHealth {
    let lives = || (found.notifies || answers) && failed_starts(found, starts_seen) == 0;
    match found.active {
        ActiveState::Inactive | ActiveState::Failed => UnitHealth::Failing,
        ActiveState::Active if up >= STEADY || lives() => UnitHealth::Up,
        ActiveState::Active
        | ActiveState::Activating
        | ActiveState::Deactivating
        | ActiveState::Reloading => {
            if failed_starts(found, starts_seen) >= FAILED_STARTS {
                UnitHealth::Failing
            } else {
                UnitHealth::Coming
            }
        }
    }
}

fn failed_starts(found: &UnitFacts, starts_seen: u32) -> u32 {
    let restarts = found.restarts.max(starts_seen.saturating_sub(1));
    restarts.saturating_add(u32::from(has_just_ended(found)))
}

/// Whether its last start has ended too, and no restart is counted for it yet: systemd counts one when it makes it.
/// That it restarts what ended well, as with `Restart=always`, makes no difference here.
fn has_just_ended(found: &UnitFacts) -> bool {
    match found.active {
        ActiveState::Activating => found.sub_state.contains("auto-restart"),
        ActiveState::Deactivating => found.result != "success",
        ActiveState::Active
        | ActiveState::Reloading
        | ActiveState::Inactive
        | ActiveState::Failed => false,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A unit that systemd knows and that can be enabled.
    pub(crate) fn installed(name: &str, active: ActiveState) -> UnitFacts {
        UnitFacts {
            name: name.into(),
            found: true,
            active,
            installable: true,
            ..UnitFacts::default()
        }
    }

    fn unit(active: ActiveState, sub_state: &str, result: &str, restarts: u32) -> UnitFacts {
        UnitFacts {
            sub_state: sub_state.into(),
            restarts,
            result: result.into(),
            ..installed("kubelet.service", active)
        }
    }

    #[test]
    fn a_unit_that_ends_again_and_again_does_not_stay_up_and_one_failed_start_is_no_verdict() {
        use ActiveState::{Activating, Active, Deactivating, Failed, Inactive, Reloading};
        use UnitHealth::{Coming, Failing, Up};
        let (moment, long) = (Duration::ZERO, STEADY);
        let table = [
            // The first start, and what follows when it fails once.
            (Activating, "start", "success", 0, moment, Coming),
            (Activating, "auto-restart", "exit-code", 0, moment, Coming),
            (Activating, "start", "success", 1, moment, Coming),
            (Active, "running", "success", 1, moment, Coming),
            (Active, "running", "success", 1, long, Up),
            // It fails again, and whatever is seen of it until it stays up.
            (Activating, "auto-restart", "exit-code", 1, moment, Failing),
            (
                Activating,
                "auto-restart-queued",
                "signal",
                1,
                moment,
                Failing,
            ),
            (Activating, "start", "success", 2, moment, Failing),
            (Active, "running", "success", 2, moment, Failing),
            (Deactivating, "stop-post", "exit-code", 1, moment, Failing),
            (Active, "running", "success", 9, long, Up),
            // One that ends well each time does not stay up either.
            (Activating, "auto-restart", "success", 1, moment, Failing),
            // Nothing will start it again.
            (Failed, "failed", "exit-code", 0, moment, Failing),
            (Inactive, "dead", "success", 0, moment, Failing),
            // Stopped or reloaded by someone.
            (Deactivating, "stop-sigterm", "success", 0, moment, Coming),
            (Reloading, "reload", "success", 0, moment, Coming),
        ];
        for (active, sub_state, result, restarts, up, wanted) in table {
            let found = unit(active, sub_state, result, restarts);
            assert_eq!(
                unit_health(&found, 1, up, false),
                wanted,
                "{found:?} up {up:?}"
            );
        }
    }

    #[test]
    fn a_unit_that_shows_that_it_lives_is_believed_at_once_unless_a_start_of_it_failed() {
        use ActiveState::{Activating, Active};
        use UnitHealth::{Coming, Up};
        for (active, notifies, answers, restarts, wanted) in [
            (Active, true, false, 0, Up),
            (Active, false, true, 0, Up),
            (Active, false, false, 0, Coming),
            (Active, true, true, 1, Coming),
            (Activating, true, true, 0, Coming),
        ] {
            let mut found = unit(active, "running", "success", restarts);
            found.notifies = notifies;
            let health = unit_health(&found, 1, Duration::ZERO, answers);
            assert_eq!(health, wanted, "{found:?} {answers}");
        }
    }

    #[test]
    fn where_systemd_counts_no_restarts_the_starts_that_were_seen_count() {
        let down = unit(ActiveState::Activating, "auto-restart", "exit-code", 0);
        assert_eq!(
            unit_health(&down, 1, Duration::ZERO, false),
            UnitHealth::Coming
        );
        assert_eq!(
            unit_health(&down, 2, Duration::ZERO, false),
            UnitHealth::Failing
        );
    }
}
