//! Awaits what comes about by itself.

use crate::context::Context;
use crate::ensure::unit_watch::{self, Watched};
use crate::ensure::{dns, wait_for};
use crate::fault_mapping::{Operation, to_fault};
use crate::resident::between;
use quake_model::event::Event;
use quake_model::facts::ProbeFacts;
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::{Clock, Cloud, Dns, Files, InstanceQuery, Meter, Probes, Units};
use quake_model::step::{Condition, Step};
use quake_node::readiness::answers;
use std::time::Duration;

/// What conditions are looked at by.
pub(crate) trait ReadyPorts: Cloud + Dns + Files + Units + Probes + Clock + Meter {}

impl<T: Cloud + Dns + Files + Units + Probes + Clock + Meter> ReadyPorts for T {}

pub(crate) async fn met<H: ReadyPorts>(
    context: &Context<'_, H>,
    step: &Step,
    condition: &Condition,
) -> Result<Outcome, Fault> {
    if context.is_planning() {
        return Ok(Outcome::Skipped);
    }
    if let Condition::NamesInSync { zone } = condition {
        return dns::in_sync(context, step, zone).await;
    }
    let wait = context.wait(step.phase, &step.id, step.phase.row().deadline);
    let watched = Watched::default();
    let attempt = || look(context, condition, &watched);
    let glances = || glance_until(context, condition);
    context.retry_early(&wait, attempt, glances).await?;
    Ok(Outcome::Unchanged)
}

/// How often something of this machine is glanced at while a pause lasts, shortest and longest. A guess: a glance costs one local
/// call.
const GLANCES_APART: (Duration, Duration) =
    (Duration::from_millis(250), Duration::from_millis(500));

/// Returns once the next look may succeed; never for what another machine brings about, or what has a pace of its own.
async fn glance_until<H: Files + Probes>(context: &Context<'_, H>, condition: &Condition) {
    let names = match condition {
        Condition::PodNetwork { directory, .. } => {
            context.host.list_directory(directory).await.ok()
        }
        _ => None,
    };
    loop {
        if context
            .pause(between(GLANCES_APART, context.draw()))
            .await
            .is_err()
        {
            return std::future::pending().await;
        }
        let is_worth_it = match condition {
            Condition::Healthy { url, .. } => answers(url, &context.host.probe(url).await),
            Condition::CniConfigured { directory } => {
                cni_configured(context, directory).await.is_ok()
            }
            // Which of the files counts, and whose it is, is the look's to judge.
            Condition::PodNetwork { directory, .. } => {
                let now = context.host.list_directory(directory).await;
                now.is_ok_and(|now| names.as_ref() != Some(&now))
            }
            Condition::RuntimeAnswers { .. } => context.host.ask_runtime().await.is_ok(),
            Condition::PodRuns { pod } => wait_for::pod_runs(context, pod).await,
            Condition::NodeRegistered { node, kubeconfig } => {
                match wait_for::registered_here(context, node, kubeconfig).await {
                    Some(is_registered) => is_registered,
                    None => std::future::pending().await,
                }
            }
            Condition::OwnTags { .. }
            | Condition::UnitActive { .. }
            | Condition::NamesInSync { .. } => std::future::pending().await,
        };
        if is_worth_it {
            return;
        }
    }
}

async fn look<H: Cloud + Files + Units + Probes + Clock>(
    context: &Context<'_, H>,
    condition: &Condition,
    watched: &Watched,
) -> Result<(), Fault> {
    match condition {
        Condition::OwnTags { any_of } => own_tags(context, any_of).await,
        Condition::Healthy { component, url } => healthy(context, component, url).await,
        Condition::CniConfigured { directory } => cni_configured(context, directory).await,
        Condition::UnitActive { unit, healthz } => {
            unit_watch::up(context, unit, healthz.as_deref(), watched).await
        }
        Condition::RuntimeAnswers { runtime } => wait_for::runtime(context, runtime).await,
        Condition::PodRuns { pod } => wait_for::pod(context, pod).await,
        Condition::NodeRegistered { node, kubeconfig } => {
            wait_for::node(context, node, kubeconfig).await
        }
        // It has a deadline of its own, and its end is no failure.
        Condition::NamesInSync { .. } => Ok(()),
        Condition::PodNetwork { directory, network } => {
            let doubt = wait_for::pod_network(context, directory, network).await?;
            if let Some(fault) = doubt {
                context.emitter.emit(Event::Warning { fault });
            }
            Ok(())
        }
    }
}

async fn own_tags<H: Cloud>(context: &Context<'_, H>, any_of: &[String]) -> Result<(), Fault> {
    let id = context
        .know(crate::boot::facts::BootFacts::instance)?
        .instance_id;
    let described = context
        .host
        .describe_instances(&InstanceQuery::Ids(vec![id.clone()]))
        .await;
    let views = described.map_err(|error| to_fault(Operation::DescribeInstances, error))?;
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

async fn healthy<H: Probes>(
    context: &Context<'_, H>,
    component: &str,
    url: &str,
) -> Result<(), Fault> {
    let answer = context.host.probe(url).await;
    if answers(url, &answer) {
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

pub(crate) async fn cni_configured<H: Files>(
    context: &Context<'_, H>,
    directory: &str,
) -> Result<(), Fault> {
    let listed = context.host.list_directory(directory).await;
    let names =
        listed.map_err(|error| to_fault(Operation::UseFile, error).seen("path", directory))?;
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
