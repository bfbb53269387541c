//! What a download waits for: the network, or this machine.

use std::time::Duration;

/// More connections help only where the bytes are waited for at least this part of the time.
const PART: u32 = 4;

/// Where the time of a download went lately.
#[derive(Debug, Default)]
pub(super) struct Pace {
    waiting: Duration,
    taking: Duration,
    is_alone: bool,
}

impl Pace {
    /// So long the next bytes were waited for.
    pub(super) fn waited(&mut self, time: Duration) {
        self.waiting += time;
    }

    /// So long it took until bytes were taken: what hashes, unpacks and writes them was behind.
    pub(super) fn took(&mut self, time: Duration) {
        self.taking += time;
    }

    /// A piece has come whole: what was before it counts half from now on.
    pub(super) fn pass_on(&mut self) {
        self.waiting /= 2;
        self.taking /= 2;
    }

    /// Nothing can wait for its turn any more.
    pub(super) fn stop_fetching_ahead(&mut self) {
        self.is_alone = true;
    }

    /// Whether the network is what takes the time, so that more connections would help. Nothing else is known at first.
    pub(super) fn is_network_bound(&self) -> bool {
        !self.is_alone && self.waiting * PART >= self.waiting + self.taking
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_connections_help_where_the_network_is_what_is_waited_for() {
        let millis = Duration::from_millis;
        for (waiting, taking, expected) in [
            (0, 0, true),
            (100, 0, true),
            (25, 75, true),
            (24, 76, false),
            (0, 1, false),
        ] {
            let mut pace = Pace::default();
            pace.waited(millis(waiting));
            pace.took(millis(taking));
            assert_eq!(pace.is_network_bound(), expected, "{waiting} {taking}");
        }
        let mut pace = Pace::default();
        pace.took(millis(800));
        for _ in 0..3 {
            pace.waited(millis(100));
            pace.pass_on();
        }
        assert!(pace.is_network_bound(), "what was long ago counts less");
        pace.stop_fetching_ahead();
        assert!(!pace.is_network_bound());
    }
}
