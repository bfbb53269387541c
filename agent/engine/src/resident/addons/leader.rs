//! Holds the lease by which one agent of a cluster acts for it.

use super::cluster_client::ClusterClient;
use crate::resident::addons::AddonPorts;
use quake_addons::fault_of_change;
use quake_addons::lease::{self, Decision, LastSeen, LeaseKind, Moment};
use quake_model::addon::AddonStatus;
use quake_model::cluster_object::ClusterObject;
use quake_model::fault::Fault;
use quake_model::ports::{Change, Condition};
use tokio::time::Instant;

/// Whose the lease is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Leadership {
    Held,
    /// Another node holds it, and reports these statuses.
    HeldByOther {
        holder: String,
        statuses: Vec<AddonStatus>,
    },
}

/// A candidate for the lease.
#[derive(Debug)]
pub(crate) struct Candidate {
    name: String,
    since: Instant,
    last_seen: Option<LastSeen>,
}

impl Candidate {
    /// A candidate by this name, which no other node has.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            since: Instant::now(),
            last_seen: None,
        }
    }

    /// Acquires, renews or reads the lease: two requests at most. Its holder writes the statuses of the add-ons into it.
    ///
    /// # Errors
    ///
    /// The fault of the read or of the write. A conflict is no fault where another node was faster.
    pub(crate) async fn try_acquire_or_renew<H: AddonPorts>(
        &mut self,
        session: &ClusterClient<'_, H>,
        addons: &[AddonStatus],
    ) -> Result<Leadership, Fault> {
        let kind = LeaseKind::new(session.version());
        let place = kind.place();
        let (host, access) = (session.host(), session.access());
        let found = host.get_object(access, &place).await;
        let found = found.map_err(|error| fault_of_change(&place, error))?;
        let at = Moment {
            now: host.now(),
            running: self.since.elapsed(),
        };
        let (decision, seen) = kind.decide(found.as_ref(), &self.name, self.last_seen.as_ref(), at);
        self.last_seen = seen;
        let manager = super::cluster_client::MANAGER.to_owned();
        let change = match decision {
            Decision::Create(mut object) => {
                lease::write_statuses(&mut object, addons);
                Change::Create { object, manager }
            }
            Decision::Replace(mut object) => {
                lease::write_statuses(&mut object, addons);
                Change::Replace { object, manager }
            }
            Decision::Wait { holder } => {
                let statuses = found.as_ref().map(lease::read_statuses).unwrap_or_default();
                return Ok(Leadership::HeldByOther { holder, statuses });
            }
        };
        match session.change(&place, &change, false).await {
            Ok(_) => Ok(Leadership::Held),
            // Where this node held it, nobody else can have it before it is expired: the next look tells.
            Err(error)
                if error.condition == Condition::Conflict
                    && holder_of(found.as_ref()) != self.name =>
            {
                Ok(Leadership::HeldByOther {
                    holder: holder_of(found.as_ref()),
                    statuses: Vec::new(),
                })
            }
            Err(error) => Err(fault_of_change(&place, error)),
        }
    }

    /// Releases the lease, so that another node acquires it at once. A failure is ignored: the lease expires.
    pub(crate) async fn release<H: AddonPorts>(&self, session: &ClusterClient<'_, H>) {
        let kind = LeaseKind::new(session.version());
        let place = kind.place();
        let found = session.host().get_object(session.access(), &place).await;
        let Ok(Some(found)) = found else { return };
        if let Some(object) = kind.released(&found, &self.name) {
            let manager = super::cluster_client::MANAGER.to_owned();
            let change = Change::Replace { object, manager };
            let _ = session.change(&place, &change, false).await;
        }
    }
}

/// Who was faster is not known before the next look.
fn holder_of(found: Option<&ClusterObject>) -> String {
    let holder = found.map(|lease| lease.text("/spec/holderIdentity"));
    let holder = holder.filter(|name| !name.is_empty());
    holder.unwrap_or("another node").to_owned()
}
