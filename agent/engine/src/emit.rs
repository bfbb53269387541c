//! The one place that numbers events and offers them to every sink.

use quake_model::addon::AddonsRecord;
use quake_model::event::{Envelope, Event};
use quake_model::fault::{Code, Fault};
use quake_model::ports::Sink;
use quake_model::record::Record;
use quake_model::time::Timestamp;
use std::collections::BTreeSet;
use std::sync::Mutex;
use tokio::time::Instant;

/// Tells the time of day.
pub(crate) type ReadClock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// Emits the events of one boot: numbered without gaps, terminal last and once.
pub struct Emitter {
    read_clock: ReadClock,
    state: Mutex<State>,
}

struct State {
    started: Instant,
    record: Record,
    sinks: Vec<Box<dyn Sink>>,
    failed_sinks: BTreeSet<&'static str>,
}

impl Emitter {
    /// An emitter for one boot.
    pub fn new(read_clock: ReadClock, sinks: Vec<Box<dyn Sink>>) -> Self {
        let state = State {
            started: Instant::now(),
            record: Record::default(),
            sinks,
            failed_sinks: BTreeSet::new(),
        };
        Self {
            read_clock,
            state: Mutex::new(state),
        }
    }

    /// Emits one event, unless it may not follow the boot's end.
    pub fn emit(&self, event: Event) {
        let at = (self.read_clock)();
        let mut state = self.lock();
        if !event.may_follow(state.record.state) {
            return;
        }
        let failures = state.offer(at, event);
        for (sink, cause) in failures {
            let summary = format!("events do not reach the {sink}");
            let fault = Fault::new(Code::BootSinkFailed, summary)
                .caused_by(cause)
                .seen("sink", sink);
            state.offer(at, Event::Warning { fault });
        }
    }

    /// What is true of the boot so far.
    pub fn record(&self) -> Record {
        self.lock().record.clone()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().record.is_terminal()
    }

    /// What was told of the cluster's add-ons so far.
    pub(crate) fn addons(&self) -> AddonsRecord {
        self.lock().record.addons.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic while the lock is held would be ours; the record is still the best there is.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State {
    /// Folds and offers one event; returns the sinks that failed for the first time, and why.
    fn offer(&mut self, at: Timestamp, event: Event) -> Vec<(&'static str, String)> {
        let elapsed = self.started.elapsed().as_millis();
        let elapsed_ms = u64::try_from(elapsed).unwrap_or(u64::MAX);
        let envelope = Envelope {
            seq: self.record.seq + 1,
            at,
            elapsed_ms,
            event,
        };
        self.record.fold(&envelope);
        let mut failures = Vec::new();
        for sink in &mut self.sinks {
            if let Err(error) = sink.accept(&envelope, &self.record) {
                let cause =
                    std::error::Error::source(&error).map_or_else(String::new, ToString::to_string);
                if self.failed_sinks.insert(error.sink) {
                    failures.push((error.sink, cause));
                }
            }
        }
        failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::phase::Phase;
    use quake_model::ports::SinkError;
    use std::sync::Arc;

    struct Collect(Arc<Mutex<Vec<Envelope>>>);

    impl Sink for Collect {
        fn accept(&mut self, envelope: &Envelope, _: &Record) -> Result<(), SinkError> {
            self.0
                .lock()
                .expect("no other holder panics")
                .push(envelope.clone());
            Ok(())
        }
    }

    struct Broken;

    impl Sink for Broken {
        fn accept(&mut self, _: &Envelope, _: &Record) -> Result<(), SinkError> {
            Err(SinkError {
                sink: "ledger",
                source: std::io::Error::other("disk full"),
            })
        }
    }

    fn emitter(sinks: Vec<Box<dyn Sink>>) -> Emitter {
        Emitter::new(Box::new(|| Timestamp(0)), sinks)
    }

    #[test]
    fn nothing_follows_a_terminal_event() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let emitter = emitter(vec![Box::new(Collect(Arc::clone(&seen)))]);
        emitter.emit(Event::BootReady { changed: 0 });
        emitter.emit(Event::PhaseStarted {
            phase: Phase::Config,
        });
        assert_eq!(seen.lock().expect("no other holder panics").len(), 1);
    }

    #[test]
    fn only_what_is_of_a_ready_node_follows_its_boot() {
        let lost = || Event::ConditionLost {
            phase: Phase::Ready,
            step: "ready:cni".into(),
            fault: Fault::new(Code::ReadyCniMissing, "gone"),
        };
        let emitter = emitter(Vec::new());
        emitter.emit(lost());
        assert!(emitter.record().losses.is_empty(), "it was never ready");
        emitter.emit(Event::BootReady { changed: 0 });
        emitter.emit(lost());
        let record = emitter.record();
        assert!(!record.is_ready() && record.is_terminal());
        assert_eq!(record.exit_status(), 0, "the boot ended well");
    }

    #[test]
    fn a_sink_that_fails_is_one_warning_and_no_failed_boot() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let emitter = emitter(vec![Box::new(Broken), Box::new(Collect(Arc::clone(&seen)))]);
        for _ in 0..3 {
            emitter.emit(Event::PhaseStarted {
                phase: Phase::Config,
            });
        }
        let record = emitter.record();
        assert_eq!(record.warnings.len(), 1);
        assert_eq!(record.warnings[0].code, Code::BootSinkFailed);
        let numbers: Vec<u64> = seen
            .lock()
            .expect("no other holder panics")
            .iter()
            .map(|e| e.seq)
            .collect();
        assert_eq!(numbers, vec![1, 2, 3, 4]);
    }
}
