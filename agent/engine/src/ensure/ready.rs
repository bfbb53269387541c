//! Awaits what comes about by itself.

use crate::context::Context;
use crate::ensure::unit_watch::{self, Watched};
use crate::ensure::{dns, glances, wait_for};
use crate::fault_mapping::{Operation, to_fault};
use quake_model::event::Event;
use quake_model::facts::ProbeFacts;
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::{Clock, Cloud, Dns, Files, InstanceQuery, Meter, Probes, Units};
use quake_model::step::{Condition, Step};
use quake_node::readiness::answers;

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
    let glances = glances::begin(context, condition).await;
    let attempt = || look(context, condition, &watched);
    let early = || glances.until_worth_it(context);
    context.retry_early(&wait, attempt, early).await?;
    Ok(Outcome::Unchanged)
}

pub(crate) async fn look<H: Cloud + Files + Units + Probes + Clock>(
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
