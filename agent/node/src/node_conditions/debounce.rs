//! When the API server hears of a change: a flap is not reported, and a node that stays as it is writes seldom.
//!
//! A change counts once it was seen for [`HOLD`] without a break. Only what was Unknown, or never reported, changes at once: nothing
//! flaps there, and whoever waits for a new node should not wait longer.

use super::{ConditionKind, ConditionStatus, Known, NodeCondition};
use quake_model::time::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long another status must be seen before it is reported. A guess: two or three looks of the loops that watch the node.
pub const HOLD: Duration = Duration::from_secs(60);

/// How long after one report the next follows though nothing changed. A guess: kubelet itself reports an unchanged status every
/// five minutes, and 1,000 nodes that write every ten are less than two writes a second.
pub const HEARTBEAT: Duration = Duration::from_secs(10 * 60);

/// What was reported, and what is about to change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Debounce {
    /// Each condition as the API server has it, or is about to.
    reported: BTreeMap<ConditionKind, Known>,
    /// The status that was seen beside what is not as it was reported, since when.
    pending: BTreeMap<ConditionKind, (ConditionStatus, Timestamp)>,
    /// When all of it was last written.
    written: Option<Timestamp>,
    /// Whether something changed that was not written.
    is_dirty: bool,
}

impl Debounce {
    /// Goes on from what the API server has of an earlier run of the agent, each with the time of its last change. It is not
    /// written anew before it changed or a heartbeat passed: nobody knows yet that it still holds.
    pub fn resume(known: Vec<Known>, now: Timestamp) -> Self {
        let reported = known.into_iter().map(|known| (known.0.kind, known));
        Self {
            reported: reported.collect(),
            written: Some(now),
            ..Self::default()
        }
    }

    /// Takes in what is seen now; which statuses change by it.
    pub fn see(&mut self, seen: &[NodeCondition], now: Timestamp) -> Vec<NodeCondition> {
        let mut changed = Vec::new();
        for condition in seen {
            let kind = condition.kind;
            let Some((reported, _)) = self.reported.get(&kind) else {
                self.take(condition, now);
                changed.push(condition.clone());
                continue;
            };
            if reported == condition {
                self.pending.remove(&kind);
                continue;
            }
            let is_other_status = reported.status != condition.status;
            let was_unknown = reported.status == ConditionStatus::Unknown;
            let is_due = (was_unknown && is_other_status) || self.is_held(condition, now);
            if !is_due {
                continue;
            }
            self.take(condition, now);
            if is_other_status {
                changed.push(condition.clone());
            }
        }
        changed
    }

    /// Takes what is seen now as it is, however short it was so.
    pub fn settle(&mut self, seen: &[NodeCondition], now: Timestamp) {
        for condition in seen {
            self.take(condition, now);
        }
    }

    /// Whether this was seen for long enough.
    fn is_held(&mut self, condition: &NodeCondition, now: Timestamp) -> bool {
        let entry = self.pending.entry(condition.kind);
        let (status, since) = entry.or_insert((condition.status, now));
        // Another reason or message of the same status is no break; a clock that was set back begins anew.
        if *status != condition.status || now < *since {
            *since = now;
        }
        *status = condition.status;
        now.millis_since(*since) >= millis(HOLD)
    }

    fn take(&mut self, condition: &NodeCondition, now: Timestamp) {
        let before = self.reported.get(&condition.kind);
        let kept = before.filter(|(reported, _)| reported.status == condition.status);
        let since = kept.map_or(now, |(_, since)| *since);
        self.reported
            .insert(condition.kind, (condition.clone(), since));
        self.pending.remove(&condition.kind);
        self.is_dirty = true;
    }

    /// Whether all of it is to be written now.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let is_old = self
            .written
            .is_none_or(|written| now < written || now.millis_since(written) >= millis(HEARTBEAT));
        !self.reported.is_empty() && (self.is_dirty || is_old)
    }

    /// It was written.
    pub fn written(&mut self, now: Timestamp) {
        (self.written, self.is_dirty) = (Some(now), false);
    }

    /// What is to be written: each condition, and when its status changed.
    pub fn reported(&self) -> impl Iterator<Item = (&NodeCondition, Timestamp)> {
        let reported = self.reported.values();
        reported.map(|(condition, since)| (condition, *since))
    }

    /// Whether the condition is reported to hold.
    pub fn holds(&self, kind: ConditionKind) -> bool {
        let reported = self.reported.get(&kind);
        reported.is_some_and(|(condition, _)| condition.status == ConditionStatus::True)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statuses, each from a second on.
    type Looks = &'static [(u64, ConditionStatus)];

    const KIND: ConditionKind = ConditionKind::NetworkReady;

    fn seen(status: ConditionStatus, reason: &str) -> [NodeCondition; 1] {
        [NodeCondition::plain(KIND, status, reason, "")]
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp(1_000_000 + 1000 * seconds)
    }

    /// The second and the status of each change that was reported.
    fn reported(looks: &[(u64, ConditionStatus)]) -> Vec<(u64, ConditionStatus)> {
        let mut debounce = Debounce::default();
        let changes = looks.iter().flat_map(|(second, status)| {
            let changed = debounce.see(&seen(*status, status.name()), at(*second));
            let changed = changed.into_iter();
            changed.map(|one| (*second, one.status)).collect::<Vec<_>>()
        });
        changes.collect()
    }

    #[test]
    fn another_message_of_the_same_reason_is_written_after_a_minute_and_is_no_change_of_the_status()
    {
        let with = |message: &str| {
            [NodeCondition::plain(
                KIND,
                ConditionStatus::False,
                "CniMissing",
                message,
            )]
        };
        let mut debounce = Debounce::default();
        debounce.see(&with("the DaemonSet"), at(0));
        debounce.written(at(0));
        for (second, message, is_due) in [
            (10, "a plugin", false),
            (69, "a plugin", false),
            (70, "a plugin", true),
        ] {
            assert_eq!(debounce.see(&with(message), at(second)), []);
            assert_eq!(debounce.is_due(at(second)), is_due, "{second}");
        }
        let (known, since) = debounce.reported().next().expect("it is reported");
        assert_eq!((&*known.message, since), ("a plugin", at(0)));
    }

    #[test]
    fn what_is_first_seen_is_reported_at_once_and_a_flap_is_not() {
        use ConditionStatus::{False, True, Unknown};
        let table: [(Looks, Looks); 6] = [
            (&[(0, Unknown), (1, True)], &[(0, Unknown), (1, True)]),
            (
                &[(0, True), (30, False), (59, True), (120, True)],
                &[(0, True)],
            ),
            (
                &[(0, True), (30, False), (60, False), (90, False)],
                &[(0, True), (90, False)],
            ),
            // It was seen to hold in between, so the time begins anew.
            (
                &[
                    (0, True),
                    (30, False),
                    (60, True),
                    (90, False),
                    (149, False),
                ],
                &[(0, True)],
            ),
            // An agent that starts anew on a ready node does not know for a moment.
            (&[(0, True), (5, Unknown), (20, True)], &[(0, True)]),
            (
                &[(0, False), (10, True), (69, True), (70, True)],
                &[(0, False), (70, True)],
            ),
        ];
        for (looks, wanted) in table {
            assert_eq!(reported(looks), wanted, "{looks:?}");
        }
    }

    #[test]
    fn however_it_flaps_no_status_is_left_before_it_held_unless_it_was_unknown() {
        let statuses = [
            ConditionStatus::True,
            ConditionStatus::False,
            ConditionStatus::Unknown,
        ];
        // Each number below 3^9 is a course of nine looks, 25 seconds apart.
        for course in 0_usize..3_usize.pow(9) {
            let looks: Vec<_> = (0..9_u32)
                .map(|look| {
                    let digit = course / 3_usize.pow(look) % 3;
                    (25 * u64::from(look), statuses[digit])
                })
                .collect();
            for pair in reported(&looks).windows(2) {
                let was_unknown = pair[0].1 == ConditionStatus::Unknown;
                let held = looks.iter().filter(|(second, _)| {
                    *second + HOLD.as_secs() >= pair[1].0 && *second <= pair[1].0
                });
                let is_steady = held.clone().all(|(_, status)| *status == pair[1].1);
                assert!(was_unknown || is_steady, "{looks:?}");
            }
        }
    }

    #[test]
    fn a_node_that_stays_as_it_is_writes_once_in_a_heartbeat() {
        let mut debounce = Debounce::default();
        let mut writes = 0;
        for look in 0..120 {
            debounce.see(&seen(ConditionStatus::True, "A"), at(30 * look));
            if debounce.is_due(at(30 * look)) {
                debounce.written(at(30 * look));
                writes += 1;
            }
        }
        // An hour.
        assert_eq!(writes, 6);
    }

    #[test]
    fn another_reason_is_reported_once_it_held_and_keeps_the_time_of_the_status() {
        let mut debounce = Debounce::default();
        debounce.see(&seen(ConditionStatus::False, "A"), at(0));
        debounce.written(at(0));
        for second in [10, 40] {
            debounce.see(&seen(ConditionStatus::False, "B"), at(second));
            assert!(!debounce.is_due(at(second)));
        }
        debounce.see(&seen(ConditionStatus::False, "B"), at(70));
        assert!(debounce.is_due(at(70)));
        let (reported, since) = debounce.reported().next().expect("it is reported");
        assert_eq!((reported.reason.as_str(), since), ("B", at(0)));
    }

    #[test]
    fn an_agent_that_starts_anew_keeps_the_time_of_the_last_change() {
        let [before] = seen(ConditionStatus::True, "A");
        let mut debounce = Debounce::resume(vec![(before, at(0))], at(500));
        assert_eq!(
            debounce.see(&seen(ConditionStatus::Unknown, "Booting"), at(500)),
            []
        );
        debounce.see(&seen(ConditionStatus::True, "A"), at(520));
        assert_eq!(
            debounce.reported().map(|(_, since)| since).next(),
            Some(at(0))
        );
        assert!(!debounce.is_due(at(520)), "it did not change");
        assert!(debounce.is_due(at(500 + HEARTBEAT.as_secs())));
    }

    #[test]
    fn a_clock_that_is_set_back_delays_a_change_and_never_stops_it() {
        let mut debounce = Debounce::default();
        debounce.see(&seen(ConditionStatus::True, "A"), at(5000));
        debounce.see(&seen(ConditionStatus::False, "B"), at(5000));
        assert_eq!(debounce.see(&seen(ConditionStatus::False, "B"), at(10)), []);
        let changed = debounce.see(&seen(ConditionStatus::False, "B"), at(70));
        assert_eq!(changed.len(), 1);
    }
}
