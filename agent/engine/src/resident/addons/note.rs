//! Notes that an add-on is applied, where kops and the agents look for it: an annotation of a namespace.

use super::cluster_client::ClusterClient;
use super::places::namespace_place;
use crate::resident::addons::AddonPorts;
use quake_addons::{Addon, applied_versions, contested, forget_patch, record_patch};
use quake_model::addon::AddonVersion;
use quake_model::fault::{Code, Fault};

/// How often a note is tried anew because the namespace was changed meanwhile.
const TRIES: usize = 5;

impl<H: AddonPorts> ClusterClient<'_, H> {
    /// Notes that an add-on is applied, of which `existing` was noted before. Where somebody else noted another version
    /// meanwhile, or removed the note, each overwrote objects of the other: then the note is removed, so that who holds the lease
    /// applies it again. Who applied the version that was noted before stays unseen.
    ///
    /// # Errors
    ///
    /// `addons.object-conflict` where the note was removed; else the fault of the read or of the write.
    pub(super) async fn note(
        &self,
        addon: &Addon,
        existing: Option<&AddonVersion>,
    ) -> Result<(), Fault> {
        // Add-ons of one namespace that end at once would be each other's conflicts.
        let _alone = self.noting().lock().await;
        let place = namespace_place(&addon.namespace);
        let (mut is_contested, mut other) = (false, None);
        for tries in 1.. {
            let found = self.look(&place).await?;
            let versions = found.as_ref().map(applied_versions).unwrap_or_default();
            let noted = versions.get(&addon.name);
            if noted != existing && noted != Some(&addon.version) {
                is_contested = true;
                other = other.or_else(|| noted.cloned());
            }
            let mut patch = match is_contested {
                true => forget_patch(addon),
                false => record_patch(addon),
            };
            if let Some(version) = found.as_ref().and_then(|found| found.resource_version()) {
                patch["metadata"]["resourceVersion"] = version.into();
            }
            match self.patch(&place, patch).await {
                Err(fault) if fault.code == Code::AddonsObjectConflict && tries < TRIES => {}
                Err(fault) => return Err(fault),
                Ok(()) => break,
            }
        }
        match is_contested {
            true => Err(contested(addon, other.as_ref())),
            false => Ok(()),
        }
    }
}
