//! The reports of the add-on reconciler.

use super::{AGAIN, AddonReconciler};
use crate::resident::addons::AddonPorts;
use quake_addons::{Addon, SelectedAddons};
use quake_model::addon::{AddonState, AddonStatus, ReconcilerRef};
use quake_model::fault::{Code, Fault};
use quake_model::time::Timestamp;
use tokio::time::Instant;

impl<H: AddonPorts> AddonReconciler<'_, H> {
    pub(super) fn report_ended(&mut self, mut status: AddonStatus) {
        match status.fault.take() {
            None => {
                self.retries.remove(&status.name);
                status.state = AddonState::Applied;
                status.failures = 0;
                status.object = None;
                self.notes.wrote(&status.name, status.applied.as_ref());
                self.reporter.report(status);
            }
            Some(fault) => {
                let object = status.object.take().unwrap_or_default();
                self.report_failed(status, &object, fault);
            }
        }
    }

    /// Reports a failure, and when the next attempt is.
    pub(super) fn report_failed(&mut self, mut status: AddonStatus, object: &str, fault: Fault) {
        let retry = self.retries.entry(status.name.clone()).or_default();
        let pause = AGAIN.pause(retry.failures, self.context.draw());
        retry.failures += 1;
        retry.next = Some(Instant::now() + pause);
        status.state = AddonState::Failed;
        status.failures = retry.failures;
        status.object = Some(object.to_owned());
        status.fault = Some(fault);
        let now = self.context.host.now();
        let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        status.next_at = Some(Timestamp(now.0.saturating_add(pause)));
        self.reporter.report(status);
    }

    /// The last reported status of an add-on, with what its channel wants now.
    pub(super) fn status_of(&self, addon: &Addon) -> AddonStatus {
        let known = self.reporter.statuses().get(&addon.name);
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
    pub(super) fn report_applied(&mut self, addon: &Addon) {
        self.retries.remove(&addon.name);
        let known = self.status_of(addon);
        if known.state != AddonState::Applied {
            self.reporter.report(AddonStatus {
                name: addon.name.clone(),
                state: AddonState::Applied,
                wanted: addon.version.clone(),
                applied: Some(addon.version.clone()),
                ..AddonStatus::default()
            });
        }
    }

    /// Reports the warnings of the channels once all of them are read.
    pub(super) fn warn(&mut self, selected: &SelectedAddons) {
        if self.store.is_read() {
            self.reporter.warn(&selected.warnings);
        }
    }

    /// Forgets add-ons that no channel names any more.
    pub(super) fn forget_missing(&mut self, selected: &SelectedAddons) {
        self.keep_only(|name| selected.addons.iter().any(|addon| addon.name == name));
    }

    fn keep_only(&mut self, is_there: impl Fn(&str) -> bool) {
        for name in self.reporter.keep_only(is_there) {
            self.retries.remove(&name);
        }
    }

    /// Replaces all statuses with those that the holder of the lease reports.
    pub(super) fn replace_statuses(&mut self, statuses: Vec<AddonStatus>) {
        if statuses.is_empty() {
            return;
        }
        self.keep_only(|name| statuses.iter().any(|status| status.name == name));
        for status in statuses {
            self.reporter.report(status);
        }
    }

    /// The fault of channels that are in no state store, such as those that kops once had in its own repository.
    pub(super) fn strange(&self) -> Option<Fault> {
        let channel = self.keeping.strange.first()?;
        let summary = format!("the channel {channel:?} is in no state store");
        let fault = Fault::new(Code::AddonsChannelInvalid, summary);
        Some(fault.remedied_by("name channels by their location, such as s3://bucket/cluster/addons/bootstrap-channel.yaml"))
    }

    pub(super) fn report_reconciler(&self, reconciler: ReconcilerRef, fault: Option<Fault>) {
        self.reporter
            .report_reconciler(reconciler, &self.keeping.channels, fault);
    }
}
