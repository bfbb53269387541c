//! Reconciles the cluster's add-ons, from the moment the node's services run until the agent is stopped.
//!
//! One agent of the cluster does, the one that holds the lease; the others show what it reports. Nothing here ends a boot:
//! kubelet does not wait for add-ons, and each add-on that fails is reported.

mod lease;
mod notes;
mod order;
mod report;

#[cfg(test)]
mod tests;

use super::super::{Reconciler, between};
use super::channels::Store;
use super::cluster_client::ClusterClient;
use super::leader::{Candidate, Leadership};
use super::status_reporter::AddonStatusReporter;
use crate::context::Context;
use crate::resident::addons::AddonPorts;
use futures_util::stream::{FuturesUnordered, StreamExt};
use notes::Notes;
use order::Order;
use quake_addons::{Addon, SelectedAddons, ca_place, is_due, select};
use quake_model::addon::{AddonState, AddonStatus, AddonVersion, ReconcilerRef};
use quake_model::backoff::{ARRIVAL, Backoff};
use quake_model::fault::Fault;
use quake_model::time::Timestamp;
use quake_node::addon_mode::{KUBECONFIG, ReconcileMode};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long before the next round, shortest and longest. The lease lasts a minute, so it is renewed at least twice in its life.
const ROUNDS_APART: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(25));

/// How long before the next look at a channel, shortest and longest: at most one request a minute to the state store, but where
/// somebody else's note says that the channel may be another.
const LOOKS_APART: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(90));

/// For an add-on that could not be applied.
const AGAIN: Backoff = Backoff {
    base: Duration::from_secs(10),
    cap: Duration::from_secs(300),
    floor: Duration::from_secs(3),
};

/// How long the lease may not be renewed, for failures, before its holder stops to act: less than it lasts.
const RENEWED_WITHIN: Duration = Duration::from_secs(40);

/// The lease, as it is told of.
const LEASE: &str = "kube-system/quake-agent";

/// What is known of one add-on between rounds.
#[derive(Debug, Clone, Copy, Default)]
struct Retry {
    failures: u32,
    next: Option<Instant>,
}

/// What is known from what an earlier reconciler of this process reported. A try that it did not finish may have failed: the next
/// one follows after the shortest pause.
fn retries(known: &BTreeMap<String, AddonStatus>, now: Timestamp) -> BTreeMap<String, Retry> {
    let is_cut_off = |status: &AddonStatus| status.state == AddonState::Applying;
    let troubled = known
        .iter()
        .filter(|(_, status)| status.failures > 0 || is_cut_off(status));
    // No longer than it would ever be, whatever the clock did since.
    let left = |at: Timestamp| Duration::from_millis(at.millis_since(now)).min(AGAIN.cap);
    let retry = |status: &AddonStatus| {
        let pause = match is_cut_off(status) {
            true => Some(AGAIN.floor),
            false => status.next_at.map(left),
        };
        Retry {
            failures: status.failures,
            next: pause.map(|pause| Instant::now() + pause),
        }
    };
    troubled
        .map(|(name, status)| (name.clone(), retry(status)))
        .collect()
}

/// Reconciles add-ons.
pub(crate) struct AddonReconciler<'a, H> {
    context: &'a Context<'a, H>,
    keeping: &'a ReconcileMode,
    /// The conversation of the last round, while the API server answers.
    session: Option<Arc<ClusterClient<'a, H>>>,
    /// Rounds since the API server answered.
    silent: u32,
    store: Store,
    candidate: Candidate,
    /// When the channel is looked at again.
    look_next: Option<Instant>,
    /// When the lease was held for certain: before it was asked for.
    held: Option<Instant>,
    /// Why a channel cannot be read.
    unread: Option<Fault>,
    retries: BTreeMap<String, Retry>,
    notes: Notes,
    reporter: AddonStatusReporter<'a>,
}

/// An add-on that there is something to be done about.
struct Due {
    addon: Addon,
    existing: Option<AddonVersion>,
    /// The cluster has it in the version that is wanted, without the CA it asks for.
    is_current: bool,
}

impl<H: AddonPorts> Reconciler for AddonReconciler<'_, H> {
    fn interval(&self, draw: f64) -> Duration {
        let pause = match self.silent {
            0 => between(ROUNDS_APART, draw),
            silent => ARRIVAL.pause(silent - 1, draw),
        };
        self.until_next(pause)
    }

    async fn reconcile(&mut self) {
        match ClusterClient::by_kubeconfig(self.context.host, KUBECONFIG).await {
            Ok(session) => {
                self.silent = 0;
                let session = Arc::new(session);
                self.session = Some(Arc::clone(&session));
                self.round(&session).await;
            }
            Err(fault) => {
                self.silent += 1;
                self.session = None;
                self.wait_for_api(&fault).await;
            }
        }
    }

    async fn stop(&mut self) {
        if let Some(session) = &self.session {
            self.candidate.release(session).await;
        }
    }
}

impl<'a, H: AddonPorts> AddonReconciler<'a, H> {
    /// Starts from what was reported of the add-ons so far.
    pub(crate) fn new(context: &'a Context<'a, H>, keeping: &'a ReconcileMode) -> Self {
        let known = context.emitter.addons();
        // What this agent tried during its boot waits for its time; what another tried is no matter here.
        let is_own = known.reconciler == Some(ReconcilerRef::Me);
        let retries = if is_own {
            retries(&known.addons, context.host.now())
        } else {
            BTreeMap::new()
        };
        Self {
            context,
            keeping,
            session: None,
            silent: 0,
            store: Store::new(&keeping.channels),
            candidate: Candidate::new(&keeping.me),
            look_next: None,
            held: None,
            unread: None,
            retries,
            notes: Notes::default(),
            reporter: AddonStatusReporter::new(context.emitter),
        }
    }

    /// The pause, or less where an add-on is tried again before.
    fn until_next(&self, pause: Duration) -> Duration {
        let now = Instant::now();
        let due = self.retries.values().filter_map(|retry| retry.next);
        // What was to be tried before this and was not is tried with the next round, whatever held it up.
        let due = due.filter_map(|next| next.checked_duration_since(now));
        due.chain([pause])
            .min()
            .unwrap_or(pause)
            .max(AGAIN.floor.min(pause))
    }

    /// Reports every add-on of the channels as waiting. The channels are read once for it.
    async fn wait_for_api(&mut self, fault: &Fault) {
        // What a boot reported before is known.
        let was_reported = self.context.emitter.addons().reconciler.is_some();
        if self.look_next.is_none() && !was_reported {
            self.look_at_channels().await;
        }
        let selected = select(&self.store.channels(), self.keeping.kubernetes);
        self.warn(&selected);
        for addon in &selected.addons {
            let known = self.reporter.statuses().get(&addon.name);
            if known.is_some_and(|status| status.state == AddonState::Applied) {
                continue;
            }
            let mut status = self.status_of(addon);
            status.state = AddonState::WaitingForApi;
            self.reporter.report(status);
        }
        self.report_reconciler(ReconcilerRef::Unknown, Some(fault.clone()));
    }

    /// One round: the lease, and whatever its holder has to do.
    async fn round(&mut self, session: &ClusterClient<'a, H>) {
        match self.ask_for_lease(session).await {
            Err(fault) => self.report_reconciler(ReconcilerRef::Unknown, Some(fault)),
            Ok(Leadership::HeldByOther { holder, statuses }) => {
                self.report_reconciler(ReconcilerRef::Other { holder }, None);
                self.retries.clear();
                self.notes.clear();
                self.look_next = None;
                self.store.begin_anew();
                // Its holder reads the channels, and reports their warnings.
                self.reporter.warn(&[]);
                self.replace_statuses(statuses);
            }
            Ok(Leadership::Held) => self.act(session).await,
        }
    }

    /// What the holder of the lease does in a round: looks what is wanted and what there is, and applies what is due.
    async fn act(&mut self, session: &ClusterClient<'a, H>) {
        let now = Instant::now();
        if self.look_next.is_none_or(|next| next <= now) {
            self.look_at_channels().await;
        }
        let channels = self.store.channels();
        if channels.is_empty() {
            return self.report_reconciler(ReconcilerRef::Me, self.unread.clone());
        }
        let versions = match session.versions().await {
            Ok(versions) => versions,
            Err(fault) => return self.report_reconciler(ReconcilerRef::Me, Some(fault)),
        };
        self.report_reconciler(ReconcilerRef::Me, self.unread.clone());
        let mut selected = select(&channels, session.version());
        if self.has_news(&selected, &versions) {
            let looked = self.store.look_at_all(self.context.host).await;
            self.unread = looked.err().or_else(|| self.strange());
            selected = select(&self.store.channels(), session.version());
        }
        self.warn(&selected);
        if self.store.is_read() {
            self.forget_missing(&selected);
        }
        let mut due = Vec::new();
        for addon in &selected.addons {
            if !self.may_go_on(session).await {
                return;
            }
            let key = (addon.namespace.clone(), addon.name.clone());
            let existing = versions.get(&key).cloned();
            let known = self.reporter.statuses().get(&addon.name);
            if known.is_some_and(|known| known.wanted != addon.version) {
                // What is newer may fix what failed.
                self.retries.remove(&addon.name);
            }
            let retry = self.retries.get(&addon.name).and_then(|known| known.next);
            let is_wanted = !is_due(&addon.version, existing.as_ref());
            // Who noted another version may have read a newer channel.
            let read_at = self.store.read_at(&addon.channel);
            if !is_wanted && self.notes.is_after(&addon.name, read_at) {
                self.look_next = None;
                continue;
            }
            let is_current = is_wanted && !self.notes.is_by_other(&addon.name, existing.as_ref());
            // One that lacks its CA is as much in trouble as one that could not be applied.
            let is_pausing = retry.is_some_and(|next| next > now);
            if is_pausing && (!is_current || addon.needs_pki) {
                continue;
            }
            if is_current && !self.lacks_ca(session, addon).await {
                continue;
            }
            due.push(Due {
                addon: addon.clone(),
                existing,
                is_current,
            });
        }
        self.apply(session, due).await;
    }

    /// Whether somebody else noted an add-on as applied since the last round.
    fn has_news(
        &mut self,
        selected: &SelectedAddons,
        versions: &BTreeMap<(String, String), AddonVersion>,
    ) -> bool {
        let mut news = false;
        for addon in &selected.addons {
            let key = (addon.namespace.clone(), addon.name.clone());
            news |= self.notes.is_news(&addon.name, versions.get(&key));
        }
        news
    }

    /// Whether an add-on that the cluster has lacks the CA it asks for; that it lacks nothing, or that nobody knows, is
    /// told.
    async fn lacks_ca(&mut self, session: &ClusterClient<'a, H>, addon: &Addon) -> bool {
        match session.lacks_ca(addon).await {
            Ok(true) => return true,
            Ok(false) => self.report_applied(addon),
            Err(fault) => {
                let object = ca_place(addon).to_string();
                self.report_failed(self.status_of(addon), &object, fault);
            }
        }
        false
    }

    /// Applies what is due, and holds the lease meanwhile; stops at once when it is lost.
    async fn apply(&mut self, session: &ClusterClient<'a, H>, due: Vec<Due>) {
        let orders = self.orders(session, due).await;
        if !self.may_go_on(session).await {
            return;
        }
        // Each by itself: one that waits for its definitions holds up no other.
        let running = orders.into_iter().map(|order| order.execute(session));
        let mut running: FuturesUnordered<_> = running.collect();
        let (renew_every, _) = ROUNDS_APART;
        let mut renew_next = self.held.unwrap_or_else(Instant::now) + renew_every;
        while !running.is_empty() {
            let pause = renew_next.saturating_duration_since(Instant::now());
            tokio::select! {
                biased;
                ended = self.context.pause(pause) => {
                    if ended.is_err() || !self.renew(session).await {
                        return;
                    }
                    renew_next = Instant::now() + renew_every;
                }
                Some(status) = running.next() => self.report_ended(status),
            }
        }
    }

    /// What can be applied of what is due; what cannot is told.
    async fn orders(&mut self, session: &ClusterClient<'a, H>, due: Vec<Due>) -> Vec<Order> {
        let mut orders = Vec::new();
        for due in due {
            if !self.may_go_on(session).await {
                return orders;
            }
            let Due {
                addon, existing, ..
            } = due;
            let mut status = self.status_of(&addon);
            status.applied.clone_from(&existing);
            let manifest = match due.is_current {
                true => Ok(None),
                false => {
                    let read = self.store.manifest(self.context.host, &addon).await;
                    read.map(Some)
                }
            };
            match manifest {
                Ok(manifest) => {
                    status.state = AddonState::Applying;
                    if let Some(manifest) = &manifest {
                        status.objects = manifest.objects.len();
                        status.warnings.clear();
                    }
                    status.next_at = None;
                    self.reporter.report(status.clone());
                    orders.push(Order {
                        addon,
                        existing,
                        manifest,
                        status,
                    });
                }
                Err(fault) => self.report_failed(status, &addon.manifest.to_string(), fault),
            }
        }
        orders
    }

    async fn look_at_channels(&mut self) {
        let pause = between(LOOKS_APART, self.context.draw());
        self.look_next = Some(Instant::now() + pause);
        let looked = self.store.look(self.context.host).await;
        self.unread = looked.err().or_else(|| self.strange());
    }
}
