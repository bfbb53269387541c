//! How long a mirror is waited for, and what is told of one that is slow.

use super::download::Download;
use quake_http::shown;
use quake_model::ports::{Arriving, Condition, PortError, SlowMirror};
use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long a mirror may take to answer, or be silent in the middle, before another is asked as well. A guess: tens of
/// times what a healthy one takes.
pub(super) const SLOW_AFTER: Duration = Duration::from_secs(3);

/// A mirror that gives fewer bytes than this a second, for as long as [`SLOW_AFTER`], is left for another. Without
/// another one it is reported.
pub(super) const SLOW_BYTES: u64 = 64 << 10;

impl Download<'_> {
    /// Waits for what comes of a mirror; `None` when it was silent and there is another one to ask. Without another one
    /// the wait goes on, and is reported: whoever asked for the fetch ends it at a deadline.
    pub(super) async fn patiently<T>(
        &self,
        number: usize,
        received: u64,
        coming: impl Future<Output = T>,
    ) -> Option<T> {
        let mut coming = pin!(coming);
        loop {
            match timeout(SLOW_AFTER, coming.as_mut()).await {
                Ok(come) => return Some(come),
                Err(_) if self.has_other(number) => return None,
                Err(_) => self.tell_slow(number, received, 0),
            }
        }
    }

    /// Whether there is another mirror to turn to. The one that is waited for need not be the first: a piece fetched
    /// ahead may be of one that has failed since.
    pub(super) fn has_other(&self, number: usize) -> bool {
        if self.course.has_alternative {
            return true;
        }
        let now = Instant::now();
        let mut others = self.course.mirrors.iter().filter(|it| it.number != number);
        others.any(|mirror| !self.breakers.is_open(&mirror.host, now))
    }

    /// Reports that the only mirror is slow.
    pub(super) fn tell_slow(&self, number: usize, received: u64, bytes_per_second: u64) {
        let mut mirrors = self.course.mirrors.iter();
        let Some(mirror) = mirrors.find(|mirror| mirror.number == number) else {
            return;
        };
        (self.report)(Arriving {
            done: received,
            total: self.known.total,
            slow: Some(SlowMirror {
                url: &shown(&mirror.url),
                bytes_per_second,
            }),
        });
    }
}

/// The error of a mirror that was silent for too long.
pub(super) fn silent() -> PortError {
    let summary = format!("it gave nothing for {} s", SLOW_AFTER.as_secs());
    PortError::new(Condition::TimedOut, summary)
}

/// The error of a mirror that gave this many bytes a second.
pub(super) fn slow(rate: u64) -> PortError {
    PortError::new(
        Condition::TimedOut,
        format!("it gave {rate} bytes a second"),
    )
}
