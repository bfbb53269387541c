//! The end of a phase: a call that never answers may hold it up, and not for ever.

use crate::context::{Context, lock};
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::Host;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How much later than its last wait a phase is cut off. A guess: a try that ends itself says more than this does.
const OVERRUN: Duration = Duration::from_secs(5);

impl<H: Host> Context<'_, H> {
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
        self.boot_ends().map_or(limit, |boot| boot.min(limit))
    }

    fn timed_out(&self, phase: Phase) -> Fault {
        let steps = lock(&self.in_progress).clone();
        let of_phase = |step: &&String| step.split(':').next() == Some(phase.name());
        let steps: Vec<String> = steps.iter().filter(of_phase).cloned().collect();
        let what = match steps.as_slice() {
            [] => "a look at the node has no answer".to_owned(),
            steps => format!("{} is still under way", steps.join(", ")),
        };
        let began = lock(&self.phases_began).get(&phase).copied();
        let took = began.map_or(Duration::ZERO, |began| began.elapsed());
        let summary = format!("the phase {phase} was not done by its deadline: {what}");
        Fault::new(Code::BootPhaseTimedOut, summary)
            .seen("phase", phase)
            .seen("waited", format!("{:.1}s", took.as_secs_f64()))
    }
}
