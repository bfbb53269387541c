//! When a node of this dialect is ready.

use super::conditions;
use quake_model::item::Item;
use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step};

/// Plans the ready phase. The group of a warm pool is told last: it may stop the instance, or send it work.
pub fn ready(spec: &NodeSpec) -> Vec<Step> {
    let awaited = conditions(spec).into_iter().map(Action::Await);
    let hooks = spec.items.iter().filter_map(|item| match item {
        Item::LifecycleHook(hook) => Some(Action::CompleteLifecycle(hook.clone())),
        _ => None,
    });
    awaited
        .chain(hooks)
        .map(|action| Step::new(Phase::Ready, action))
        .collect()
}
