//! What every step of a boot is handed: the host, the events, the request and the stop signal.

use crate::boot::facts::BootFacts;
use crate::boot::limit::PhaseTimes;
use crate::boot::managed_files::Ownership;
use crate::budget::Budget;
use crate::emit::Emitter;
use crate::request::{Mode, Request};
use quake_model::backoff::Jitter;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::step::{Contents, Step, Visibility, WriteFile};
use std::sync::Mutex;
use tokio::sync::watch;

/// Tells a boot to stop; the boot notices between steps and while it waits.
#[derive(Debug, Clone)]
pub struct StopHandle(std::sync::Arc<watch::Sender<Option<Fault>>>);

/// The boot's end of a [`StopHandle`].
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<Option<Fault>>);

/// Makes a stop signal.
pub fn stop_signal() -> (StopHandle, Stop) {
    let (sender, receiver) = watch::channel(None);
    (StopHandle(std::sync::Arc::new(sender)), Stop(receiver))
}

impl StopHandle {
    /// Asks the boot to stop because of `reason`, such as a signal's name.
    pub fn stop(&self, reason: &str) {
        let fault = Fault::new(
            Code::BootInterrupted,
            format!("the agent was told to stop ({reason})"),
        );
        self.stop_with(fault);
    }

    /// Asks the boot to stop because of a fault; the first one stands.
    pub(crate) fn stop_with(&self, fault: Fault) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(fault);
            }
            first
        });
    }
}

impl Stop {
    /// Why the boot should stop, if it should.
    pub(crate) fn requested(&self) -> Option<Fault> {
        self.0.borrow().clone()
    }

    /// Waits until the boot should stop, which may be never.
    pub(crate) async fn wait(&self) -> Fault {
        let mut receiver = self.0.clone();
        let answer = receiver
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|fault| fault.clone());
        match answer {
            Some(fault) => fault,
            // The handle is gone: nobody can ask any more.
            None => std::future::pending().await,
        }
    }
}

/// A step as `plan` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStep {
    pub step: Step,
    /// `Held`, `WouldChange` or `Skipped`.
    pub outcome: Outcome,
    /// A file's bytes as they are, where the step writes one that may be shown.
    pub before: Option<Contents>,
    /// A file's bytes as they would be.
    pub after: Option<Contents>,
    /// How what is there differs from what is wanted, in words; without the bytes of what is secret.
    pub differs: Option<String>,
    /// How what is there differs from what an earlier boot left, in words: that somebody else changed.
    pub drift: Option<String>,
}

pub(crate) struct Context<'a, H> {
    pub(crate) host: &'a H,
    pub(crate) emitter: &'a Emitter,
    pub(crate) request: &'a Request,
    /// Told from outside, such as by a signal.
    pub(crate) stop: Stop,
    /// Told from inside, when another phase failed.
    pub(crate) abandon: (StopHandle, Stop),
    pub(crate) times: PhaseTimes,
    /// The most cloud calls that the boot may make until somebody grants it more.
    pub(crate) budget: Mutex<Budget>,
    pub(crate) jitter: Mutex<Jitter>,
    pub(crate) knowledge: Mutex<BootFacts>,
    pub(crate) ownership: Ownership,
    /// The list of users is rewritten for each: one at a time.
    pub(crate) users: tokio::sync::Mutex<()>,
    pub(crate) planned: Mutex<Vec<PlannedStep>>,
}

impl<'a, H> Context<'a, H> {
    pub(crate) fn new(host: &'a H, emitter: &'a Emitter, request: &'a Request, stop: Stop) -> Self {
        Self {
            host,
            emitter,
            request,
            stop,
            abandon: stop_signal(),
            times: PhaseTimes::new(request.patience.deadline),
            budget: Mutex::new(request.budget),
            jitter: Mutex::new(Jitter::seeded(request.boot.as_str())),
            knowledge: Mutex::new(BootFacts::default()),
            ownership: Ownership::default(),
            users: tokio::sync::Mutex::new(()),
            planned: Mutex::new(Vec::new()),
        }
    }

    /// The next draw of the boot's jitter.
    pub(crate) fn draw(&self) -> f64 {
        lock(&self.jitter).draw()
    }

    /// Reads what is known.
    pub(crate) fn know<T>(&self, read: impl FnOnce(&BootFacts) -> T) -> T {
        read(&lock(&self.knowledge))
    }

    /// Changes what is known and reads it.
    pub(crate) fn know_mut<T>(&self, change: impl FnOnce(&mut BootFacts) -> T) -> T {
        change(&mut lock(&self.knowledge))
    }

    /// Adds to what is known.
    pub(crate) fn learn(&self, write: impl FnOnce(&mut BootFacts)) {
        write(&mut lock(&self.knowledge));
    }

    pub(crate) fn is_planning(&self) -> bool {
        self.request.acting == Mode::DryRun
    }

    /// Why the boot or the phase should stop now, if it should.
    pub(crate) fn stop_requested(&self) -> Option<Fault> {
        self.stop.requested().or_else(|| self.abandon.1.requested())
    }

    /// Waits until it should stop.
    pub(crate) async fn stopped(&self) -> Fault {
        tokio::select! {
            biased;
            fault = self.stop.wait() => fault,
            fault = self.abandon.1.wait() => fault,
        }
    }

    /// Announces that a step is about to act, which a step that holds never is.
    pub(crate) fn announce(&self, step: &Step) {
        self.emitter.emit(Event::StepStarted {
            phase: step.phase,
            step: step.id.clone(),
        });
    }

    /// Notes what `plan` will show of a step.
    pub(crate) fn note_planned(&self, planned: PlannedStep) {
        lock(&self.planned).push(planned);
    }
}

impl PlannedStep {
    /// A step of which nothing more is to be said.
    pub(crate) fn plain(step: &Step, outcome: Outcome) -> Self {
        Self {
            step: step.clone(),
            outcome,
            before: None,
            after: None,
            differs: None,
            drift: None,
        }
    }

    /// A step that would be brought about because of what differs.
    pub(crate) fn differing(step: &Step, differs: Option<String>, drift: Option<String>) -> Self {
        Self {
            differs,
            drift,
            ..Self::plain(step, Outcome::WouldChange)
        }
    }

    /// The bytes of a file, before and after; left out when they are secret.
    pub(crate) fn showing(self, file: &WriteFile, before: Option<Vec<u8>>) -> Self {
        let shown = file.visibility == Visibility::Plain;
        Self {
            before: before.filter(|_| shown).map(Contents),
            after: shown.then(|| file.contents.clone()),
            ..self
        }
    }
}

/// Locks; a poisoned lock still guards the best there is.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
