//! Bytes that come in: how far each asset is, how fast, and for how long yet. All of it follows from events and their
//! times; nothing here has a clock.

use crate::event::{Envelope, Event};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How long it takes until an older rate counts for a third, in milliseconds: long enough that a figure can be read,
/// short enough that a mirror that becomes slow is seen. A guess.
const MEMORY_MS: f64 = 3_000.0;

/// Assets on their way and assets that came in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transfers {
    /// Assets on their way, by the step's id.
    #[serde(alias = "in_progress", alias = "under_way")]
    pub in_progress: BTreeMap<String, Transfer>,
    /// Assets that came in, in the order of their ends.
    pub fetched: Vec<Fetched>,
    /// All bytes that came in, those of broken attempts among them.
    pub received: u64,
}

/// One asset on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// Bytes so far.
    pub done: u64,
    /// Bytes in all, where known.
    pub total: Option<u64>,
    /// Bytes per second, an exponentially weighted mean; `None` until two reports give one.
    pub rate: Option<f64>,
    /// The report that the next rate is measured from: milliseconds into the boot, and bytes.
    measured: (u64, u64),
}

/// One asset that came in whole and was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fetched {
    pub step: String,
    /// Its bytes.
    pub bytes: u64,
    /// How long it took, tries and waits included.
    #[serde(alias = "took_ms")]
    pub took_ms: u64,
    /// Where it came from, without user information and query.
    pub source: String,
    /// Which of the asset's mirrors that is, from 1.
    pub mirror: usize,
    /// How many requests the attempt that succeeded took; 0 in what earlier agents wrote.
    #[serde(default)]
    pub requests: u64,
}

impl Transfers {
    /// Folds one event in.
    pub fn fold(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::Progress { step, done, total } => {
                self.report(step, envelope.elapsed_ms, *done, *total);
            }
            Event::AssetFetched(fetched) => self.finish(fetched.clone()),
            // However it ended.
            Event::StepDone { step, .. } => {
                self.in_progress.remove(step);
            }
            Event::PhaseFailed { .. } => self.in_progress.clear(),
            _ => {}
        }
    }

    /// Bytes of an asset were reported at `elapsed_ms`.
    pub fn report(&mut self, step: &str, elapsed_ms: u64, done: u64, total: Option<u64>) {
        match self.in_progress.get_mut(step) {
            Some(transfer) => {
                self.received += done.saturating_sub(transfer.done);
                transfer.advance(elapsed_ms, done, total);
            }
            None => {
                self.received += done;
                let transfer = Transfer::begin(elapsed_ms, done, total);
                self.in_progress.insert(step.to_owned(), transfer);
            }
        }
    }

    /// An asset came in.
    pub fn finish(&mut self, fetched: Fetched) {
        let reported = self.in_progress.remove(&fetched.step);
        let reported = reported.map_or(0, |transfer| transfer.done);
        self.received += fetched.bytes.saturating_sub(reported);
        self.fetched.push(fetched);
    }

    /// Bytes so far and bytes in all, of everything that came in or is on its way; where a size is not known, what
    /// came in stands for it.
    pub fn sum(&self) -> (u64, u64) {
        let came_in: u64 = self.fetched.iter().map(|fetched| fetched.bytes).sum();
        let in_progress = self.in_progress.values();
        in_progress.fold((came_in, came_in), |(done, total), transfer| {
            let size = transfer.total.unwrap_or(transfer.done);
            (done + transfer.done, total + size)
        })
    }
}

impl Transfer {
    fn begin(elapsed_ms: u64, done: u64, total: Option<u64>) -> Self {
        Self {
            done,
            total,
            rate: None,
            measured: (elapsed_ms, done),
        }
    }

    fn advance(&mut self, elapsed_ms: u64, done: u64, total: Option<u64>) {
        // Another attempt may begin anew, with fewer bytes than the last one had.
        if done < self.done {
            *self = Self::begin(elapsed_ms, done, total);
            return;
        }
        (self.done, self.total) = (done, total);
        let (since, from) = self.measured;
        let passed_ms = elapsed_ms.saturating_sub(since) as f64;
        // Two reports at one time give no rate; the bytes count with the next.
        if passed_ms <= 0.0 {
            return;
        }
        let seen = (done - from) as f64 * 1000.0 / passed_ms;
        let rate = match self.rate {
            None => seen,
            // Weighted by the time it stands for, so that the rate does not depend on how often bytes are reported.
            Some(rate) => rate + (seen - rate) * -(-passed_ms / MEMORY_MS).exp_m1(),
        };
        self.rate = Some(rate);
        self.measured = (elapsed_ms, done);
    }

    /// Seconds until all bytes are there at this rate; `None` where the size or the rate is not known, or nothing
    /// comes in.
    pub fn remaining_seconds(&self) -> Option<f64> {
        let left = self.total?.saturating_sub(self.done) as f64;
        let rate = self.rate.filter(|rate| *rate > 0.0)?;
        Some(left / rate)
    }
}

impl Fetched {
    /// Bytes per second over the whole time; `None` for what took no time.
    pub fn rate(&self) -> Option<f64> {
        (self.took_ms > 0).then(|| self.bytes as f64 * 1000.0 / self.took_ms as f64)
    }
}

/// What people call the asset of a step: its id without the phase.
pub fn asset_of(step: &str) -> &str {
    step.split_once(':').map_or(step, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: &str = "assets:kubelet";

    fn reported(reports: &[(u64, u64)]) -> Transfers {
        let mut transfers = Transfers::default();
        for (elapsed_ms, done) in reports {
            transfers.report(STEP, *elapsed_ms, *done, Some(10_000));
        }
        transfers
    }

    fn rate(reports: &[(u64, u64)]) -> Option<f64> {
        reported(reports).in_progress[STEP].rate
    }

    fn fetched(bytes: u64) -> Fetched {
        Fetched {
            step: STEP.into(),
            bytes,
            took_ms: 2_000,
            source: "https://example.com/kubelet".into(),
            mirror: 1,
            requests: 1,
        }
    }

    #[test]
    fn one_report_gives_no_rate_and_two_give_the_rate_between_them() {
        assert_eq!(rate(&[(500, 4_000)]), None);
        assert_eq!(rate(&[(500, 4_000), (1_500, 6_000)]), Some(2_000.0));
    }

    #[test]
    fn what_is_left_takes_what_the_rate_says() {
        let transfers = reported(&[(0, 0), (1_000, 2_000)]);
        assert_eq!(transfers.in_progress[STEP].remaining_seconds(), Some(4.0));
        let stalled = reported(&[(0, 2_000), (1_000, 2_000)]);
        assert_eq!(stalled.in_progress[STEP].remaining_seconds(), None);
    }

    #[test]
    fn the_rate_follows_a_change_and_forgets_slowly() {
        let steady = [(0, 0), (1_000, 1_000), (2_000, 2_000)];
        assert_eq!(rate(&steady), Some(1_000.0));
        let slower = rate(&[steady.as_slice(), &[(3_000, 2_000)]].concat()).unwrap_or_default();
        assert!((700.0..730.0).contains(&slower), "{slower}");
        let much_later = [steady.as_slice(), &[(30_000, 2_000)]].concat();
        assert!(rate(&much_later).is_some_and(|rate| rate < 1.0));
    }

    #[test]
    fn the_rate_does_not_depend_on_how_often_bytes_are_reported() {
        let start = [(0, 0), (1_000, 1_000)];
        let seldom = rate(&[start.as_slice(), &[(2_000, 5_000)]].concat());
        let often: Vec<(u64, u64)> = (1..=10)
            .map(|tenth| (1_000 + tenth * 100, 1_000 + tenth * 400))
            .collect();
        let often = rate(&[start.as_slice(), &often].concat());
        let apart = seldom
            .zip(often)
            .map(|(seldom, often)| (seldom - often).abs());
        assert!(
            apart.is_some_and(|apart| apart < 1e-6),
            "{seldom:?} {often:?}"
        );
    }

    #[test]
    fn two_reports_at_one_time_are_one() {
        assert_eq!(rate(&[(0, 0), (0, 500), (1_000, 1_000)]), Some(1_000.0));
    }

    #[test]
    fn an_attempt_that_begins_anew_is_measured_anew_and_its_bytes_count_again() {
        let transfers = reported(&[(0, 0), (1_000, 3_000), (2_000, 100), (3_000, 600)]);
        assert_eq!(transfers.in_progress[STEP].rate, Some(500.0));
        assert_eq!(transfers.received, 3_500);
    }

    #[test]
    fn an_asset_that_came_in_is_no_longer_under_way_and_counts_whole() {
        let mut transfers = reported(&[(0, 0), (1_000, 3_000)]);
        assert_eq!(transfers.sum(), (3_000, 10_000));
        transfers.finish(fetched(10_000));
        assert!(transfers.in_progress.is_empty());
        assert_eq!(
            (transfers.received, transfers.sum()),
            (10_000, (10_000, 10_000))
        );
        assert_eq!(transfers.fetched[0].rate(), Some(5_000.0));
    }
}
