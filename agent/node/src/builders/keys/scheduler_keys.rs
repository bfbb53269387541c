//! What the scheduler shows who it is with.

use super::component;
use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::Item;

/// Its kubeconfig and its serving certificate.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    match context.is_control_plane() {
        true => component::component_keys(context, "kube-scheduler", "KubeScheduler"),
        false => Ok(Vec::new()),
    }
}
