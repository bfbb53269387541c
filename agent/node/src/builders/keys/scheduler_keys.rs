//! What the scheduler shows who it is with.

use super::component::Component;
use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::Item;

const COMPONENT: Component = Component {
    name: "kube-scheduler",
    section: "KubeScheduler",
};

/// Its kubeconfig and its serving certificate.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if context.is_control_plane() {
        COMPONENT.build(context)
    } else {
        Ok(Vec::new())
    }
}
