//! Awaits what comes about by itself.

use crate::context::{Context, lock};
use crate::ensure::services;
use crate::meaning::{Attempted, fault_of};
use quake_model::facts::{ActiveState, ProbeFacts};
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::{Host, InstanceQuery};
use quake_model::step::{Condition, Step};
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// A unit counts as up when it has stayed up this long: most that die at their start die within it.
const STEADY: Duration = Duration::from_secs(2);

pub(crate) async fn met<H: Host>(
    context: &Context<'_, H>,
    step: &Step,
    condition: &Condition,
) -> Result<Outcome, Fault> {
    if context.is_planning() {
        return Ok(Outcome::Skipped);
    }
    let wait = context.wait(step.phase, &step.id, step.phase.row().deadline);
    let steady = Steady::default();
    context
        .retry(&wait, || look(context, condition, &steady))
        .await?;
    Ok(Outcome::Held)
}

/// Since when a unit has been seen up without a restart; measured here, for the wall clock may step.
#[derive(Default)]
struct Steady(Mutex<Option<(u64, Instant)>>);

impl Steady {
    /// How long the unit has been up as far as this wait saw it.
    fn seen_for(&self, active_since_us: u64) -> Duration {
        let mut seen = lock(&self.0);
        match *seen {
            Some((since, first)) if since == active_since_us => first.elapsed(),
            _ => {
                *seen = Some((active_since_us, Instant::now()));
                Duration::ZERO
            }
        }
    }
}

async fn look<H: Host>(
    context: &Context<'_, H>,
    condition: &Condition,
    steady: &Steady,
) -> Result<(), Fault> {
    match condition {
        Condition::OwnTags { any_of } => own_tags(context, any_of).await,
        Condition::Healthy { component, url } => healthy(context, component, url).await,
        Condition::CniConfigured { directory } => cni_configured(context, directory).await,
        Condition::UnitActive { unit } => unit_active(context, unit, steady).await,
    }
}

async fn own_tags<H: Host>(context: &Context<'_, H>, any_of: &[String]) -> Result<(), Fault> {
    let id = context
        .know(crate::knowledge::Knowledge::instance)?
        .instance_id;
    let described = context
        .host
        .describe_instances(&InstanceQuery::Ids(vec![id.clone()]))
        .await;
    let views = described.map_err(|error| fault_of(Attempted::DescribeInstances, error))?;
    let Some(own) = views.into_iter().find(|view| view.instance_id == id) else {
        return Err(Fault::new(
            Code::IdentityInstanceUnknown,
            format!("EC2 does not show {id} yet"),
        ));
    };
    if any_of.iter().any(|key| own.tags.contains_key(key)) {
        return Ok(());
    }
    let seen: Vec<_> = own.tags.keys().map(String::as_str).collect();
    let summary = format!("{id} carries none of the tags {}", any_of.join(", "));
    Err(Fault::new(Code::IdentityTagsPending, summary).seen("tags seen", seen.join(", ")))
}

async fn healthy<H: Host>(
    context: &Context<'_, H>,
    component: &str,
    url: &str,
) -> Result<(), Fault> {
    let answer = context.host.probe(url).await;
    if answer.is_healthy() {
        return Ok(());
    }
    let seen = match answer {
        ProbeFacts::Answered { status, body } => format!("{status} {}", body.trim()),
        ProbeFacts::Silent { reason } => reason,
    };
    let fault = Fault::new(
        Code::ReadyProbeFailing,
        format!("{component} is not healthy"),
    );
    Err(fault.seen("url", url).seen("answer", seen))
}

async fn cni_configured<H: Host>(context: &Context<'_, H>, directory: &str) -> Result<(), Fault> {
    let listed = context.host.list_directory(directory).await;
    let names =
        listed.map_err(|error| fault_of(Attempted::UseFile, error).seen("path", directory))?;
    // kubelet takes the first of these names in lexical order.
    let is_configuration = |name: &String| {
        [".conf", ".conflist", ".json"]
            .iter()
            .any(|suffix| name.ends_with(suffix))
    };
    if names.iter().any(is_configuration) {
        return Ok(());
    }
    let summary = format!("there is no CNI configuration in {directory}");
    Err(Fault::new(Code::ReadyCniMissing, summary).seen("directory", directory))
}

async fn unit_active<H: Host>(
    context: &Context<'_, H>,
    unit: &str,
    steady: &Steady,
) -> Result<(), Fault> {
    let found = services::look(context, unit).await?;
    let fault = match found.active {
        ActiveState::Active => {
            let by_clock = context
                .host
                .now()
                .0
                .saturating_sub(found.active_since_us / 1000);
            let up = Duration::from_millis(by_clock).max(steady.seen_for(found.active_since_us));
            if up >= STEADY {
                return Ok(());
            }
            return Err(services::not_active(&found, Code::ServicesUnitStarting)
                .seen("up for ms", up.as_millis()));
        }
        ActiveState::Activating if found.restarts == 0 => {
            return Err(services::not_active(&found, Code::ServicesUnitStarting));
        }
        _ => services::not_active(&found, Code::ServicesUnitFailed),
    };
    Err(services::with_journal(context, fault, unit).await)
}
