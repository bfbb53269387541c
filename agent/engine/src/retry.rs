//! The loops that sleep: a boot's, and one for questions that are no boot.

use crate::context::{Context, lock};
use crate::fault_mapping::asset_fault;
use quake_model::backoff::{ARRIVAL, Backoff, Jitter, TRANSIENT_RETRY, WATCH};
use quake_model::event::Event;
use quake_model::fault::{Class, Fault};
use quake_model::phase::Phase;
use quake_model::ports::{Meter, PortError};
use std::future::Future;
use std::time::Duration;
use tokio::time::Instant;

/// What is tried, and until when.
#[derive(Debug, Clone)]
pub(crate) struct Wait {
    pub(crate) phase: Phase,
    /// The step's id, or the phase's name while observing.
    pub(crate) step: String,
    pub(crate) deadline: Instant,
    /// How to wait for what has not happened yet.
    pub(crate) arrival: Backoff,
    /// How long a no is taken for one that may turn.
    pub(crate) grace: Duration,
}

impl Wait {
    /// Waits longer between looks, for what comes late.
    pub(crate) fn watching(self) -> Self {
        Self {
            arrival: WATCH,
            ..self
        }
    }

    /// Takes a no for one that may turn this many times as long, where it may come of somebody else's trouble.
    pub(crate) fn patient(self, times: u32) -> Self {
        let grace = self.grace.saturating_mul(times);
        Self { grace, ..self }
    }
}

impl<H> Context<'_, H> {
    /// A wait that ends with `longest`, with its phase, or with the boot, whichever is first.
    pub(crate) fn wait(&self, phase: Phase, step: &str, longest: Duration) -> Wait {
        let wait = self.wait_of_boot(phase, step, longest);
        let deadline = wait.deadline.min(self.times.phase_ends(phase));
        Wait { deadline, ..wait }
    }

    /// A wait for another machine, which may last longer than its phase has for what this one does: it ends with `longest` or
    /// with the boot.
    pub(crate) fn long_wait(&self, phase: Phase, step: &str, longest: Duration) -> Wait {
        let wait = self.wait_of_boot(phase, step, longest);
        self.times.extend(phase, wait.deadline);
        wait
    }

    fn wait_of_boot(&self, phase: Phase, step: &str, longest: Duration) -> Wait {
        Wait {
            phase,
            step: step.to_owned(),
            deadline: self.times.wait_ends(longest),
            arrival: ARRIVAL,
            grace: self.request.patience.denied_grace,
        }
    }
}

/// After so many pauses in a row that ended early and led to nothing, one lasts: what ends them is no sign then.
const MOST_EARLY: u32 = 10;

impl<H: Meter> Context<'_, H> {
    /// Tries until it succeeds, its fault cannot heal, the wait ends, or the boot stops. Each failed try
    /// is an event; before each try the budget of cloud calls is checked.
    ///
    /// # Errors
    ///
    /// Returns the last fault, with how often and how long it was tried.
    pub(crate) async fn retry<T, F, R>(&self, wait: &Wait, attempt: F) -> Result<T, Fault>
    where
        F: FnMut() -> R,
        R: Future<Output = Result<T, Fault>>,
    {
        self.retry_early(wait, attempt, std::future::pending).await
    }

    /// As [`Context::retry`]; a pause ends early when `is_worth_it` returns. Backoff is for others' servers: what happens on this
    /// machine can be looked at often.
    pub(crate) async fn retry_early<T, F, R, G, E>(
        &self,
        wait: &Wait,
        mut attempt: F,
        mut is_worth_it: G,
    ) -> Result<T, Fault>
    where
        F: FnMut() -> R,
        R: Future<Output = Result<T, Fault>>,
        G: FnMut() -> E,
        E: Future<Output = ()>,
    {
        let began = Instant::now();
        let mut first_denied = None;
        let mut last = None;
        let mut tries = Tries::default();
        let mut early = 0;
        loop {
            if let Some(fault) = self.stop_requested() {
                return Err(fault);
            }
            if let Err(fault) = lock(&self.budget).check(&self.host.calls()) {
                return Err(spent(last, fault, tries.all, began));
            }
            let fault = match attempt().await {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            };
            let in_a_row = tries.count(fault.class());
            let now = Instant::now();
            let Some(backoff) = backoff_for(fault.class(), wait.arrival) else {
                return Err(fault);
            };
            let mut pause = backoff.pause(in_a_row - 1, self.draw());
            if fault.class() == Class::Denied {
                let since = *first_denied.get_or_insert(now);
                let ends = since + wait.grace;
                if now >= ends {
                    return Err(worn_out(fault, tries.all, began));
                }
                pause = pause.min(ends - now);
            }
            if now + pause > wait.deadline {
                return Err(worn_out(fault, tries.all, began));
            }
            self.report_wait(wait, tries.all, pause, &fault);
            last = Some(fault);
            tokio::select! {
                biased;
                ended = self.pause(pause) => {
                    early = 0;
                    ended?;
                }
                () = is_worth_it(), if early < MOST_EARLY => early += 1,
            }
        }
    }

    fn report_wait(&self, wait: &Wait, attempt: u32, pause: Duration, fault: &Fault) {
        let left = wait.deadline.saturating_duration_since(Instant::now());
        self.emitter.emit(Event::Waiting {
            phase: wait.phase,
            step: wait.step.clone(),
            attempt,
            retry_in_ms: millis(pause),
            deadline_in_ms: millis(left),
            fault: fault.clone(),
        });
    }
}

impl<H> Context<'_, H> {
    pub(crate) async fn pause(&self, pause: Duration) -> Result<(), Fault> {
        tokio::select! {
            biased;
            () = sleep(pause) => Ok(()),
            fault = self.stopped() => Err(fault),
        }
    }

    /// Returns once it should have stopped for this long.
    pub(crate) async fn stopped_since(&self, grace: Duration) {
        self.stopped().await;
        sleep(grace).await;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that sleeps"
)]
async fn sleep(pause: Duration) {
    tokio::time::sleep(pause).await;
}

/// Tries until it succeeds or its fault is no transient failure, for at most `longest`: what is asked without a boot around it has
/// no events, no budget and nobody who stops it. Whoever asks with the same `seed` draws the same pauses.
pub(crate) async fn retry_transient<T, F, R>(
    seed: &str,
    longest: Duration,
    attempt: F,
) -> Result<T, Fault>
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, Fault>>,
{
    let is_transient = |class| (class == Class::Transient).then_some(TRANSIENT_RETRY);
    tried(seed, longest, is_transient, attempt).await
}

/// As [`retry_transient`], and waits for what comes by itself.
pub(crate) async fn arrives<T, F, R>(seed: &str, longest: Duration, attempt: F) -> Result<T, Fault>
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, Fault>>,
{
    let comes = |class| match class {
        Class::NotYet => Some(ARRIVAL),
        Class::Transient => Some(TRANSIENT_RETRY),
        _ => None,
    };
    tried(seed, longest, comes, attempt).await
}

/// How long a lock of the asset store is waited for without a boot around it. A guess: what holds one for long hangs.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);

/// Does something with the asset store, again and again while another process holds a lock of it.
///
/// # Errors
///
/// Returns the last fault.
pub async fn when_unlocked<T, F, R>(mut attempt: F) -> Result<T, Fault>
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, PortError>>,
{
    let comes = |class| (class == Class::NotYet).then_some(ARRIVAL);
    tried("store-lock", LOCK_PATIENCE, comes, || {
        let coming = attempt();
        async move { coming.await.map_err(asset_fault) }
    })
    .await
}

async fn tried<T, F, R>(
    seed: &str,
    longest: Duration,
    backoff: impl Fn(Class) -> Option<Backoff>,
    mut attempt: F,
) -> Result<T, Fault>
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, Fault>>,
{
    let began = Instant::now();
    let mut jitter = Jitter::seeded(seed);
    let mut tries = 0;
    loop {
        let fault = match attempt().await {
            Err(fault) => fault,
            ended => return ended,
        };
        let Some(backoff) = backoff(fault.class()) else {
            return Err(fault);
        };
        let pause = backoff.pause(tries, jitter.draw());
        tries += 1;
        if began.elapsed() + pause > longest {
            return Err(worn_out(fault, tries, began));
        }
        sleep(pause).await;
    }
}

/// How often something was tried.
#[derive(Debug, Default)]
struct Tries {
    all: u32,
    /// Hiccups since the last answer that was none.
    transient_failures: u32,
}

impl Tries {
    /// Counts a try; returns which of its kind it was. A throttle after an hour of looks is the first of its kind, so
    /// that the look is soon tried again.
    fn count(&mut self, class: Class) -> u32 {
        self.all += 1;
        if class == Class::Transient {
            self.transient_failures += 1;
            return self.transient_failures;
        }
        self.transient_failures = 0;
        self.all
    }
}

/// How to wait after a fault of this class; `None` when trying again is pointless here. A conflict is
/// tried again by its phase, from fresh facts.
fn backoff_for(class: Class, arrival: Backoff) -> Option<Backoff> {
    match class {
        Class::NotYet | Class::Denied => Some(arrival),
        Class::Transient => Some(TRANSIENT_RETRY),
        Class::Conflict | Class::Invalid | Class::Refused | Class::Bug => None,
    }
}

/// What a wait ends with when the budget of cloud calls is spent: what was waited for says more than
/// the budget, unless nothing was.
fn spent(last: Option<Fault>, budget: Fault, tries: u32, began: Instant) -> Fault {
    match last {
        Some(fault) => worn_out(fault, tries, began).seen("budget", budget.summary),
        None => budget,
    }
}

fn worn_out(fault: Fault, tries: u32, began: Instant) -> Fault {
    let waited = format!("{:.1}s", began.elapsed().as_secs_f64());
    fault.seen("tries", tries).seen("waited", waited)
}

/// A duration in whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transient_failure_between_looks_is_the_first_of_its_kind() {
        use Class::{NotYet, Transient};
        let mut tries = Tries::default();
        let classes = [NotYet, NotYet, Transient, Transient, NotYet, Transient];
        let counted = classes.map(|class| tries.count(class));
        assert_eq!((counted, tries.all), ([1, 2, 1, 2, 5, 1], 6));
    }
}
