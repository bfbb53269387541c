//! Which waits are worth a line on the console: one that goes on is told at growing distances, a transient failure never.

use quake_model::phase::Phase;
use std::collections::BTreeMap;

/// How long a wait has lasted when it is told, in milliseconds; after the last, each time as long again.
///
/// Most of what a boot waits for comes within seconds, and has no line. A guess.
const TOLD_AFTER_MS: [u64; 4] = [10_000, 60_000, 300_000, 900_000];

/// How much later than announced the next try of one wait may fail, in milliseconds: the longest attempts, such as those
/// against a host that does not answer, take some tens of seconds.
const LATE_MS: u64 = 60_000;

/// The waits so far, by their kind: a phase and a fault's code. Twenty assets on one mirror are one kind.
#[derive(Debug, Default)]
pub(super) struct Waits(BTreeMap<(Phase, &'static str), Wait>);

#[derive(Debug)]
struct Wait {
    since_ms: u64,
    /// When the next try was to be.
    next_ms: u64,
    /// How often it was told.
    reported: usize,
}

impl Waits {
    /// Notes a try that failed at `now_ms` of the boot, to be made again in `retry_in_ms`; how long that kind has been waited
    /// for, when it should be told.
    pub(super) fn note(
        &mut self,
        kind: (Phase, &'static str),
        now_ms: u64,
        retry_in_ms: u64,
    ) -> Option<u64> {
        let fresh = Wait {
            since_ms: now_ms,
            next_ms: now_ms,
            reported: 0,
        };
        let wait = self.0.entry(kind).or_insert(fresh);
        if now_ms > wait.next_ms.saturating_add(LATE_MS) {
            // It came in between, and this is another wait.
            *wait = Wait {
                since_ms: now_ms,
                next_ms: now_ms,
                reported: 0,
            };
        }
        wait.next_ms = wait.next_ms.max(now_ms.saturating_add(retry_in_ms));
        let waited = now_ms.saturating_sub(wait.since_ms);
        if waited < report_after(wait.reported) {
            return None;
        }
        // What was passed in one long try is not told again.
        while report_after(wait.reported) <= waited {
            wait.reported += 1;
        }
        Some(waited)
    }
}

/// How long a wait has lasted when it is told for the time after `reported` times.
fn report_after(reported: usize) -> u64 {
    let last = TOLD_AFTER_MS.len() - 1;
    match TOLD_AFTER_MS.get(reported) {
        Some(after) => *after,
        None => TOLD_AFTER_MS[last].saturating_mul((reported - last + 1) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: (Phase, &str) = (Phase::Storage, "storage.volume-held");

    #[test]
    fn a_wait_is_told_at_growing_distances() {
        let mut waits = Waits::default();
        let reported: Vec<u64> = (0..=3_600)
            .filter(|second| waits.note(KIND, second * 1000, 1000).is_some())
            .collect();
        assert_eq!(reported, [10, 60, 300, 900, 1800, 2700, 3600]);
    }

    #[test]
    fn waits_of_several_kinds_are_told_each_for_itself_and_one_that_ended_begins_anew() {
        let mut waits = Waits::default();
        assert_eq!(waits.note(KIND, 0, 9_000), None);
        let other = (Phase::Assets, "assets.unreachable");
        assert_eq!(waits.note(other, 9_000, 9_000), None);
        assert_eq!(waits.note(KIND, 12_000, 9_000), Some(12_000));
        assert_eq!(waits.note(other, 18_000, 9_000), None);
        assert_eq!(waits.note(KIND, 12_000 + 9_000 + LATE_MS + 1, 9_000), None);
    }

    #[test]
    fn one_long_try_makes_one_line() {
        let mut waits = Waits::default();
        waits.note(KIND, 0, 400_000);
        assert_eq!(waits.note(KIND, 400_000, 1_000), Some(400_000));
        assert_eq!(waits.note(KIND, 401_000, 1_000), None);
    }
}
