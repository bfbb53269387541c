//! Sinks of the face: the record published to HTTP, and systemd's notifications.

use quake_model::event::{Envelope, Event};
use quake_model::ports::{Sink, SinkError};
use quake_model::record::{BootState, Record};
use sd_notify::NotifyState;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Events kept for `/v1/events`; a boot has a few hundred.
const EVENTS_KEPT: usize = 4096;

/// The record and the last events, for any number of readers.
#[derive(Clone)]
pub(crate) struct Published {
    shared: Arc<Shared>,
    /// The number of the last event.
    newest: watch::Receiver<u64>,
}

/// The writing end of [`Published`].
pub(crate) struct Publish {
    shared: Arc<Shared>,
    newest: watch::Sender<u64>,
}

#[derive(Default)]
struct Shared {
    /// Each event is folded in. It is copied only while a reader holds it: a copy at each event would cost the square of a
    /// boot's steps.
    record: Mutex<Arc<Record>>,
    events: Mutex<Events>,
}

/// The last events.
#[derive(Default)]
struct Events {
    kept: VecDeque<Envelope>,
    /// How many of them tell progress.
    of_progress: usize,
}

impl Events {
    fn push(&mut self, envelope: Envelope) {
        if self.kept.len() == EVENTS_KEPT {
            self.make_room();
        }
        self.of_progress += usize::from(envelope.event.is_progress());
        self.kept.push_back(envelope);
    }

    /// Forgets one event: progress first, which tells nothing once there is newer. A boot that fetches for minutes would
    /// lose its own start otherwise, without which nobody knows what it is.
    fn make_room(&mut self) {
        // To look for what is not there would cost the square of a boot's steps.
        let progress = match self.of_progress {
            0 => None,
            _ => self.kept.iter().position(|kept| kept.event.is_progress()),
        };
        self.of_progress -= usize::from(progress.is_some());
        self.kept.remove(progress.unwrap_or_default());
    }
}

pub(crate) fn published() -> (Publish, Published) {
    let (sender, receiver) = watch::channel(0);
    let shared = Arc::new(Shared::default());
    let publish = Publish {
        shared: Arc::clone(&shared),
        newest: sender,
    };
    let published = Published {
        shared,
        newest: receiver,
    };
    (publish, published)
}

impl Published {
    pub(crate) fn record(&self) -> Arc<Record> {
        Arc::clone(&lock(&self.shared.record))
    }

    /// Events after number `since`, oldest first.
    pub(crate) fn events_since(&self, since: u64) -> Vec<Envelope> {
        let events = lock(&self.shared.events);
        let kept = events.kept.iter();
        kept.filter(|envelope| envelope.seq > since)
            .cloned()
            .collect()
    }

    /// Waits for a record newer than number `since`.
    pub(crate) async fn newer_than(&self, since: u64) -> Arc<Record> {
        let mut newest = self.newest.clone();
        let found = newest.wait_for(|seq| *seq > since).await.is_ok();
        if !found {
            // The boot has ended and nothing newer will come.
            std::future::pending::<()>().await;
        }
        self.record()
    }
}

impl Sink for Publish {
    fn accept(&mut self, envelope: &Envelope, _: &Record) -> Result<(), SinkError> {
        lock(&self.shared.events).push(envelope.clone());
        Arc::make_mut(&mut lock(&self.shared.record)).fold(envelope);
        self.newest.send_replace(envelope.seq);
        Ok(())
    }
}

/// Locks; a poisoned lock still guards the best there is.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells systemd how the boot stands: `STATUS=`, `READY=1`, more time for its start.
#[derive(Default)]
pub(crate) struct NotifySystemd {
    extended: Option<std::time::Instant>,
}

/// How often systemd is asked for more time while nothing else is worth telling it.
const EXTEND_INTERVAL: std::time::Duration = std::time::Duration::from_secs(10);

impl NotifySystemd {
    /// Asks for more time, now and then: a long download has no event but its progress.
    fn extend(&mut self) -> std::io::Result<()> {
        if self
            .extended
            .is_some_and(|last| last.elapsed() < EXTEND_INTERVAL)
        {
            return Ok(());
        }
        self.extended = Some(std::time::Instant::now());
        sd_notify::notify(&[NotifyState::ExtendTimeoutUsec(EXTEND_MICROS)])
    }
}

/// How much longer systemd waits for the start after each event, in microseconds.
const EXTEND_MICROS: u32 = 5 * 60 * 1_000_000;

impl Sink for NotifySystemd {
    fn accept(&mut self, envelope: &Envelope, record: &Record) -> Result<(), SinkError> {
        let status = match &envelope.event {
            Event::PhaseStarted { .. } | Event::PhaseDone { .. } | Event::Waiting { .. } => {
                status_line(record)
            }
            Event::BootReady { .. }
            | Event::ConditionLost { .. }
            | Event::ConditionRegained { .. } => ready_line(record),
            Event::BootFailed { phase, fault } => format!("failed in {phase}: {}", fault.code),
            Event::BootStopped { .. } => "stopped".to_owned(),
            _ => {
                let extended = self.extend();
                return extended.map_err(|source| SinkError {
                    sink: "systemd",
                    source,
                });
            }
        };
        let mut states = vec![NotifyState::Status(&status)];
        match record.state {
            BootState::Ready => states.push(NotifyState::Ready),
            BootState::Failed | BootState::Stopped => states.push(NotifyState::Stopping),
            _ => states.push(NotifyState::ExtendTimeoutUsec(EXTEND_MICROS)),
        }
        sd_notify::notify(&states).map_err(|source| SinkError {
            sink: "systemd",
            source,
        })
    }
}

/// One line on a node that became ready.
fn ready_line(record: &Record) -> String {
    match record.losses.iter().next() {
        None => "ready".to_owned(),
        Some((step, loss)) => format!("not ready: {} ({step})", loss.fault.code),
    }
}

/// One line on what runs and what is waited for.
pub(crate) fn status_line(record: &Record) -> String {
    use quake_model::record::PhaseStatus;
    let running: Vec<String> = record
        .phases
        .iter()
        .filter(|(_, phase)| phase.status == PhaseStatus::Running)
        .map(|(name, phase)| match phase.unmet.values().next() {
            Some(unmet) => format!("{name} waits ({}, try {})", unmet.fault.code, unmet.attempt),
            None => name.to_string(),
        })
        .collect();
    running.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::phase::Phase;
    use quake_model::time::Timestamp;

    fn envelope(seq: u64, event: Event) -> Envelope {
        Envelope {
            seq,
            at: Timestamp(0),
            elapsed_ms: 0,
            event,
        }
    }

    #[test]
    fn the_record_is_that_of_all_events_and_a_readers_copy_stays() {
        let (mut publish, published) = published();
        let mut record = Record::default();
        let mut held = Vec::new();
        for (seq, phase) in [(1, Phase::Identity), (2, Phase::Config)] {
            let envelope = envelope(seq, Event::PhaseStarted { phase });
            record.fold(&envelope);
            let taken = publish.accept(&envelope, &record);
            taken.expect("memory takes it");
            assert_eq!(*published.record(), record);
            held.push(published.record());
        }
        assert_eq!((held[0].seq, held[1].seq), (1, 2));
    }

    #[test]
    fn progress_is_forgotten_before_anything_else() {
        let (mut publish, published) = published();
        let started = Event::PhaseStarted {
            phase: Phase::Assets,
        };
        let progress = || Event::Progress {
            step: "assets:a".into(),
            done: 1,
            total: None,
        };
        let kept = EVENTS_KEPT as u64;
        let events = std::iter::once(started).chain(std::iter::repeat_with(progress));
        for (seq, event) in (1..=kept + 5).zip(events) {
            let taken = publish.accept(&envelope(seq, event), &Record::default());
            taken.expect("memory takes it");
        }
        let found: Vec<u64> = published
            .events_since(0)
            .iter()
            .map(|envelope| envelope.seq)
            .collect();
        let wanted: Vec<u64> = std::iter::once(1).chain(7..=kept + 5).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn without_progress_the_oldest_event_is_forgotten() {
        let mut events = Events::default();
        let progress = Event::Progress {
            step: "assets:a".into(),
            done: 1,
            total: None,
        };
        events.push(envelope(1, progress));
        for seq in 2..=EVENTS_KEPT as u64 + 2 {
            let phase = Phase::Files;
            events.push(envelope(seq, Event::PhaseStarted { phase }));
        }
        assert_eq!((events.of_progress, events.kept.len()), (0, EVENTS_KEPT));
        assert_eq!(events.kept.front().map(|oldest| oldest.seq), Some(3));
    }
}
