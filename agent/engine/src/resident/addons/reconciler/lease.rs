//! The lease while there is something to do: nothing is begun that it may not outlast.

use super::super::cluster_client::ClusterClient;
use super::super::leader::Leadership;
use super::{AddonReconciler, LEASE, RENEWED_WITHIN, ROUNDS_APART};
use crate::resident::addons::AddonPorts;
use quake_addons::lease_lost;
use quake_model::addon::{AddonStatus, ReconcilerRef};
use quake_model::fault::Fault;
use tokio::time::Instant;

impl<H: AddonPorts> AddonReconciler<'_, H> {
    /// Acquires, renews or reads the lease, and notes since when it is held.
    pub(super) async fn ask_for_lease(
        &mut self,
        session: &ClusterClient<'_, H>,
    ) -> Result<Leadership, Fault> {
        let asked_at = Instant::now();
        let statuses: Vec<AddonStatus> = self.reporter.all();
        let leadership = self
            .candidate
            .try_acquire_or_renew(session, &statuses)
            .await?;
        self.held = (leadership == Leadership::Held).then_some(asked_at);
        Ok(leadership)
    }

    /// Whether the lease is held for long enough to begin something more; it is renewed where that was a while ago. It is not
    /// once the agent has to stop.
    pub(super) async fn may_go_on(&mut self, session: &ClusterClient<'_, H>) -> bool {
        if self.context.stop_requested().is_some() {
            return false;
        }
        let (renew_every, _) = ROUNDS_APART;
        let is_fresh = self.held.is_some_and(|held| held.elapsed() < renew_every);
        is_fresh || self.renew(session).await
    }

    /// Renews the lease and returns whether it is held. A lost lease is reported.
    pub(super) async fn renew(&mut self, session: &ClusterClient<'_, H>) -> bool {
        match self.ask_for_lease(session).await {
            Ok(Leadership::Held) => return true,
            Ok(Leadership::HeldByOther { holder, .. }) => {
                let lost = lease_lost(LEASE, &holder);
                self.report_reconciler(ReconcilerRef::Other { holder }, Some(lost));
            }
            Err(fault) => {
                if self
                    .held
                    .is_some_and(|held| held.elapsed() < RENEWED_WITHIN)
                {
                    return true;
                }
                self.report_reconciler(ReconcilerRef::Unknown, Some(fault));
            }
        }
        false
    }
}
