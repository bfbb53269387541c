//! What there is to be applied of one add-on.

use super::super::cluster_client::ClusterClient;
use crate::resident::addons::AddonPorts;
use quake_addons::{Addon, Manifest};
use quake_model::addon::{AddonStatus, AddonVersion, MOST_WARNINGS};

/// An add-on that is to be applied.
pub(super) struct Order {
    pub(super) addon: Addon,
    pub(super) existing: Option<AddonVersion>,
    /// `None` where only its CA is to be made.
    pub(super) manifest: Option<Manifest>,
    pub(super) status: AddonStatus,
}

impl Order {
    /// Applies it; how it is then, with the fault of the first object that failed.
    pub(super) async fn execute<H: AddonPorts>(
        self,
        session: &ClusterClient<'_, H>,
    ) -> AddonStatus {
        let Self {
            addon,
            existing,
            manifest,
            mut status,
        } = self;
        let applied = session.apply_addon(&addon, manifest.as_ref(), existing.as_ref());
        let applied = applied.await;
        status.objects = applied.objects;
        status.changed = applied.changed;
        status.pruned = applied.pruned;
        if let Some(manifest) = manifest {
            let warnings = manifest.warnings.into_iter();
            status.warnings = warnings.take(MOST_WARNINGS).collect();
        }
        let first = applied.failed.into_iter().next();
        status.object = first.as_ref().map(|failed| failed.object.clone());
        status.fault = first.map(|failed| failed.fault);
        if status.fault.is_none() {
            status.applied = Some(addon.version);
        }
        status
    }
}
