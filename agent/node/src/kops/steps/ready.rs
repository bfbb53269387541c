//! When a node of this dialect is ready.

use super::conditions;
use quake_model::item::Item;
use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step};

/// Plans the ready phase. The group of a warm pool is told first, when all that the node itself does is done: it gives an
/// instance up ten minutes after the launch (the timeout of kops' hook), and what is awaited then may take longer and is
/// others' to bring.
pub fn ready(spec: &NodeSpec) -> Vec<Step> {
    let awaited = conditions(spec).into_iter().map(Action::Await);
    let hooks = spec.items.iter().filter_map(|item| match item {
        Item::LifecycleHook(hook) => Some(Action::CompleteLifecycle(hook.clone())),
        _ => None,
    });
    hooks
        .chain(awaited)
        .map(|action| Step::new(Phase::Ready, action))
        .collect()
}
