//! When a node is ready.

use crate::dns;
use crate::plan_inputs::PlanInputs;
use quake_model::item::Item;
use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step};

/// Plans the ready phase.
///
/// The node's names come first, because etcd needs them. Then the group of a warm pool is told: it gives an instance up
/// ten minutes after the launch (the timeout of kops' hook), and the conditions may take longer. Last, whether every
/// name server has the names.
pub fn ready(spec: &NodeSpec, known: &PlanInputs) -> Vec<Step> {
    let names = dns::steps(spec, known).map(|[publish, in_sync]| (publish, in_sync));
    let (publish, in_sync) = names.unzip();
    let conditions = spec.ready_conditions.iter().cloned().map(Action::Await);
    let hooks = spec.items.iter().filter_map(|item| match item {
        Item::LifecycleHook(hook) => Some(Action::CompleteLifecycle(hook.clone())),
        _ => None,
    });
    let steps = hooks
        .chain(conditions)
        .map(|action| Step::new(Phase::Ready, action));
    publish.into_iter().chain(steps).chain(in_sync).collect()
}
