//! When phases began and when they end. A call that never answers may hold a phase up, and not for ever.

use crate::context::lock;
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::step::Step;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How much later than its last wait a phase is cut off. A guess: a try that ends itself says more than this does.
const OVERRUN: Duration = Duration::from_secs(5);

/// The times of one boot: when its phases began, when their waits end, and which steps are in progress.
#[derive(Debug)]
pub(crate) struct PhaseTimes {
    /// When the boot's waits end, where it was given a deadline.
    boot_ends: Option<Instant>,
    /// When each phase began; its deadline counts from there, however many waits it has.
    began: Mutex<BTreeMap<Phase, Instant>>,
    /// When the last wait for another machine ends, by phase.
    long_waits: Mutex<BTreeMap<Phase, Instant>>,
    /// The ids of the steps that are in progress.
    in_progress: Mutex<BTreeSet<String>>,
}

impl PhaseTimes {
    /// The times of a boot that begins now.
    pub(crate) fn new(deadline: Option<Duration>) -> Self {
        Self {
            boot_ends: deadline.map(|deadline| Instant::now() + deadline),
            began: Mutex::new(BTreeMap::new()),
            long_waits: Mutex::new(BTreeMap::new()),
            in_progress: Mutex::new(BTreeSet::new()),
        }
    }

    /// Begins a phase, or its next round: its deadline counts from here.
    pub(crate) fn begin(&self, phase: Phase) {
        lock(&self.began).insert(phase, Instant::now());
    }

    /// When a phase has to be done, from when it began.
    pub(crate) fn phase_ends(&self, phase: Phase) -> Instant {
        let began = lock(&self.began).get(&phase).copied();
        began.unwrap_or_else(Instant::now) + phase.row().deadline
    }

    /// When a wait of at most `longest` has to end because the boot does.
    pub(crate) fn wait_ends(&self, longest: Duration) -> Instant {
        let own = Instant::now() + longest;
        self.boot_ends.map_or(own, |boot| boot.min(own))
    }

    /// Lets a phase last until a wait for another machine ends.
    pub(crate) fn extend(&self, phase: Phase, deadline: Instant) {
        lock(&self.long_waits).insert(phase, deadline);
    }

    /// Notes that a step is in progress.
    pub(crate) fn begin_step(&self, step: &Step) {
        lock(&self.in_progress).insert(step.id.clone());
    }

    pub(crate) fn end_step(&self, step: &Step) {
        lock(&self.in_progress).remove(&step.id);
    }

    /// Runs a round of a phase until its limit. What is under way then is dropped where it stands, as if the process had
    /// been killed there: the next boot completes it.
    ///
    /// # Errors
    ///
    /// The round's own fault; `boot.phase-timed-out` at the limit.
    pub(crate) async fn in_time<T>(
        &self,
        phase: Phase,
        round: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let mut round = pin!(round);
        loop {
            let limit = self.limit(phase);
            match timeout_at(limit + OVERRUN, round.as_mut()).await {
                Ok(ended) => return ended,
                // A wait for another machine began meanwhile.
                Err(_) if self.limit(phase) > limit => {}
                Err(_) => return Err(self.timed_out(phase)),
            }
        }
    }

    /// When the last wait of a phase ends.
    fn limit(&self, phase: Phase) -> Instant {
        let ends = self.phase_ends(phase);
        let long = lock(&self.long_waits).get(&phase).copied();
        let limit = long.map_or(ends, |long| long.max(ends));
        self.boot_ends.map_or(limit, |boot| boot.min(limit))
    }

    fn timed_out(&self, phase: Phase) -> Fault {
        let steps = lock(&self.in_progress).clone();
        let of_phase = |step: &&String| step.split(':').next() == Some(phase.name());
        let steps: Vec<String> = steps.iter().filter(of_phase).cloned().collect();
        let what = match steps.as_slice() {
            [] => "a look at the node has no answer".to_owned(),
            steps => format!("{} is still under way", steps.join(", ")),
        };
        let began = lock(&self.began).get(&phase).copied();
        let took = began.map_or(Duration::ZERO, |began| began.elapsed());
        let summary = format!("the phase {phase} was not done by its deadline: {what}");
        Fault::new(Code::BootPhaseTimedOut, summary)
            .seen("phase", phase)
            .seen("waited", format!("{:.1}s", took.as_secs_f64()))
    }
}
