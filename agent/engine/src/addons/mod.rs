//! The cluster's add-ons: applied, looked after and told of. What is wanted and what is due is decided in `quake_addons`.

mod addon;
mod ca;
mod channels;
mod inquiry;
mod keeper;
mod leader;
mod places;
mod session;
mod status_reporter;
mod watcher;

pub use addon::{AddonApplied, ObjectFailed, ObjectPlanned, Planned};
pub use inquiry::Inquiry;
pub use session::Session;

use crate::context::Context;
use keeper::Keeper;
use quake_model::ports::Host;
use quake_node::addon_mode::Tending;
use watcher::Watcher;

/// Does what there is to be done about add-ons, until the agent is told to stop.
pub(crate) async fn tend<H: Host>(context: &Context<'_, H>, tending: &Tending) {
    match tending {
        Tending::Keep(keeping) => Keeper::new(context, keeping).keep().await,
        Tending::Watch(watching) => Watcher::new(context, watching).watch().await,
    }
}
