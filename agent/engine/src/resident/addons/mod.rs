//! The cluster's add-ons: applied, looked after and told of. What is wanted and what is due is decided in `quake_addons`.

mod addon;
mod ca;
mod channels;
mod cluster_client;
mod inspector;
mod leader;
mod note;
mod places;
mod reconciler;
mod status_reporter;
mod watcher;

pub use addon::{AddonApplied, ObjectFailed, ObjectPlanned, Planned};
pub use cluster_client::ClusterClient;
pub use inspector::AddonInspector;

use super::schedule::run;
use crate::context::Context;
use quake_model::ports::{Clock, ClusterApi, Files, Keys, Objects, Probes};
use quake_node::addon_mode::AddonMode;
use reconciler::AddonReconciler;
use watcher::Watcher;

/// What add-ons need of the host.
pub trait AddonPorts: ClusterApi + Files + Objects + Keys + Probes + Clock {}

impl<T: ClusterApi + Files + Objects + Keys + Probes + Clock> AddonPorts for T {}

/// Does what there is to be done about add-ons, until the agent is told to stop.
pub(crate) async fn reconcile_addons<H: AddonPorts>(
    context: &Context<'_, H>,
    addon_mode: &AddonMode,
) {
    match addon_mode {
        AddonMode::Reconcile(keeping) => run(context, AddonReconciler::new(context, keeping)).await,
        AddonMode::Observe(watching) => run(context, Watcher::new(context, watching)).await,
    }
}
