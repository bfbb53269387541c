//! The cluster's add-ons: applied, looked after and told of. What is wanted and what is due is decided in `quake_plan::addons`.

mod addon;
mod channels;
mod inquiry;
mod keeper;
mod leader;
mod places;
mod session;
mod watcher;

pub use addon::{AddonApplied, ObjectFailed, ObjectPlanned, Planned};
pub use inquiry::Inquiry;
pub use session::Session;

use crate::context::Context;
use crate::emit::Emitter;
use keeper::Keeper;
use quake_model::addon::AddonKeeper;
use quake_model::event::Event;
use quake_model::fault::Fault;
use quake_model::ports::Host;
use quake_plan::addons::Tending;
use watcher::Watcher;

/// Does what there is to be done about add-ons, until the agent is told to stop.
pub(crate) async fn tend<H: Host>(context: &Context<'_, H>, tending: &Tending) {
    match tending {
        Tending::Keep(keeping) => Keeper::new(context, keeping).keep().await,
        Tending::Watch(watching) => Watcher::new(context, watching).watch().await,
    }
}

/// Tells who looks after the add-ons, and what keeps whoever does from it, if either is news.
fn stand(emitter: &Emitter, keeper: AddonKeeper, channels: Vec<String>, fault: Option<Fault>) {
    let told = emitter.addons();
    let is_over = told.fault.is_some() && fault.is_none();
    let is_other = told.keeper.as_ref() != Some(&keeper);
    if is_over || is_other {
        emitter.emit(Event::AddonsKept { keeper, channels });
    }
    let Some(fault) = fault else { return };
    let known = told.fault.filter(|_| !is_other);
    if known.is_none_or(|known| known.code != fault.code) {
        emitter.emit(Event::AddonsNotKept { fault });
    }
}
