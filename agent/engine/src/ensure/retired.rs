//! Sees to it that a static pod is not laid down any more.

use super::files::look;
use crate::context::{Context, PlannedStep};
use crate::fault_mapping::{Operation, to_fault};
use quake_model::fault::Fault;
use quake_model::item::RetiredPod;
use quake_model::outcome::Outcome;
use quake_model::ports::{Condition, Files};
use quake_model::step::Step;
use quake_node::up_to_date::{RetireDecision, decide_retire, pod_foreign, pod_returns};

/// How often a manifest that is another by the time it is removed is looked at again.
const LOOKS: usize = 3;

/// Removes the manifest of a pod, and nothing else that stands in its place. kubelet ends the pod by itself, and lays down none
/// that is gone before it starts.
pub(crate) async fn retired<H: Files>(
    context: &Context<'_, H>,
    step: &Step,
    pod: &RetiredPod,
) -> Result<Outcome, Fault> {
    let mut outcome = Outcome::Unchanged;
    for _ in 0..LOOKS {
        let found = look(context, &pod.path).await?;
        let seen = match decide_retire(pod, found.as_ref()) {
            RetireDecision::Keep => return Ok(outcome),
            RetireDecision::Leave => return Err(pod_foreign(pod)),
            RetireDecision::Remove(seen) => seen,
        };
        if context.is_planning() {
            let differs = format!("the pod {} is laid down, and is removed", pod.name);
            context.note_planned(PlannedStep::differing(step, Some(differs), None));
            return Ok(Outcome::WouldChange);
        }
        context.announce(step);
        match context.host.remove_file(&pod.path, &seen).await {
            Ok(()) => outcome = Outcome::Changed,
            // Somebody wrote it meanwhile; what stands there now is judged anew.
            Err(error) if error.condition == Condition::Conflict => {}
            Err(error) => return Err(to_fault(Operation::UseFile, error).seen("path", &pod.path)),
        }
    }
    match decide_retire(pod, look(context, &pod.path).await?.as_ref()) {
        RetireDecision::Keep => Ok(outcome),
        RetireDecision::Leave => Err(pod_foreign(pod)),
        RetireDecision::Remove(_) => Err(pod_returns(pod)),
    }
}
