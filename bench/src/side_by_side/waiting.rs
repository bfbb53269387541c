//! Waiting for another process, always with an end.

use std::time::{Duration, Instant};

/// How often a condition is looked at. Times are taken inside the supervisor, so this blurs none of them.
const INTERVAL: Duration = Duration::from_millis(5);

/// Looks at `holds` until it is true or `longest` has passed; whether it became true.
pub(crate) fn wait_until(longest: Duration, mut holds: impl FnMut() -> bool) -> bool {
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

#[expect(
    clippy::disallowed_methods,
    reason = "the programs measured cannot tell us when they are half way; this is the one place"
)]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
