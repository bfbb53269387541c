//! Which hosts failed lately: one that failed several times in a row is left alone for a while, as long as
//! another mirror has the file.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failures in a row that open a host's breaker. A guess: one is chance, three are not.
const FAILURES: u32 = 3;

/// How long an open breaker stays open. A guess: long enough for a restart behind a load balancer.
const OPEN_FOR: Duration = Duration::from_secs(15);

#[derive(Debug, Default, Clone, Copy)]
struct Health {
    failures: u32,
    opened: Option<Instant>,
}

impl Health {
    fn failed(self, now: Instant) -> Self {
        let failures = self.failures + 1;
        Self {
            failures,
            // Each failure of the trial after a while opens it anew.
            opened: (failures >= FAILURES).then_some(now).or(self.opened),
        }
    }

    fn is_open(self, now: Instant) -> bool {
        self.opened
            .is_some_and(|opened| now.saturating_duration_since(opened) < OPEN_FOR)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Breakers {
    hosts: Mutex<HashMap<String, Health>>,
}

impl Breakers {
    /// Notes what a request to `host` came to.
    pub(crate) fn note(&self, host: &str, succeeded: bool, now: Instant) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let health = hosts.entry(host.to_owned()).or_default();
        *health = if succeeded {
            Health::default()
        } else {
            health.failed(now)
        };
    }

    /// Whether `host` should be left alone.
    pub(crate) fn is_open(&self, host: &str, now: Instant) -> bool {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.get(host).is_some_and(|health| health.is_open(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_open_it_for_a_while_and_a_success_closes_it() {
        let breakers = Breakers::default();
        let start = Instant::now();
        breakers.note("a", false, start);
        breakers.note("a", false, start);
        breakers.note("a", true, start);
        breakers.note("a", false, start);
        breakers.note("a", false, start);
        assert!(!breakers.is_open("a", start), "never three in a row");
        breakers.note("a", false, start);
        assert!(breakers.is_open("a", start));
        assert!(!breakers.is_open("b", start));
        let later = start + OPEN_FOR;
        assert!(!breakers.is_open("a", later), "one trial is allowed");
        breakers.note("a", false, later);
        assert!(breakers.is_open("a", later + OPEN_FOR / 2));
        breakers.note("a", true, later);
        assert!(!breakers.is_open("a", later));
    }
}
