//! Makes the CA of an add-on that asks for one: its Secret, then the issuer that names it, each only where it is not
//! there. Whoever is stopped between the two finds the first held and makes the second.
//!
//! A key is in memory from its making to the answer of the API server, and while its Secret is looked at; it is in no file, and in
//! nothing that is told.

use super::addon::{AddonApplied, ObjectFailed, ObjectPlanned, Planned};
use super::cluster_client::{ClusterClient, MANAGER, RETRY_LIMIT};
use crate::fault_mapping::{Operation, to_fault};
use crate::resident::addons::AddonPorts;
use crate::retry::arrives;
use quake_addons::{
    Addon, ca_place, ca_secret, fault_of_change, issuer, issuer_kind, issuer_place, issuer_shown,
    issuer_unserved,
};
use quake_model::cluster_object::ObjectPlace;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Change, Condition};
use quake_node::pki::unsigned_ca;
use serde_json::Value;

impl<H: AddonPorts> ClusterClient<'_, H> {
    /// Whether an add-on asks for a CA that is not there, or not all of it.
    ///
    /// # Errors
    ///
    /// The fault of a look that did not succeed. A kind that is not served has no objects, and is none.
    pub(crate) async fn lacks_ca(&self, addon: &Addon) -> Result<bool, Fault> {
        if !addon.needs_pki {
            return Ok(false);
        }
        if !self.is_there(&ca_place(addon)).await? {
            return Ok(true);
        }
        match self.issuer_place(addon).await {
            Ok(place) => Ok(!self.is_there(&place).await?),
            Err(fault) if fault.code == Code::AddonsIssuerUnserved => Ok(true),
            Err(fault) => Err(fault),
        }
    }

    /// Makes what is not there of an add-on's CA.
    pub(super) async fn make_ca(&self, addon: &Addon, applied: &mut AddonApplied) {
        let failed = |object: String, fault| ObjectFailed { object, fault };
        let place = ca_place(addon);
        match self.made(&place, || self.new_ca(addon)).await {
            Ok(is_new) => applied.changed += usize::from(is_new),
            // Without its Secret an issuer only says that it is not ready.
            Err(fault) => return applied.failed.push(failed(place.to_string(), fault)),
        }
        let made = match self.issuer_place(addon).await {
            Ok(place) => self.made(&place, async || Ok(issuer(addon))).await,
            Err(fault) => Err(fault),
        };
        match made {
            Ok(is_new) => applied.changed += usize::from(is_new),
            Err(fault) => applied.failed.push(failed(issuer_shown(addon), fault)),
        }
    }

    /// What making the CA of an add-on would do; no key is made for it.
    pub(super) async fn plan_ca(&self, addon: &Addon) -> Vec<ObjectPlanned> {
        if !addon.needs_pki {
            return Vec::new();
        }
        let place = ca_place(addon);
        let secret = match self.is_there(&place).await {
            Ok(true) => Planned::Nothing,
            Ok(false) => Planned::Create,
            Err(fault) => Planned::Unknown(fault),
        };
        let made = self.plan_issuer(addon).await;
        let planned = [
            (place.to_string(), secret),
            (issuer_shown(addon), made.unwrap_or_else(Planned::Unknown)),
        ];
        planned
            .map(|(object, what)| ObjectPlanned { object, what })
            .into()
    }

    async fn plan_issuer(&self, addon: &Addon) -> Result<Planned, Fault> {
        let place = self.issuer_place(addon).await?;
        if self.is_there(&place).await? {
            return Ok(Planned::Nothing);
        }
        let change = creation(issuer(addon));
        let requested = self.change(&place, &change, true).await;
        requested.map_err(|error| fault_of_change(&place, error))?;
        Ok(Planned::Create)
    }

    /// Where the issuer of an add-on is.
    async fn issuer_place(&self, addon: &Addon) -> Result<ObjectPlace, Fault> {
        match self.served(&issuer_kind(), &addon.name).await {
            Ok(served) => Ok(issuer_place(addon, served)),
            Err(fault) if fault.code == Code::AddonsKindUnserved => Err(issuer_unserved(addon)),
            Err(fault) => Err(fault),
        }
    }

    async fn is_there(&self, place: &ObjectPlace) -> Result<bool, Fault> {
        Ok(self.look(place).await?.is_some())
    }

    /// Creates an object that is not there, and looks whether it is; whether it was created. Whoever is faster is as good: what
    /// is there is never changed.
    async fn made<F>(&self, place: &ObjectPlace, object: F) -> Result<bool, Fault>
    where
        F: AsyncFnOnce() -> Result<Value, Fault>,
    {
        if self.is_there(place).await? {
            return Ok(false);
        }
        let change = creation(object().await?);
        let created = arrives(&place.name, RETRY_LIMIT, || async {
            match self.change(place, &change, false).await {
                Ok(_) => Ok(true),
                // Or an answer was lost.
                Err(error) if error.condition == Condition::Conflict => Ok(false),
                Err(error) => Err(fault_of_change(place, error)),
            }
        });
        let created = created.await?;
        if self.is_there(place).await? {
            return Ok(created);
        }
        let summary = format!("{place}: it was created, and is not there");
        Err(Fault::new(Code::AddonsObjectConflict, summary).seen("object", place))
    }

    /// The Secret of a CA that nobody had before.
    async fn new_ca(&self, addon: &Addon) -> Result<Value, Fault> {
        let host = self.host();
        let fault = |error| to_fault(Operation::UseKey, error).seen("addon", &addon.name);
        let made = host.make_key().await.map_err(fault)?;
        let waiting = unsigned_ca(&addon.name, &made.public, host.now())?;
        let signature = host.sign(&made.key, waiting.kind, &waiting.message).await;
        let certificate = waiting.signed(&signature.map_err(fault)?)?;
        Ok(ca_secret(addon, &certificate, &made.key))
    }
}

fn creation(object: Value) -> Change {
    let manager = MANAGER.to_owned();
    Change::Create { object, manager }
}
