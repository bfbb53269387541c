//! The machine's wall clock.

use quake_model::ports::Clock;
use quake_model::time::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// The system's clock; it may be wrong, and may jump.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// The time now; the epoch when the clock is set before it.
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since.map_or(0, |since| since.as_millis());
        Timestamp(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_past_the_day_this_was_written() {
        // 2026-01-01; a machine whose clock is before it cannot verify this test's certificates either.
        assert!(SystemClock.now() > Timestamp(1_767_225_600_000));
    }
}
