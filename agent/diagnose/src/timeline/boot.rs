//! The spans of a boot: phases, their steps, and the waits within.

use quake_model::event::{Envelope, Event};
use quake_model::fault::Code;
use quake_model::outcome::Outcome;
use quake_model::phase::{PHASES, Phase};
use quake_model::record::{PhaseStatus, Record};
use quake_model::transfer::Fetched;

/// The spans of one boot, in milliseconds from its first event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BootSpans {
    /// Phases that began, in the table's order.
    pub phases: Vec<PhaseSpan>,
    /// Steps that ended, in that order.
    pub steps: Vec<StepSpan>,
    /// Pauses before another try, in their order.
    pub waits: Vec<WaitSpan>,
    pub fetched: Vec<Fetched>,
    /// When the last event of the boot was.
    pub end_ms: u64,
}

/// A phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseSpan {
    pub phase: Phase,
    pub status: PhaseStatus,
    pub start_ms: u64,
    /// When it ended; `None` while it runs.
    pub end_ms: Option<u64>,
    pub steps: usize,
    pub changed: usize,
    /// Tries that failed and were tried again.
    pub retries: u32,
}

/// A step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSpan {
    pub phase: Phase,
    pub step: String,
    pub outcome: Outcome,
    pub start_ms: u64,
    pub end_ms: u64,
}

/// A pause before another try.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitSpan {
    pub phase: Phase,
    /// The step's id, or the phase's name while observing.
    pub step: String,
    pub code: Code,
    pub start_ms: u64,
    /// When it ended: at the next try, or when the boot did.
    pub end_ms: u64,
}

impl BootSpans {
    /// The spans of a record, and the waits among its events.
    pub fn new(record: &Record, events: &[Envelope]) -> Self {
        let phases: Vec<PhaseSpan> = PHASES
            .iter()
            .filter_map(|row| phase_span(record, row.phase))
            .collect();
        let ended = phases
            .iter()
            .map(|span| span.end_ms)
            .collect::<Option<Vec<_>>>();
        // What is noticed of a node that is ready is no part of its boot.
        let end_ms = match ended.and_then(|ended| ended.into_iter().max()) {
            Some(last) if record.is_terminal() => last,
            _ => record.elapsed_ms,
        };
        let steps = record.steps.iter();
        let steps = steps.map(|step| StepSpan {
            phase: step.phase,
            step: step.step.clone(),
            outcome: step.outcome,
            start_ms: step.ended_ms.saturating_sub(step.took_ms),
            end_ms: step.ended_ms,
        });
        let steps: Vec<StepSpan> = steps.collect();
        let waits = events.iter().filter_map(|one| wait_span(one, end_ms));
        let mut waits: Vec<WaitSpan> = waits.collect();
        end_early(&mut waits, &steps);
        Self {
            steps,
            waits,
            fetched: record.transfers.fetched.clone(),
            phases,
            end_ms,
        }
    }

    /// The end of a phase; of one that runs, the end so far.
    pub fn end_of(&self, span: &PhaseSpan) -> u64 {
        span.end_ms.unwrap_or(self.end_ms).max(span.start_ms)
    }
}

fn phase_span(record: &Record, phase: Phase) -> Option<PhaseSpan> {
    let found = record.phases.get(&phase)?;
    Some(PhaseSpan {
        phase,
        status: found.status,
        start_ms: found.started_ms?,
        end_ms: found.ended_ms,
        steps: found.steps,
        changed: found.changed,
        retries: found.retries,
    })
}

/// Ends each wait no later than the next one of its step, and no later than its step: a pause may end early.
fn end_early(waits: &mut [WaitSpan], steps: &[StepSpan]) {
    for index in 0..waits.len() {
        let (before, behind) = waits.split_at_mut(index + 1);
        let Some(wait) = before.last_mut() else {
            continue;
        };
        let next = behind.iter().find(|next| next.step == wait.step);
        let step = steps
            .iter()
            .find(|step| step.step == wait.step && step.end_ms >= wait.start_ms);
        let ends = [next.map(|next| next.start_ms), step.map(|step| step.end_ms)];
        let earliest = ends.into_iter().flatten().min();
        wait.end_ms = wait.end_ms.min(earliest.unwrap_or(wait.end_ms));
    }
}

fn wait_span(envelope: &Envelope, end_ms: u64) -> Option<WaitSpan> {
    let Event::Waiting {
        phase,
        step,
        retry_in_ms,
        fault,
        ..
    } = &envelope.event
    else {
        return None;
    };
    let start_ms = envelope.elapsed_ms;
    Some(WaitSpan {
        phase: *phase,
        step: step.clone(),
        code: fault.code,
        start_ms,
        end_ms: (start_ms + retry_in_ms).min(end_ms).max(start_ms),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(step: &str, start_ms: u64, end_ms: u64) -> WaitSpan {
        WaitSpan {
            phase: Phase::Ready,
            step: step.into(),
            code: Code::ReadyProbeFailing,
            start_ms,
            end_ms,
        }
    }

    #[test]
    fn a_pause_that_ended_early_ends_with_the_next_or_with_its_step() {
        let step = |step: &str, start_ms, end_ms| StepSpan {
            phase: Phase::Ready,
            step: step.into(),
            outcome: Outcome::Unchanged,
            start_ms,
            end_ms,
        };
        let mut waits = [
            wait("ready:kubelet", 0, 900),
            wait("ready:other", 100, 200),
            wait("ready:kubelet", 300, 9_000),
            wait("ready:open", 400, 5_000),
        ];
        let steps = [step("ready:kubelet", 0, 700)];
        end_early(&mut waits, &steps);
        assert_eq!(waits.map(|wait| wait.end_ms), [300, 200, 700, 5_000]);
    }
}
