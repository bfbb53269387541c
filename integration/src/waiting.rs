//! Waiting for another process, always with an end.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often a condition is looked at.
const INTERVAL: Duration = Duration::from_millis(5);

/// Looks at `holds` until it is true or `longest` has passed; whether it became true.
pub fn wait_until(longest: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + longest;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        pause(INTERVAL);
    }
}

/// Seconds since 1970.
pub(crate) fn unix_now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

/// Lets `time` pass, for a server that is slow on purpose and for a moment chosen by chance.
#[expect(
    clippy::disallowed_methods,
    reason = "a black-box test waits for processes that cannot tell it when they are done; this is the one place"
)]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}
