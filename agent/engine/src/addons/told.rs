//! What was told of the add-ons, so that only what is news is told.

use crate::emit::Emitter;
use quake_model::addon::{AddonKeeper, AddonStatus};
use quake_model::event::Event;
use quake_model::fault::Fault;
use quake_model::location::Location;
use std::collections::BTreeMap;

/// Tells of add-ons, each time only what is not known yet.
pub(super) struct Told<'a> {
    emitter: &'a Emitter,
    statuses: BTreeMap<String, AddonStatus>,
}

impl<'a> Told<'a> {
    /// One that knows what the boot told so far.
    pub(super) fn new(emitter: &'a Emitter) -> Self {
        let statuses = emitter.addons().addons;
        Self { emitter, statuses }
    }

    /// How each add-on is, by name.
    pub(super) fn statuses(&self) -> &BTreeMap<String, AddonStatus> {
        &self.statuses
    }

    /// How each add-on is, in the order of their names.
    pub(super) fn all(&self) -> Vec<AddonStatus> {
        self.statuses.values().cloned().collect()
    }

    /// Tells how an add-on is.
    pub(super) fn tell(&mut self, status: AddonStatus) {
        if self.statuses.get(&status.name) != Some(&status) {
            self.statuses.insert(status.name.clone(), status.clone());
            self.emitter.emit(Event::AddonChanged(status));
        }
    }

    /// Tells that there are only these any more; the names of those that were.
    pub(super) fn keep_only(&mut self, is_there: impl Fn(&str) -> bool) -> Vec<String> {
        let names = self.statuses.keys().filter(|name| !is_there(name));
        let names: Vec<String> = names.cloned().collect();
        if !names.is_empty() {
            self.statuses.retain(|name, _| !names.contains(name));
            let gone = names.clone();
            self.emitter.emit(Event::AddonsForgotten { names: gone });
        }
        names
    }

    /// Tells who looks after the add-ons of these channels, and what keeps whoever does from it.
    pub(super) fn stand(&self, keeper: AddonKeeper, channels: &[Location], fault: Option<Fault>) {
        let told = self.emitter.addons();
        let is_over = told.fault.is_some() && fault.is_none();
        let is_other = told.keeper.as_ref() != Some(&keeper);
        if is_over || is_other {
            let channels = channels.iter().map(ToString::to_string).collect();
            self.emitter.emit(Event::AddonsKept { keeper, channels });
        }
        let Some(fault) = fault else { return };
        let known = told.fault.filter(|_| !is_other);
        if known.is_none_or(|known| known.code != fault.code) {
            self.emitter.emit(Event::AddonsNotKept { fault });
        }
    }
}
