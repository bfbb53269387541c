//! The startup taint that the operator asked for, before kubelet registers with it: somebody must be able to remove it.

use crate::access::access_by;
use crate::context::Context;
use quake_model::facts::InstanceFacts;
use quake_model::fault::{Code, Fault};
use quake_model::ports::Files;
use quake_model::spec::NodeSpec;
use quake_node::node_conditions::{RemoverChoice, StartupTaint, conditions_plan};

/// The taint in kubelet's words; `None` where none is asked for.
pub(super) fn text<H>(context: &Context<'_, H>) -> Option<String> {
    let requested = &context.request.conditions.startup_taint;
    requested.as_ref().map(StartupTaint::text)
}

/// Refuses a taint that nobody would remove.
pub(super) async fn check<H: Files>(
    context: &Context<'_, H>,
    spec: &NodeSpec,
    instance: &InstanceFacts,
) -> Result<(), Fault> {
    let Some(requested) = &context.request.conditions.startup_taint else {
        return Ok(());
    };
    if conditions_plan(spec, instance, Some(requested))?.is_none() {
        return Ok(());
    }
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
        .seen("taint", requested.text())
        .seen("remover", path);
    Err(fault.remedied_by(format!(
        "put the kubeconfig at {path} before the agent starts; or --startup-taint-remover=controller"
    )))
}
