//! Tells the Auto Scaling group of a warm pool that the node is configured: the group holds the instance at a hook until then.

use crate::boot::facts::BootFacts;
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::fault::{Code, Fault};
use quake_model::item::LifecycleHook;
use quake_model::outcome::Outcome;
use quake_model::ports::{Condition, Meter, Signals};
use quake_model::signal::{HookCompletion, HookName, HookResult};
use quake_model::step::Step;
use std::time::Duration;

/// How long Auto Scaling may not answer, or ask for patience. A guess: kops' hook gives an instance ten minutes in all.
const DEADLINE: Duration = Duration::from_secs(5 * 60);

/// Completes the hook, if the group has it and the instance waits at it. A node that was told so before holds.
pub(crate) async fn completed<H: Signals + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    hook: &LifecycleHook,
) -> Result<Outcome, Fault> {
    // Whether the instance waits shows only in the answer to the completion.
    if context.is_planning() {
        return Ok(Outcome::Skipped);
    }
    let about = |fault: Fault| fault.seen("group", &hook.group).seen("hook", &hook.name);
    let wait = context.wait(step.phase, &step.id, DEADLINE);
    let look = || async {
        let found = context.host.has_hook(&hook.group, &hook.name).await;
        found.map_err(|error| about(to_fault(Operation::CompleteHook, error)))
    };
    if !context.retry(&wait, look).await? {
        return Ok(Outcome::Unchanged);
    }
    let name: HookName = hook.name.parse().map_err(|error| {
        let summary = format!("the hook of {} has no usable name", hook.group);
        about(Fault::new(Code::BootInternal, summary)).caused_by(format!("{error}"))
    })?;
    let completion = HookCompletion {
        group: hook.group.clone(),
        hook: name,
        instance_id: context.know(BootFacts::instance)?.instance_id,
        result: HookResult::Continue,
    };
    let report = || async {
        match context.host.complete_hook(&completion).await {
            Ok(()) => Ok(true),
            Err(error) if error.condition == Condition::Missing => Ok(false),
            Err(error) => Err(about(to_fault(Operation::CompleteHook, error))),
        }
    };
    if !context.retry(&wait, report).await? {
        return Ok(Outcome::Unchanged);
    }
    // Only now is it known that this was no step that holds.
    context.announce(step);
    Ok(Outcome::Changed)
}
