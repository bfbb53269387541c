//! What the boot's end waited for. Phases wait for phases by the table's `after`; of those before it, a phase waited for the
//! one that ended last. Within a phase the same holds of its steps: walked back from its end, the step that ended last.

use super::boot::{BootSpans, PhaseSpan, StepSpan, WaitSpan};
use super::machine::Layer;
use quake_model::phase::Phase;
use quake_model::record::PhaseStatus;
use std::collections::BTreeMap;

/// One link of the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Where it is.
    pub layer: Layer,
    /// The phase of the boot, if it is one.
    pub phase: Option<Phase>,
    /// When the chain came to it: negative before the boot.
    pub start_ms: i64,
    /// When the chain left it.
    pub end_ms: i64,
    /// What filled that time, longest first; empty outside the boot.
    pub parts: Vec<Part>,
}

/// A step's share of its phase's time.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub step: String,
    /// How long the chain stayed with it.
    pub took_ms: u64,
    /// How much of that was pauses before other tries, by the code they were for.
    pub waits: BTreeMap<&'static str, u64>,
}

impl Link {
    /// How much this link adds to the whole.
    pub fn took_ms(&self) -> u64 {
        u64::try_from(self.end_ms - self.start_ms).unwrap_or_default()
    }
}

/// The chain of phases that the boot's end waited for, so far if it has not ended.
pub fn critical_path(boot: &BootSpans) -> Vec<Link> {
    let mut chain = Vec::new();
    let mut next = last_phase(boot);
    while let Some(span) = next {
        let before = waited_for(boot, span);
        // From the end of what it waited for: that the next phase begins at once is no law.
        let start = before
            .map_or(0, |before| boot.end_of(before))
            .min(boot.end_of(span));
        chain.push(Link {
            layer: Layer::Agent,
            phase: Some(span.phase),
            start_ms: signed(start),
            end_ms: signed(boot.end_of(span)),
            parts: parts(boot, span, start),
        });
        next = before;
    }
    chain.reverse();
    chain
}

/// How much longer a phase could have taken without the boot's end being later: of those that waited for it, the least
/// of their own slack and the time from its end to their start.
pub fn slack_ms(boot: &BootSpans, phase: Phase) -> Option<u64> {
    let span = boot.phases.iter().find(|span| span.phase == phase)?;
    let end = boot.end_of(span);
    let followers = boot.phases.iter();
    let followers = followers.filter(|other| other.phase.row().after.contains(&phase));
    let least = followers
        .filter_map(|other| {
            let gap = other.start_ms.saturating_sub(end);
            slack_ms(boot, other.phase).map(|slack| slack + gap)
        })
        .min();
    Some(least.unwrap_or_else(|| boot.end_ms.saturating_sub(end)))
}

/// The phase that the end waited for: the one that failed, else one that still runs, else the one that ended last. Of
/// equals the later one in the table.
fn last_phase(boot: &BootSpans) -> Option<&PhaseSpan> {
    let rank = |span: &&PhaseSpan| {
        let weight = match span.status {
            PhaseStatus::Failed => 2,
            PhaseStatus::Running => 1,
            PhaseStatus::Done | PhaseStatus::Pending => 0,
        };
        // A phase that stopped because another failed ends after it.
        let order = match span.status {
            PhaseStatus::Failed => u64::MAX - boot.end_of(span),
            PhaseStatus::Running => u64::MAX - span.start_ms,
            PhaseStatus::Done | PhaseStatus::Pending => boot.end_of(span),
        };
        (weight, order)
    };
    boot.phases.iter().max_by_key(rank)
}

/// The phase that `span` waited for: of those it comes after, the one that ended last.
fn waited_for<'a>(boot: &'a BootSpans, span: &PhaseSpan) -> Option<&'a PhaseSpan> {
    let after = span.phase.row().after;
    let before = boot
        .phases
        .iter()
        .filter(|other| after.contains(&other.phase));
    before.max_by_key(|other| boot.end_of(other))
}

/// The steps that the phase's end waited for, walked back from it to `from`; longest first.
fn parts(boot: &BootSpans, span: &PhaseSpan, from: u64) -> Vec<Part> {
    let steps = boot.steps.iter().filter(|step| step.phase == span.phase);
    let steps: Vec<&StepSpan> = steps.collect();
    let mut at = boot.end_of(span);
    let mut parts = Vec::new();
    // Each turn goes back in time, for a step that took no time is passed over.
    while let Some(step) = steps
        .iter()
        .filter(|step| step.end_ms <= at && step.start_ms < step.end_ms.min(at))
        .max_by_key(|step| (step.end_ms, std::cmp::Reverse(step.start_ms)))
    {
        let start = step.start_ms.max(from);
        if step.end_ms <= from {
            break;
        }
        parts.push(part(&boot.waits, &step.step, start, step.end_ms));
        at = step.start_ms;
    }
    // What is observed and waited for before there are steps has the phase's own name; so has what is waited for by a step that
    // did not end.
    let mut open: Vec<&str> = boot
        .waits
        .iter()
        .filter(|wait| wait.phase == span.phase && !steps.iter().any(|step| step.step == wait.step))
        .map(|wait| wait.step.as_str())
        .collect();
    open.sort_unstable();
    open.dedup();
    for step in open {
        let waits = || boot.waits.iter().filter(|wait| wait.step == step);
        let first = waits().map(|wait| wait.start_ms).min().unwrap_or(at);
        let last = waits().map(|wait| wait.end_ms).max().unwrap_or(at);
        parts.push(part(&boot.waits, step, first.max(from), last));
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.took_ms));
    parts
}

fn part(waits: &[WaitSpan], step: &str, start: u64, end: u64) -> Part {
    let mut by_code = BTreeMap::new();
    for wait in waits.iter().filter(|wait| wait.step == step) {
        let paused = wait
            .end_ms
            .min(end)
            .saturating_sub(wait.start_ms.max(start));
        if paused > 0 {
            *by_code.entry(wait.code.entry().code).or_default() += paused;
        }
    }
    Part {
        step: step.to_owned(),
        took_ms: end.saturating_sub(start),
        waits: by_code,
    }
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::fault::Code;
    use quake_model::outcome::Outcome;
    use quake_model::phase::PHASES;

    fn phase(phase: Phase, start_ms: u64, end_ms: u64) -> PhaseSpan {
        PhaseSpan {
            phase,
            status: PhaseStatus::Done,
            start_ms,
            end_ms: Some(end_ms),
            steps: 0,
            changed: 0,
            retries: 0,
        }
    }

    fn step(phase: Phase, step: &str, start_ms: u64, end_ms: u64) -> StepSpan {
        StepSpan {
            phase,
            step: step.into(),
            outcome: Outcome::Changed,
            start_ms,
            end_ms,
        }
    }

    /// A boot whose assets took longest.
    fn boot() -> BootSpans {
        let times = [
            (0, 10),
            (10, 50),
            (50, 90),
            (50, 200),
            (50, 900),
            (50, 120),
            (901, 950),
            (950, 1_400),
            (1_400, 1_500),
        ];
        let rows = PHASES.iter().zip(times);
        BootSpans {
            phases: rows
                .map(|(row, (start, end))| phase(row.phase, start, end))
                .collect(),
            steps: vec![
                step(Phase::Assets, "assets:a", 60, 400),
                step(Phase::Assets, "assets:b", 60, 300),
                step(Phase::Assets, "assets:c", 400, 880),
                step(Phase::Assets, "assets:held", 880, 880),
            ],
            waits: vec![WaitSpan {
                phase: Phase::Assets,
                step: "assets:c".into(),
                code: Code::AssetsUnreachable,
                start_ms: 500,
                end_ms: 700,
            }],
            fetched: Vec::new(),
            end_ms: 1_500,
        }
    }

    fn names(chain: &[Link]) -> Vec<(&'static str, u64)> {
        let chain = chain.iter();
        chain
            .map(|link| (link.phase.map_or("", Phase::name), link.took_ms()))
            .collect()
    }

    #[test]
    fn the_chain_follows_what_ended_last_and_fills_the_whole_time() {
        let boot = boot();
        let chain = critical_path(&boot);
        let wanted = [
            ("identity", 10),
            ("config", 40),
            ("assets", 850),
            ("files", 50),
            ("services", 450),
            ("ready", 100),
        ];
        assert_eq!(names(&chain), wanted);
        let sum: u64 = chain.iter().map(Link::took_ms).sum();
        assert_eq!(sum, boot.end_ms);
    }

    #[test]
    fn a_phase_is_made_of_the_steps_its_end_waited_for_and_of_their_waits() {
        let chain = critical_path(&boot());
        let part = |step: &str, took_ms, waits: &[(&'static str, u64)]| Part {
            step: step.into(),
            took_ms,
            waits: waits.iter().copied().collect(),
        };
        let wanted = [
            part("assets:c", 480, &[("assets.unreachable", 200)]),
            part("assets:a", 340, &[]),
        ];
        assert_eq!(chain[2].parts, wanted);
    }

    #[test]
    fn what_is_not_on_the_chain_has_slack() {
        let boot = boot();
        let slack = |phase| slack_ms(&boot, phase);
        // Files began when assets had ended; network was wanted by services alone.
        assert_eq!(slack(Phase::Credentials), Some(901 - 120));
        assert_eq!(slack(Phase::Network), Some(950 - 90));
        assert_eq!(slack(Phase::Ready), Some(0));
        assert_eq!(slack(Phase::Services), Some(0));
    }

    #[test]
    fn the_end_of_a_boot_that_failed_waited_for_the_phase_that_failed_first() {
        let mut boot = boot();
        boot.phases.truncate(6);
        boot.end_ms = 210;
        boot.phases[3].status = PhaseStatus::Failed;
        // It was told to stop.
        boot.phases[4].status = PhaseStatus::Failed;
        boot.phases[4].end_ms = Some(210);
        let chain = names(&critical_path(&boot));
        assert_eq!(chain.last(), Some(&("storage", 150)));
    }

    #[test]
    fn a_boot_that_goes_on_waits_for_what_has_run_longest() {
        let mut boot = boot();
        boot.phases.truncate(6);
        boot.end_ms = 700;
        boot.phases[4].status = PhaseStatus::Running;
        boot.phases[4].end_ms = None;
        boot.steps.truncate(2);
        let chain = critical_path(&boot);
        let last = chain.last().expect("it has begun");
        assert_eq!((last.phase, last.took_ms()), (Some(Phase::Assets), 650));
        // A step that has not ended is known by its wait.
        assert_eq!(last.parts[1].step, "assets:c");
        assert!(last.parts[1].waits.contains_key("assets.unreachable"));
    }

    #[test]
    fn nothing_that_began_is_no_chain() {
        assert_eq!(critical_path(&BootSpans::default()), Vec::new());
    }
}
