//! Brings up the units of a node together: all are looked at, systemd reads its unit files again at most once,
//! all are enabled at once and all jobs are asked for at once, so that systemd itself orders and overlaps them.
//!
//! The batch is the first attempt for each unit. What it leaves undone, such as a unit that failed to start, is tried
//! again for that unit alone.

use crate::context::{Context, lock};
use crate::ensure::services::{self, Begun, JobEnd};
use crate::fault_mapping::{Operation, to_fault};
use futures_util::future::{join, join_all};
use quake_model::fault::Fault;
use quake_model::outcome::Outcome;
use quake_model::ports::{Clock, Files, JobKind, Meter, PortError, UnitJob, Units};
use quake_model::step::{Action, StartUnit, Step};
use quake_node::up_to_date::UnitDecision;
use std::sync::Mutex;
use tokio::sync::oneshot;

/// A unit of the batch and how far it is.
struct Member<'a> {
    step: &'a Step,
    wanted: &'a StartUnit,
    begun: Result<Begun, Fault>,
}

/// Brings up the units of `steps`; returns what `conclude` made of each end, in their order.
pub(crate) async fn start_all<H: Files + Units + Clock + Meter>(
    context: &Context<'_, H>,
    steps: &[Step],
    conclude: impl Fn(&Step, Result<Outcome, Fault>) -> Result<Outcome, Fault>,
) -> Vec<Result<Outcome, Fault>> {
    let wanted = steps.iter().filter_map(|step| match &step.action {
        Action::StartUnit(unit) => Some((step, unit)),
        _ => None,
    });
    let looks = wanted.map(|(step, wanted)| async move {
        let begun = services::begun(context, step, wanted).await;
        Member {
            step,
            wanted,
            begun,
        }
    });
    let mut members = join_all(looks).await;
    if !context.is_planning() {
        reload(context, &mut members).await;
        enable(context, &mut members).await;
    }
    let (jobs, reports, mut ends) = jobs_of(context, &members);
    let held = members.into_iter().enumerate().map(|(index, member)| {
        let end = ends.get_mut(index).and_then(Option::take);
        let conclude = &conclude;
        async move {
            let Member {
                step,
                wanted,
                begun,
            } = member;
            let ended = match begun {
                Ok(begun) => services::held(context, step, wanted, begun, end).await,
                Err(fault) => Err(fault),
            };
            conclude(step, ended)
        }
    });
    join(run(context, &jobs, reports), join_all(held)).await.1
}

impl Member<'_> {
    fn wants(&self, decision: UnitDecision) -> bool {
        matches!(&self.begun, Ok(begun) if begun.decide(self.wanted) == decision)
    }
}

/// Makes systemd read its unit files again if that is due for any unit, and looks at all of them anew.
async fn reload<H: Units + Meter>(context: &Context<'_, H>, members: &mut [Member<'_>]) {
    let due = |member: &&mut Member<'_>| member.wants(UnitDecision::Reload);
    let mut first = None;
    for member in members.iter_mut().filter(due) {
        if let Ok(begun) = &mut member.begun {
            begun.acts(context, member.step);
            first.get_or_insert_with(|| begun.wait.clone());
        }
    }
    let Some(wait) = first else { return };
    let reload = async || {
        let reloaded = context.host.reload_units().await;
        reloaded.map_err(|error| to_fault(Operation::UseUnit, error))
    };
    let reloaded = context.retry(&wait, reload).await;
    let looks = members.iter_mut().map(|member| async {
        let Ok(begun) = &mut member.begun else { return };
        begun.done.reloaded = true;
        let looked = match &reloaded {
            Ok(()) => services::look_for(context, begun, &member.wanted.unit).await,
            Err(fault) => Err(fault.clone().seen("unit", &member.wanted.unit)),
        };
        match looked {
            Ok(found) => begun.found = found,
            Err(fault) => member.begun = Err(fault),
        }
    });
    join_all(looks).await;
}

/// Enables all units that are to be. Where that fails, each is enabled alone, which names the one at fault.
async fn enable<H: Units + Meter>(context: &Context<'_, H>, members: &mut [Member<'_>]) {
    let due = |member: &&mut Member<'_>| member.wants(UnitDecision::Enable);
    let due: Vec<&mut Member<'_>> = members.iter_mut().filter(due).collect();
    let names: Vec<String> = due
        .iter()
        .map(|member| member.wanted.unit.clone())
        .collect();
    if names.is_empty() {
        return;
    }
    let together = context.host.enable_units(&names).await;
    for member in due {
        let Ok(begun) = &mut member.begun else {
            continue;
        };
        begun.acts(context, member.step);
        begun.done.enabled = true;
        if together.is_ok() {
            continue;
        }
        let alone = || services::enabled(context, &member.wanted.unit);
        if let Err(fault) = context.retry(&begun.wait, alone).await {
            member.begun = Err(fault);
        }
    }
}

/// Where the ends of jobs are reported to.
type Reports = Vec<Mutex<Option<oneshot::Sender<Result<(), PortError>>>>>;

/// The jobs that units need, and for each unit where the end of its job will be read.
fn jobs_of<H>(
    context: &Context<'_, H>,
    members: &[Member<'_>],
) -> (Vec<UnitJob>, Reports, Vec<Option<JobEnd>>) {
    let (mut jobs, mut reports, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for member in members {
        let decision = match &member.begun {
            Ok(begun) if !context.is_planning() => begun.decide(member.wanted),
            Ok(_) | Err(_) => UnitDecision::Keep,
        };
        let kind = match decision {
            UnitDecision::Start => JobKind::Start,
            UnitDecision::Restart => JobKind::Restart,
            UnitDecision::Stop => JobKind::Stop,
            UnitDecision::Unknown
            | UnitDecision::Reload
            | UnitDecision::Enable
            | UnitDecision::Disable
            | UnitDecision::Died
            | UnitDecision::Wait
            | UnitDecision::Keep => {
                ends.push(None);
                continue;
            }
        };
        let (sender, receiver) = oneshot::channel();
        let unit = member.wanted.unit.clone();
        jobs.push(UnitJob { unit, kind });
        reports.push(Mutex::new(Some(sender)));
        ends.push(Some(receiver));
    }
    (jobs, reports, ends)
}

/// Asks for the jobs and passes on their ends, until all have ended or the boot stops.
async fn run<H: Units>(context: &Context<'_, H>, jobs: &[UnitJob], reports: Reports) {
    if jobs.is_empty() {
        return;
    }
    let report = |index: usize, ended: Result<(), PortError>| {
        let sender = reports.get(index).and_then(|report| lock(report).take());
        if let Some(sender) = sender {
            // Who would read it is gone only when the boot stops.
            let _ = sender.send(ended);
        }
    };
    tokio::select! {
        biased;
        () = context.host.run_jobs(jobs, &report) => {}
        _ = context.stopped() => {}
    }
}
