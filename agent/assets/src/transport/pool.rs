//! How many requests run at once. Of the assets that wait, the one with the most bytes left goes first: the
//! largest decides when everything is there.

use super::piece::{LEAST_BYTES, MOST_BYTES, piece_bytes};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Permits for requests, and who waits for one.
#[derive(Debug)]
pub(crate) struct Pool {
    permits: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    waiting: Vec<Waiter>,
    /// Bytes a second of the connection to each host that was measured last.
    speeds: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct Waiter {
    left: u64,
    turn: oneshot::Sender<Permit>,
}

/// The right to one request. Dropped, it goes to whoever waits.
#[derive(Debug)]
pub(crate) struct Permit {
    pool: Arc<Pool>,
}

impl Pool {
    /// A pool of `permits`.
    pub(crate) fn new(permits: usize) -> Arc<Self> {
        let state = State {
            free: permits,
            waiting: Vec::new(),
            speeds: BTreeMap::new(),
        };
        Arc::new(Self {
            permits,
            state: Mutex::new(state),
        })
    }

    /// Notes how long a connection to this host took for so many bytes. A few bytes tell how far a host is, not how fast.
    pub(super) fn note_speed(&self, host: &str, bytes: u64, took: Duration) {
        if bytes < LEAST_BYTES {
            return;
        }
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
        let speed = bytes.saturating_mul(1000) / millis;
        self.lock().speeds.insert(host.to_owned(), speed);
    }

    /// How large the next piece from this host is of a file of which `left` bytes are to come.
    pub(super) fn next_piece(&self, host: &str, left: u64) -> u64 {
        let speed = self.lock().speeds.get(host).copied();
        piece_bytes(speed.unwrap_or_default(), left, self.permits as u64)
    }

    /// How many bytes wait on the disk at most, of all pieces together.
    pub(super) fn most_ahead(&self) -> u64 {
        self.permits as u64 * MOST_BYTES
    }

    /// Waits for a permit, for an asset of which `left` bytes are to come.
    pub(crate) async fn acquire(self: &Arc<Self>, left: u64) -> Permit {
        let turn = {
            let mut state = self.lock();
            if state.free > 0 {
                state.free -= 1;
                return self.permit();
            }
            let (turn, receiver) = oneshot::channel();
            state.waiting.push(Waiter { left, turn });
            receiver
        };
        match turn.await {
            Ok(permit) => permit,
            // A waiter is only ever removed with its permit sent.
            Err(_) => self.permit(),
        }
    }

    /// A permit that nobody waits for, if there is one.
    pub(crate) fn spare(self: &Arc<Self>) -> Option<Permit> {
        let mut state = self.lock();
        if state.free == 0 {
            return None;
        }
        state.free -= 1;
        Some(self.permit())
    }

    /// Whether a permit is free.
    pub(crate) fn has_spare(&self) -> bool {
        self.lock().free > 0
    }

    fn permit(self: &Arc<Self>) -> Permit {
        Permit {
            pool: Arc::clone(self),
        }
    }

    fn release(self: &Arc<Self>) {
        let next = {
            let mut state = self.lock();
            let waiting = state.waiting.iter().enumerate();
            let largest = waiting.max_by_key(|(at, waiter)| (waiter.left, usize::MAX - at));
            match largest.map(|(at, _)| at) {
                Some(at) => state.waiting.remove(at),
                None => {
                    state.free += 1;
                    return;
                }
            }
        };
        // If it does not wait any more, the permit comes back, is dropped, and goes to the one after it.
        drop(next.turn.send(self.permit()));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let pool = Arc::clone(&self.pool);
        pool.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn a_piece_is_as_large_as_its_host_is_fast() {
        let pool = Pool::new(6);
        pool.note_speed("fast", 8 << 20, Duration::from_millis(100));
        pool.note_speed("slow", 512 << 10, Duration::from_secs(2));
        pool.note_speed("fast", 100, Duration::from_millis(100));
        let sizes = ["fast", "slow", "unknown"].map(|host| pool.next_piece(host, u64::MAX));
        assert_eq!(sizes, [8 << 20, 512 << 10, 512 << 10]);
    }

    #[test]
    fn the_asset_with_the_most_left_goes_first_and_one_that_gave_up_is_passed_over() {
        let pool = Pool::new(1);
        let mut context = Context::from_waker(Waker::noop());
        let held = pool.spare().expect("one is free");
        assert!(pool.spare().is_none());
        let mut small = pin!(pool.acquire(1));
        let mut large = pin!(pool.acquire(9));
        let mut gone = Box::pin(pool.acquire(99));
        assert!(small.as_mut().poll(&mut context).is_pending());
        assert!(large.as_mut().poll(&mut context).is_pending());
        assert!(gone.as_mut().poll(&mut context).is_pending());
        drop(gone);
        drop(held);
        assert!(small.as_mut().poll(&mut context).is_pending());
        let Poll::Ready(permit) = large.as_mut().poll(&mut context) else {
            panic!("it is its turn");
        };
        drop(permit);
        let Poll::Ready(permit) = small.as_mut().poll(&mut context) else {
            panic!("nobody else waits");
        };
        drop(permit);
        assert!(pool.has_spare());
    }
}
