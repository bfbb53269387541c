//! Holds units: reload, enable, start or restart, and verified after each.

use crate::context::{Context, PlannedStep, lock};
use crate::ensure::unit_watch::{self, Watched};
use crate::ensure::{files, glances};
use crate::fault_mapping::{Operation, to_fault};
use crate::retry::Wait;
use quake_model::facts::UnitFacts;
use quake_model::fault::{Code, Fault};
use quake_model::item::UnitState;
use quake_model::outcome::Outcome;
use quake_model::ports::{Clock, Files, JobKind, Meter, PortError, UnitJob, Units};
use quake_model::step::{StartUnit, Step};
use quake_node::up_to_date::{UnitDecision, UnitDone, decide_unit, newest_input};
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long a unit may take to come up, failed starts included. A guess; docker on a cold disk takes
/// the longest, some tens of seconds.
const START_DEADLINE: Duration = Duration::from_secs(5 * 60);

/// Journal lines shown when a unit fails.
const JOURNAL_LINES: usize = 20;

/// How far a unit is on its way to be as wanted.
pub(crate) struct Begun {
    /// How long it may take.
    pub(crate) wait: Wait,
    /// The last look at it.
    pub(crate) found: UnitFacts,
    /// When the newest of its files was written.
    newest_us: u64,
    /// What was done about it.
    pub(crate) done: UnitDone,
    outcome: Outcome,
}

/// Where the end of a unit's job is read.
pub(crate) type JobEnd = oneshot::Receiver<Result<(), PortError>>;

impl Begun {
    pub(crate) fn decide(&self, wanted: &StartUnit) -> UnitDecision {
        decide_unit(wanted, &self.found, self.newest_us, self.done)
    }

    /// Notes that something is done about the unit, and announces it the first time.
    pub(crate) fn acts<H>(&mut self, context: &Context<'_, H>, step: &Step) {
        if self.outcome == Outcome::Unchanged {
            context.announce(step);
        }
        self.outcome = Outcome::Changed;
    }
}

/// Looks at a unit and at the files it reads.
pub(crate) async fn begun<H: Files + Units + Clock + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    wanted: &StartUnit,
) -> Result<Begun, Fault> {
    let wait = context.wait(step.phase, &step.id, START_DEADLINE);
    let found = context.retry(&wait, || look(context, &wanted.unit)).await?;
    Ok(Begun {
        found,
        newest_us: newest_written(context, wanted).await?,
        done: UnitDone::default(),
        outcome: Outcome::Unchanged,
        wait,
    })
}

/// Looks at a unit again.
pub(crate) async fn look_for<H: Units + Meter>(
    context: &Context<'_, H>,
    begun: &Begun,
    unit: &str,
) -> Result<UnitFacts, Fault> {
    context.retry(&begun.wait, || look(context, unit)).await
}

/// Brings a unit to where it is wanted, from where it is. If a job is under way, its end counts as the first
/// attempt.
pub(crate) async fn held<H: Units + Clock + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    wanted: &StartUnit,
    mut begun: Begun,
    job: Option<JobEnd>,
) -> Result<Outcome, Fault> {
    let unit = wanted.unit.as_str();
    let mut failed = None;
    if let Some(end) = job {
        begun.acts(context, step);
        match end.await {
            Ok(Ok(())) if wanted.state == UnitState::Stopped => begun.done.stopped = true,
            Ok(Ok(())) => begun.done.started = true,
            Ok(Err(error)) => failed = Some(start_fault(context, error, unit).await),
            // The batch ended before the job did; the next look says how the unit stands, if the boot goes on.
            Err(_) => {}
        }
        begun.found = look_for(context, &begun, unit).await?;
    }
    loop {
        let decision = begun.decide(wanted);
        if decision == UnitDecision::Keep {
            return Ok(begun.outcome);
        }
        if context.is_planning() {
            let drift = context.ownership.drift_of_unit(unit, decision);
            let differs = Some(how_it_differs(decision, &begun.found));
            context.note_planned(PlannedStep::differing(step, differs, drift));
            return Ok(Outcome::WouldChange);
        }
        match decision {
            UnitDecision::Unknown => return Err(unknown(unit)),
            UnitDecision::Died => {
                let ended = begun.found.main_ended.as_deref();
                let fault = unit_watch::does_not_stay_up(&begun.found, ended);
                return Err(with_journal(context, fault, unit).await);
            }
            UnitDecision::Keep | UnitDecision::Wait => {}
            UnitDecision::Reload => begun.done.reloaded = true,
            UnitDecision::Enable => begun.done.enabled = true,
            UnitDecision::Start | UnitDecision::Restart => begun.done.started = true,
            UnitDecision::Disable => begun.done.disabled = true,
            UnitDecision::Stop => begun.done.stopped = true,
        }
        if decision == UnitDecision::Wait {
            let watched = Watched::default();
            let settled = || unit_watch::settled(context, unit, &watched);
            let early = || glances::until_unit_settles(context, unit);
            context.retry_early(&begun.wait, settled, early).await?;
        } else {
            begun.acts(context, step);
            let act = || act(context, unit, decision, failed.take());
            context.retry(&begun.wait, act).await?;
        }
        begun.found = look_for(context, &begun, unit).await?;
    }
}

/// Does one thing about a unit. A start that failed in the batch is not made again before it was waited for.
async fn act<H: Units>(
    context: &Context<'_, H>,
    unit: &str,
    decision: UnitDecision,
    failed: Option<Fault>,
) -> Result<(), Fault> {
    match (decision, failed) {
        (UnitDecision::Start | UnitDecision::Restart, Some(fault)) => Err(fault),
        (UnitDecision::Start, None) => run_job(context, unit, JobKind::Start).await,
        (UnitDecision::Restart, None) => run_job(context, unit, JobKind::Restart).await,
        (UnitDecision::Stop, _) => run_job(context, unit, JobKind::Stop).await,
        (UnitDecision::Enable, _) => enabled(context, unit).await,
        (UnitDecision::Disable, _) => {
            let disabled = context.host.disable_units(&[unit.to_owned()]).await;
            disabled.map_err(|error| to_fault(Operation::UseUnit, error).seen("unit", unit))
        }
        (UnitDecision::Reload, _) => {
            let reloaded = context.host.reload_units().await;
            reloaded.map_err(|error| to_fault(Operation::UseUnit, error).seen("unit", unit))
        }
        (
            UnitDecision::Unknown | UnitDecision::Died | UnitDecision::Wait | UnitDecision::Keep,
            _,
        ) => Ok(()),
    }
}

pub(crate) async fn enabled<H: Units>(context: &Context<'_, H>, unit: &str) -> Result<(), Fault> {
    let enabled = context.host.enable_units(&[unit.to_owned()]).await;
    enabled.map_err(|error| to_fault(Operation::UseUnit, error).seen("unit", unit))
}

pub(crate) async fn restart<H: Units>(context: &Context<'_, H>, unit: &str) -> Result<(), Fault> {
    run_job(context, unit, JobKind::Restart).await
}

async fn run_job<H: Units>(
    context: &Context<'_, H>,
    unit: &str,
    kind: JobKind,
) -> Result<(), Fault> {
    let job = UnitJob {
        unit: unit.to_owned(),
        kind,
    };
    let ended = Mutex::new(Ok(()));
    let report = |_, end| *lock(&ended) = end;
    context.host.run_jobs(&[job], &report).await;
    let ended = std::mem::replace(&mut *lock(&ended), Ok(()));
    match ended {
        Ok(()) => Ok(()),
        Err(error) => Err(start_fault(context, error, unit).await),
    }
}

/// The fault of a job that failed.
async fn start_fault<H: Units>(context: &Context<'_, H>, error: PortError, unit: &str) -> Fault {
    let fault = to_fault(Operation::StartUnit, error).seen("unit", unit);
    with_journal(context, fault, unit).await
}

pub(crate) async fn look<H: Units>(
    context: &Context<'_, H>,
    unit: &str,
) -> Result<UnitFacts, Fault> {
    let looked = context.host.look_unit(unit).await;
    looked.map_err(|error| to_fault(Operation::UseUnit, error).seen("unit", unit))
}

/// The fault of a unit that is not active, with its state as evidence.
pub(crate) fn not_active(found: &UnitFacts, code: Code) -> Fault {
    Fault::new(
        code,
        format!("{} is {:?} ({})", found.name, found.active, found.sub_state).to_lowercase(),
    )
    .seen("unit", &found.name)
    .seen("result", &found.result)
    .seen("restarts", found.restarts)
}

/// Adds the unit's last journal lines to a fault that has none yet.
pub(crate) async fn with_journal<H: Units>(
    context: &Context<'_, H>,
    fault: Fault,
    unit: &str,
) -> Fault {
    if fault.evidence_named("journal").is_some() {
        return fault;
    }
    match context.host.read_journal(unit, JOURNAL_LINES).await {
        Ok(lines) if !lines.is_empty() => fault.seen("journal", lines.join("\n")),
        _ => fault,
    }
}

async fn newest_written<H: Files + Clock>(
    context: &Context<'_, H>,
    unit: &StartUnit,
) -> Result<u64, Fault> {
    let mut written = Vec::new();
    for input in &unit.inputs {
        let found = files::glance(context, input).await?;
        written.extend(found.map(|found| found.modified_us));
    }
    let now_us = context.host.now().0.saturating_mul(1000);
    Ok(newest_input(written, now_us))
}

/// Why something would be done about a unit, in words.
fn how_it_differs(decision: UnitDecision, found: &UnitFacts) -> String {
    match decision {
        UnitDecision::Keep => "it is as wanted".to_owned(),
        UnitDecision::Unknown => "systemd has no file for it yet".to_owned(),
        UnitDecision::Reload => "its files changed since systemd read them".to_owned(),
        UnitDecision::Enable => "it does not start at boot".to_owned(),
        UnitDecision::Disable => "it starts at boot, and should not yet".to_owned(),
        UnitDecision::Stop => format!("it is up ({}), and should not be yet", found.sub_state),
        UnitDecision::Restart => "it runs with older files than those on disk".to_owned(),
        UnitDecision::Start | UnitDecision::Died => {
            let state = format!("{:?}", found.active).to_lowercase();
            format!("it is {state} ({})", found.sub_state)
        }
        UnitDecision::Wait => format!("it is on its way ({})", found.sub_state),
    }
}

fn unknown(unit: &str) -> Fault {
    Fault::new(
        Code::ServicesUnitUnknown,
        format!("systemd has no unit file for {unit}"),
    )
    .seen("unit", unit)
}
