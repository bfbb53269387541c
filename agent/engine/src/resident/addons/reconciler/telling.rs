//! What whoever looks after add-ons tells, and only what is news.

use super::{AGAIN, AddonReconciler};
use crate::resident::addons::AddonPorts;
use quake_addons::{Addon, SelectedAddons};
use quake_model::addon::{AddonKeeper, AddonState, AddonStatus};
use quake_model::fault::Fault;
use quake_model::time::Timestamp;
use tokio::time::Instant;

impl<H: AddonPorts> AddonReconciler<'_, H> {
    /// Tells how a try ended.
    pub(super) fn told_of(&mut self, mut status: AddonStatus) {
        match status.fault.take() {
            None => {
                self.troubles.remove(&status.name);
                status.state = AddonState::Applied;
                status.failures = 0;
                status.object = None;
                self.told.tell(status);
            }
            Some(fault) => {
                let object = status.object.take().unwrap_or_default();
                self.tell_failed(status, &object, fault);
            }
        }
    }

    /// Tells of a failure, and when it is tried again.
    pub(super) fn tell_failed(&mut self, mut status: AddonStatus, object: &str, fault: Fault) {
        let trouble = self.troubles.entry(status.name.clone()).or_default();
        let pause = AGAIN.pause(trouble.failures, self.context.draw());
        trouble.failures += 1;
        trouble.next = Some(Instant::now() + pause);
        status.state = AddonState::Failed;
        status.failures = trouble.failures;
        status.object = Some(object.to_owned());
        status.fault = Some(fault);
        let now = self.context.host.now();
        let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        status.next_at = Some(Timestamp(now.0.saturating_add(pause)));
        self.told.tell(status);
    }

    /// What is told of an add-on so far, with what its channel wants now.
    pub(super) fn status_of(&self, addon: &Addon) -> AddonStatus {
        let known = self.told.statuses().get(&addon.name);
        let known = known
            .filter(|status| status.wanted == addon.version)
            .cloned();
        known.unwrap_or_else(|| AddonStatus {
            name: addon.name.clone(),
            wanted: addon.version.clone(),
            ..AddonStatus::default()
        })
    }

    /// An add-on that the cluster has in the version that is wanted.
    pub(super) fn tell_applied(&mut self, addon: &Addon) {
        self.troubles.remove(&addon.name);
        let known = self.status_of(addon);
        if known.state != AddonState::Applied {
            self.told.tell(AddonStatus {
                name: addon.name.clone(),
                state: AddonState::Applied,
                wanted: addon.version.clone(),
                applied: Some(addon.version.clone()),
                ..AddonStatus::default()
            });
        }
    }

    /// Tells what is odd about the channels, once all of them are read: what is not read yet is not known to be well.
    pub(super) fn warn(&mut self, menu: &SelectedAddons) {
        if self.store.is_read() {
            self.told.warn(&menu.warnings);
        }
    }

    /// Tells of add-ons that no channel names any more.
    pub(super) fn tell_forgotten(&mut self, menu: &SelectedAddons) {
        self.keep_only(|name| menu.addons.iter().any(|addon| addon.name == name));
    }

    fn keep_only(&mut self, is_there: impl Fn(&str) -> bool) {
        for name in self.told.keep_only(is_there) {
            self.troubles.remove(&name);
        }
    }

    /// What the holder of the lease tells is all there is.
    pub(super) fn replace_statuses(&mut self, told: Vec<AddonStatus>) {
        if told.is_empty() {
            return;
        }
        self.keep_only(|name| told.iter().any(|status| status.name == name));
        for status in told {
            self.told.tell(status);
        }
    }

    pub(super) fn stand(&self, keeper: AddonKeeper, fault: Option<Fault>) {
        self.told.stand(keeper, &self.keeping.channels, fault);
    }
}
