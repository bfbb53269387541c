//! Watches the bytes of an asset: progress, a mirror that holds it up, and what is told when its time is over.

use crate::context::{Context, lock};
use crate::retry::{Wait, millis};
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Arriving, Meter, SlowMirror};
use quake_model::spec::AssetSpec;
use quake_model::step::Step;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// Progress is an event at most this often, so that a fast link does not flood the readers.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// A slow mirror is an event at most this often. A guess: a person who looks on sees it change.
const SLOW_INTERVAL: Duration = Duration::from_secs(10);

/// The watch over one asset's fetch, all tries together.
pub(crate) struct Watch<'a, 'b, H> {
    context: &'a Context<'b, H>,
    step: &'a Step,
    asset: &'a AssetSpec,
    wait: Wait,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    attempt: u32,
    /// How the last try failed, and how many bytes had come when it did.
    failed: Option<(Fault, u64)>,
    done: u64,
    total: Option<u64>,
    /// The mirror that was slow last, and what it gave each second.
    slow: Option<(String, u64)>,
    progress_at: Option<Instant>,
    slow_at: Option<Instant>,
}

impl<'a, 'b, H: Meter> Watch<'a, 'b, H> {
    /// A watch over the fetch of `asset`, which ends with `wait`.
    pub(crate) fn new(
        context: &'a Context<'b, H>,
        step: &'a Step,
        asset: &'a AssetSpec,
        wait: Wait,
    ) -> Self {
        Self {
            context,
            step,
            asset,
            wait,
            seen: Mutex::default(),
        }
    }

    pub(crate) fn fail(&self, fault: &Fault) {
        let mut seen = lock(&self.seen);
        seen.failed = Some((fault.clone(), seen.done));
    }

    /// Another try begins.
    pub(crate) fn begin(&self) {
        lock(&self.seen).attempt += 1;
    }

    /// Takes a report of the fetch, and emits what readers should know of it.
    pub(crate) fn see(&self, arriving: Arriving<'_>) {
        let mut seen = lock(&self.seen);
        (seen.done, seen.total) = (arriving.done, arriving.total);
        let now = Instant::now();
        if let Some(slow) = arriving.slow {
            seen.slow = Some((slow.url.to_owned(), slow.bytes_per_second));
            if is_due(&mut seen.slow_at, SLOW_INTERVAL, now) {
                self.tell_slow(seen.attempt, slow, now);
            }
        } else if is_due(&mut seen.progress_at, PROGRESS_INTERVAL, now) {
            self.context.emitter.emit(Event::Progress {
                step: self.step.id.clone(),
                done: arriving.done,
                total: arriving.total,
            });
        }
    }

    fn tell_slow(&self, attempt: u32, slow: SlowMirror<'_>, now: Instant) {
        let summary = self.slowly(slow.url, slow.bytes_per_second);
        let fault = Fault::new(Code::AssetsTooSlow, summary).seen("url", slow.url);
        let left = self.wait.deadline.saturating_duration_since(now);
        self.context.emitter.emit(Event::Waiting {
            phase: self.wait.phase,
            step: self.wait.step.clone(),
            attempt,
            retry_in_ms: 0,
            deadline_in_ms: millis(left),
            fault: fault.seen("bytes-per-second", slow.bytes_per_second),
        });
    }

    fn slowly(&self, url: &str, rate: u64) -> String {
        let name = &self.asset.name;
        format!("{name} comes at {rate} bytes a second from {url}")
    }

    /// The fault of a fetch that was under way at its deadline: where the last try gave nothing, how the one before it failed.
    pub(crate) fn late(&self) -> Fault {
        let seen = lock(&self.seen);
        if let Some((fault, done)) = &seen.failed
            && *done == seen.done
        {
            return fault.clone();
        }
        let total = seen.total.map_or("unknown".to_owned(), |it| it.to_string());
        let what = match &seen.slow {
            Some((url, rate)) => format!("{} and", self.slowly(url, *rate)),
            None => self.asset.name.clone(),
        };
        let summary = format!("{what} was not there by its deadline");
        let fault = Fault::new(Code::AssetsTooSlow, summary);
        let fault = match &seen.slow {
            Some((url, _)) => fault.seen("url", url),
            None => {
                let urls = self.asset.urls.iter();
                urls.fold(fault, |fault, url| fault.seen("url", url))
            }
        };
        fault.seen("bytes", seen.done).seen("bytes-in-all", total)
    }
}

/// Whether something is due that happens at most once in `interval`; it is taken as done then.
fn is_due(last: &mut Option<Instant>, interval: Duration, now: Instant) -> bool {
    let is_due = last.is_none_or(|last| now.duration_since(last) >= interval);
    if is_due {
        *last = Some(now);
    }
    is_due
}
