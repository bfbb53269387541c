//! Watches a pod of kops's that applies the cluster's add-ons: what it noted as applied, and whether it says that it is well.
//!
//! No lease is held and no state store is read again and again: the pod does both. Its channel is read once, for the names of
//! what is not applied yet.

use super::super::{Reconciler, between};
use super::channels::Store;
use super::cluster_client::ClusterClient;
use super::status_reporter::AddonStatusReporter;
use crate::context::Context;
use crate::resident::addons::AddonPorts;
use quake_addons::{select, watched};
use quake_model::addon::{AddonState, AddonStatus, ReconcilerRef};
use quake_model::backoff::ARRIVAL;
use quake_model::facts::ProbeFacts;
use quake_model::fault::{Code, Fault};
use quake_model::redact::scrub;
use quake_node::addon_mode::{KUBECONFIG, ObserveMode};
use std::time::Duration;

/// How long before the next look, shortest and longest, once all is applied.
const LOOKS_APART: (Duration, Duration) = (Duration::from_secs(40), Duration::from_secs(80));

/// Watches one.
pub(crate) struct Watcher<'a, H> {
    context: &'a Context<'a, H>,
    watching: &'a ObserveMode,
    store: Store,
    was_read: bool,
    /// Looks since all was applied.
    tries: u32,
    reporter: AddonStatusReporter<'a>,
}

impl<H: AddonPorts> Reconciler for Watcher<'_, H> {
    fn interval(&self, draw: f64) -> Duration {
        let (shortest, longest) = LOOKS_APART;
        match self.tries {
            0 => between(LOOKS_APART, draw),
            // What comes up comes up soon, and what does not is looked at as seldom as all else.
            1..=40 => ARRIVAL.pause(self.tries - 1, draw),
            _ => longest.mul_f64(draw).max(shortest),
        }
    }

    async fn reconcile(&mut self) {
        self.read_channels().await;
        let fault = self.look().await;
        let mut statuses = self.reporter.statuses().values();
        let is_settled =
            fault.is_none() && statuses.all(|status| status.state == AddonState::Applied);
        self.tries = if is_settled { 0 } else { self.tries + 1 };
        self.report_reconciler(fault);
    }
}

impl<'a, H: AddonPorts> Watcher<'a, H> {
    /// One that knows what was told so far.
    pub(crate) fn new(context: &'a Context<'a, H>, watching: &'a ObserveMode) -> Self {
        Self {
            context,
            watching,
            store: Store::new(&watching.channels),
            was_read: false,
            tries: 0,
            reporter: AddonStatusReporter::new(context.emitter),
        }
    }

    /// Reads the channels once, after the boot, whose requests to the state store are one wave. What cannot be read then is not
    /// asked for again, for the pod reads it and says so.
    async fn read_channels(&mut self) {
        if !self.was_read && self.context.emitter.has_ended() {
            self.was_read = true;
            let _ = self.store.look(self.context.host).await;
        }
    }

    /// Looks at what the pod noted; why that, or the pod, is not as it should be.
    async fn look(&mut self) -> Option<Fault> {
        let opened = ClusterClient::by_kubeconfig(self.context.host, KUBECONFIG).await;
        let session = match opened {
            Ok(session) => session,
            Err(fault) => return Some(self.waits(fault)),
        };
        let versions = match session.versions().await {
            Ok(versions) => versions,
            Err(fault) => return Some(fault),
        };
        let selected = select(&self.store.channels(), session.version());
        if self.store.is_read() {
            self.reporter.warn(&selected.warnings);
        }
        for status in watched(selected.addons, &versions, self.reporter.statuses()) {
            self.reporter.report(status);
        }
        self.health().await
    }

    /// What the pod says is wrong with what it does.
    async fn health(&self) -> Option<Fault> {
        let url = self.watching.pod.health.as_ref()?;
        let pod = &self.watching.pod.name;
        let (summary, answer) = match self.context.host.probe(url).await {
            found if found.is_healthy() => return None,
            ProbeFacts::Answered { status, body } => {
                let summary = format!("{pod} says that not all add-ons are applied");
                (summary, format!("{status} {}", scrub(&body)))
            }
            ProbeFacts::Silent { reason } => (format!("{pod} does not answer"), reason),
        };
        let fault = Fault::new(Code::AddonsPodFailing, summary);
        Some(fault.seen("url", url).seen("answer", answer))
    }

    fn waits(&mut self, fault: Fault) -> Fault {
        let selected = select(&self.store.channels(), self.watching.kubernetes);
        for addon in selected.addons {
            if !self.reporter.statuses().contains_key(&addon.name) {
                self.reporter.report(AddonStatus {
                    name: addon.name,
                    state: AddonState::WaitingForApi,
                    wanted: addon.version,
                    ..AddonStatus::default()
                });
            }
        }
        fault
    }

    fn report_reconciler(&self, fault: Option<Fault>) {
        let pod = self.watching.pod.name.clone();
        let channels = &self.watching.channels;
        self.reporter
            .report_reconciler(ReconcilerRef::Pod { pod }, channels, fault);
    }
}
