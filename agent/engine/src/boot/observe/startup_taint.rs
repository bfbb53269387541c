//! The startup taint that the operator asked for, before kubelet registers with it: somebody must be able to remove it. Those of
//! earlier configurations are recalled.

use crate::access::access_by;
use crate::context::Context;
use crate::ensure::files::look;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::facts::InstanceFacts;
use quake_model::fault::{Code, Fault};
use quake_model::ports::Files;
use quake_model::spec::NodeSpec;
use quake_node::node_conditions::{
    NOTE, RemoverChoice, StartupTaint, conditions_plan, noted_taints, taints_note,
};

/// The taint in kubelet's words; `None` where none is asked for.
pub(super) fn text<H>(context: &Context<'_, H>) -> Option<String> {
    let requested = &context.request.conditions.startup_taint;
    let taint = requested.as_ref().map(|requested| &requested.taint);
    taint.map(ToString::to_string)
}

/// Refuses a taint that nobody would remove, and notes the others that the node may have or get.
pub(super) async fn check<H: Files>(
    context: &Context<'_, H>,
    spec: &NodeSpec,
    instance: &InstanceFacts,
) -> Result<(), Fault> {
    let requested = context.request.conditions.startup_taint.as_ref();
    let found = look(context, NOTE).await?;
    let note = found.and_then(|found| found.contents).unwrap_or_default();
    let noted = noted_taints(&note);
    let Some(plan) = conditions_plan(spec, instance, requested, &noted)? else {
        return Ok(());
    };
    if let Some(requested) = requested {
        check_remover(context, requested).await?;
    }
    let taints = plan.taints_to_note();
    if taints != noted && !context.is_planning() {
        let written = context.host.write_file(&taints_note(&taints)).await;
        written.map_err(|error| to_fault(Operation::UseFile, error).seen("path", NOTE))?;
    }
    context.learn(|knowledge| knowledge.startup_taints = noted);
    Ok(())
}

/// Refuses a kubeconfig that is not there yet.
async fn check_remover<H: Files>(
    context: &Context<'_, H>,
    requested: &StartupTaint,
) -> Result<(), Fault> {
    let RemoverChoice::Kubeconfig(path) = &requested.remover else {
        return Ok(());
    };
    // A rehearsal and a plan may be without it.
    if context.is_planning() || access_by(context.host, path).await.is_some() {
        return Ok(());
    }
    let summary = format!(
        "nobody would remove the startup taint {}: {path} is no kubeconfig with a client certificate",
        requested.taint.key
    );
    let fault = Fault::new(Code::ConfigStartupTaintUnusable, summary)
        .seen("taint", &requested.taint)
        .seen("remover", path);
    Err(fault.remedied_by(format!(
        "put the kubeconfig at {path} before the agent starts; or --startup-taint-remover=controller"
    )))
}
