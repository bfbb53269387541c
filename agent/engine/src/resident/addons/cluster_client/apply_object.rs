//! How one object is brought about: by server-side apply, or on a server that cannot by a merge made here.

use super::{ClusterClient, MANAGER};
use crate::resident::addons::AddonPorts;
use quake_addons::{adopted, last_applied, merge_three_ways, with_last_applied};
use quake_model::cluster_object::{ClusterObject, ObjectPlace};
use quake_model::ports::{Change, Condition, PortError};

impl<H: AddonPorts> ClusterClient<'_, H> {
    pub(super) async fn apply_object(
        &self,
        place: &ObjectPlace,
        object: &ClusterObject,
        before: Option<&ClusterObject>,
        dry_run: bool,
    ) -> Result<ClusterObject, PortError> {
        if !self.version.at_least(1, 16) {
            return self.merge(place, object, before, dry_run).await;
        }
        // What an earlier client held is ours from now on, or fields that the manifest no longer has would stay for ever.
        if let Some(patch) = before
            .and_then(|before| adopted(before, MANAGER))
            .filter(|_| !dry_run)
        {
            let change = Change::Merge {
                patch,
                manager: MANAGER.to_owned(),
            };
            self.change(place, &change, false).await?;
        }
        let change = Change::Apply {
            object: object.value().clone(),
            manager: MANAGER.to_owned(),
            force: true,
        };
        match self.change(place, &change, dry_run).await {
            Err(error) if error.condition == Condition::Impossible => {
                self.merge(place, object, before, dry_run).await
            }
            changed => changed,
        }
    }

    /// Brings an object about on a server that cannot apply: what was applied last, what is wanted and what is there are merged
    /// here.
    async fn merge(
        &self,
        place: &ObjectPlace,
        object: &ClusterObject,
        before: Option<&ClusterObject>,
        dry_run: bool,
    ) -> Result<ClusterObject, PortError> {
        let wanted = with_last_applied(object.value());
        let manager = MANAGER.to_owned();
        let Some(before) = before else {
            let object = wanted;
            let change = Change::Create { object, manager };
            return self.change(place, &change, dry_run).await;
        };
        let applied = last_applied(before);
        let Some(patch) = merge_three_ways(applied.as_ref(), &wanted, before.value()) else {
            return Ok(before.clone());
        };
        let change = Change::Merge { patch, manager };
        self.change(place, &change, dry_run).await
    }
}
