//! Applies the steps of one phase: each is held, brought about, or its fault ends the phase.

use crate::context::{Context, PlannedStep, lock};
use crate::ensure;
use crate::retry::millis;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use quake_model::event::Event;
use quake_model::fault::{Class, Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::ports::{Clock, Files, Host, Meter, Units};
use quake_model::step::{Action, Step};
use tokio::time::Instant;

/// Applies `steps`, as many at once as the phase has lanes; returns how many changed something. Units that stand
/// together are brought up together, and files are written together, after what stands before them and before what stands
/// after them.
///
/// # Errors
///
/// Returns the first fault; steps that run beside it are left where they stand between acts.
pub(crate) async fn apply<H: Host>(
    context: &Context<'_, H>,
    phase: Phase,
    steps: &[Step],
) -> Result<usize, Fault> {
    let mut changed = 0;
    let kind = |step: &Step| Kind::of(phase, step);
    for run in steps.chunk_by(|one, next| kind(one) == kind(next)) {
        changed += match run.first().map(kind) {
            Some(Kind::Unit) => apply_together(context, phase, run).await?,
            Some(Kind::File) => apply_files(context, phase, run).await?,
            Some(Kind::Alone) | None => apply_in_lanes(context, phase, run).await?,
        };
    }
    Ok(changed)
}

/// What is done with steps that stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unit,
    File,
    Alone,
}

impl Kind {
    fn of(phase: Phase, step: &Step) -> Self {
        match step.action {
            Action::StartUnit(_) => Self::Unit,
            // Where steps run beside each other, none waits until those before it are done.
            Action::WriteFile(_) if phase.row().lanes == 1 => Self::File,
            _ => Self::Alone,
        }
    }
}

async fn apply_in_lanes<H: Host>(
    context: &Context<'_, H>,
    phase: Phase,
    steps: &[Step],
) -> Result<usize, Fault> {
    let lanes = phase.row().lanes;
    let mut waiting = steps.iter();
    let mut running = FuturesUnordered::new();
    let mut changed = 0;
    loop {
        while running.len() < lanes {
            let Some(step) = waiting.next() else { break };
            running.push(apply_step(context, phase, step));
        }
        let Some(outcome) = running.next().await else {
            return Ok(changed);
        };
        changed += usize::from(outcome? == Outcome::Changed);
    }
}

/// Begins steps; the moment at which they began.
///
/// # Errors
///
/// Returns that the boot is to stop.
fn begin<H>(context: &Context<'_, H>, steps: &[Step]) -> Result<Instant, Fault> {
    if let Some(fault) = context.stop_requested() {
        return Err(fault);
    }
    steps.iter().for_each(|step| context.times.begin_step(step));
    Ok(Instant::now())
}

/// Brings up units together. Each is seen to its end, so that one that fails hides no other.
async fn apply_together<H: Files + Units + Clock + Meter>(
    context: &Context<'_, H>,
    phase: Phase,
    steps: &[Step],
) -> Result<usize, Fault> {
    let began = begin(context, steps)?;
    let conclude = |step: &Step, ended| conclude(context, phase, step, began, ended);
    let ended = ensure::batch::start_all(context, steps, conclude).await;
    let mut changed = 0;
    let mut first = None;
    for outcome in ended {
        match outcome {
            Ok(outcome) => changed += usize::from(outcome == Outcome::Changed),
            Err(fault) if first.is_none() => first = Some(fault),
            Err(fault) if fault.code == Code::BootInterrupted => {}
            Err(fault) => context.emitter.emit(Event::Warning { fault }),
        }
    }
    first.map_or(Ok(changed), Err)
}

/// Writes files together. Those before the first that fails are held, and none behind it is touched.
async fn apply_files<H: Files>(
    context: &Context<'_, H>,
    phase: Phase,
    steps: &[Step],
) -> Result<usize, Fault> {
    let began = begin(context, steps)?;
    let wanted = steps.iter().filter_map(|step| match &step.action {
        Action::WriteFile(file) => Some((step, file)),
        _ => None,
    });
    let wanted: Vec<_> = wanted.collect();
    let ended = ensure::files::written_together(context, &wanted).await;
    let (mut changed, mut first) = (0, None);
    for (step, ended) in ended {
        match conclude(context, phase, step, began, ended) {
            Ok(outcome) => changed += usize::from(outcome == Outcome::Changed),
            Err(fault) => first = first.or(Some(fault)),
        }
    }
    first.map_or(Ok(changed), Err)
}

async fn apply_step<H: Host>(
    context: &Context<'_, H>,
    phase: Phase,
    step: &Step,
) -> Result<Outcome, Fault> {
    let began = begin(context, std::slice::from_ref(step))?;
    let ended = ensure::ensure(context, step).await;
    conclude(context, phase, step, began, ended)
}

/// Reports what came of a step that began at `began`.
fn conclude<H>(
    context: &Context<'_, H>,
    phase: Phase,
    step: &Step,
    began: Instant,
    ended: Result<Outcome, Fault>,
) -> Result<Outcome, Fault> {
    context.times.end_step(step);
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(fault) if is_optional(&step.action) && fault.class() != Class::NotYet => {
            context.emitter.emit(Event::Warning { fault });
            Outcome::Skipped
        }
        Err(fault) => return Err(fault),
    };
    context.ownership.note(step, outcome);
    if context.is_planning()
        && !lock(&context.planned)
            .iter()
            .any(|planned| planned.step.id == step.id)
    {
        context.note_planned(PlannedStep::plain(step, outcome));
    }
    context.emitter.emit(Event::StepDone {
        phase,
        step: step.id.clone(),
        outcome,
        took_ms: millis(began.elapsed()),
    });
    Ok(outcome)
}

fn is_optional(action: &Action) -> bool {
    use quake_model::step::Need::Optional;
    match action {
        Action::LoadModule { need, .. } | Action::SetSysctl { need, .. } => *need == Optional,
        Action::StartUnit(unit) => unit.need == Optional,
        Action::FetchImage(image) | Action::ImportImage { image, .. } => image.need == Optional,
        // kubelet pulls what is not there.
        Action::PullImage { .. } => true,
        // Two that apply the same add-ons find each other's work done.
        Action::RetirePod(_) => true,
        _ => false,
    }
}
