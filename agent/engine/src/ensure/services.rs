//! Holds units: reload, enable, start or restart, and verified after each.

use crate::context::Context;
use crate::ensure::files;
use crate::meaning::{Attempted, fault_of};
use quake_model::facts::{ActiveState, UnitFacts};
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::Host;
use quake_model::step::{StartUnit, Step};
use quake_plan::hold::{UnitDecision, UnitDone, decide_unit};
use std::time::Duration;

/// How long a unit may take to come up, failed starts included. A guess; docker on a cold disk takes
/// the longest, some tens of seconds.
const START_DEADLINE: Duration = Duration::from_secs(5 * 60);

/// Journal lines shown when a unit fails.
const JOURNAL_LINES: usize = 20;

pub(crate) async fn started<H: Host>(
    context: &Context<'_, H>,
    step: &Step,
    unit: &StartUnit,
) -> Result<Outcome, Fault> {
    let wait = context.wait(step.phase, &step.id, START_DEADLINE);
    let mut outcome = Outcome::Held;
    let mut done = UnitDone::default();
    loop {
        let look = || look(context, &unit.unit);
        let found = context.retry(&wait, look).await?;
        let newest = newest_input(context, unit).await?;
        let decision = decide_unit(unit, &found, newest, done);
        if decision == UnitDecision::Hold {
            return Ok(outcome);
        }
        if context.is_planning() {
            return Ok(Outcome::WouldChange);
        }
        if outcome == Outcome::Held && decision != UnitDecision::Wait {
            context.announce(step);
        }
        match decision {
            UnitDecision::Unknown => return Err(unknown(&unit.unit)),
            UnitDecision::Died => {
                let fault = not_active(&found, Code::ServicesUnitFailed);
                return Err(with_journal(context, fault, &unit.unit).await);
            }
            UnitDecision::Wait => {
                let settled = || settled(context, &unit.unit);
                context.retry(&wait, settled).await?;
                continue;
            }
            UnitDecision::Hold => return Ok(outcome),
            UnitDecision::Reload => done.reloaded = true,
            UnitDecision::Enable => done.enabled = true,
            UnitDecision::Start | UnitDecision::Restart => done.started = true,
        }
        let act = || act(context, &unit.unit, decision);
        context.retry(&wait, act).await?;
        outcome = Outcome::Changed;
    }
}

async fn act<H: Host>(
    context: &Context<'_, H>,
    unit: &str,
    decision: UnitDecision,
) -> Result<(), Fault> {
    let (attempted, acted) = match decision {
        UnitDecision::Reload => (Attempted::UseUnit, context.host.reload_units().await),
        UnitDecision::Enable => (Attempted::UseUnit, context.host.enable_unit(unit).await),
        UnitDecision::Start => (Attempted::StartUnit, context.host.start_unit(unit).await),
        UnitDecision::Restart => (Attempted::StartUnit, context.host.restart_unit(unit).await),
        UnitDecision::Unknown | UnitDecision::Died | UnitDecision::Wait | UnitDecision::Hold => {
            return Ok(());
        }
    };
    match acted {
        Ok(()) => Ok(()),
        Err(error) => {
            let fault = fault_of(attempted, error).seen("unit", unit);
            Err(with_journal(context, fault, unit).await)
        }
    }
}

/// Succeeds once the unit is neither coming up nor going down.
async fn settled<H: Host>(context: &Context<'_, H>, unit: &str) -> Result<(), Fault> {
    let found = look(context, unit).await?;
    match found.active {
        ActiveState::Activating | ActiveState::Deactivating | ActiveState::Reloading => {
            Err(not_active(&found, Code::ServicesUnitStarting))
        }
        ActiveState::Active | ActiveState::Inactive | ActiveState::Failed => Ok(()),
    }
}

pub(crate) async fn look<H: Host>(
    context: &Context<'_, H>,
    unit: &str,
) -> Result<UnitFacts, Fault> {
    let looked = context.host.look_unit(unit).await;
    looked.map_err(|error| fault_of(Attempted::UseUnit, error).seen("unit", unit))
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
pub(crate) async fn with_journal<H: Host>(
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

async fn newest_input<H: Host>(context: &Context<'_, H>, unit: &StartUnit) -> Result<u64, Fault> {
    let mut newest = 0;
    for input in &unit.inputs {
        let found = files::look(context, input).await?;
        newest = newest.max(found.map_or(0, |found| found.modified_us));
    }
    Ok(newest)
}

fn unknown(unit: &str) -> Fault {
    Fault::new(
        Code::ServicesUnitUnknown,
        format!("systemd has no unit file for {unit}"),
    )
    .seen("unit", unit)
}
