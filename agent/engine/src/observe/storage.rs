//! Reads volumes, their holders and the members of archives.

use crate::context::Context;
use crate::knowledge::Knowledge;
use crate::meaning::{Attempted, fault_of};
use quake_model::facts::{InstanceView, VolumeFacts};
use quake_model::fault::Fault;
use quake_model::phase::Phase;
use quake_model::ports::{Condition, Host, VolumeQuery};
use quake_model::spec::{AssetKind, NodeSpec};
use quake_model::step::Step;
use quake_plan::storage;
use std::collections::{BTreeMap, BTreeSet};

impl<H: Host> Context<'_, H> {
    /// Chooses the node's volumes; as long as the choice waits for something, reads and chooses again.
    pub(crate) async fn plan_storage(&self) -> Result<Vec<Step>, Fault> {
        let spec = self.know(Knowledge::spec)?;
        if storage::slots(&spec).is_empty() {
            return Ok(Vec::new());
        }
        let wait = self
            .wait(Phase::Storage, "storage", Phase::Storage.row().deadline)
            .patiently();
        let (chosen, volumes) = self.retry(&wait, || self.choose_volumes(&spec)).await?;
        let slots = storage::mounted_slots(&chosen, &volumes);
        self.learn(|knowledge| knowledge.slots = slots);
        Ok(storage::steps(&chosen))
    }

    async fn choose_volumes(
        &self,
        spec: &NodeSpec,
    ) -> Result<(Vec<quake_model::step::VolumeStep>, Vec<VolumeFacts>), Fault> {
        let instance = self.know(Knowledge::instance)?;
        let volumes = self.find_volumes(spec, &instance.instance_id).await?;
        let views = self.find_holders(&volumes, &instance.instance_id).await?;
        let chosen = storage::select_volumes(spec, &instance, &volumes, &views)?;
        Ok((chosen, volumes))
    }

    /// Asks wide, by either cluster tag and by what is attached here, so that near misses are seen too.
    async fn find_volumes(&self, spec: &NodeSpec, ours: &str) -> Result<Vec<VolumeFacts>, Fault> {
        let tagged = |key: &str, value: &str| VolumeQuery::Tagged {
            key: key.into(),
            value: value.into(),
        };
        let queries = [
            tagged("KubernetesCluster", &spec.cluster),
            tagged(&format!("kubernetes.io/cluster/{}", spec.cluster), "owned"),
            VolumeQuery::AttachedTo(ours.to_owned()),
        ];
        let mut volumes = BTreeMap::new();
        for query in &queries {
            let described = self.host.describe_volumes(query).await;
            let found = described.map_err(|error| fault_of(Attempted::DescribeVolumes, error))?;
            volumes.extend(
                found
                    .into_iter()
                    .map(|volume| (volume.volume_id.clone(), volume)),
            );
        }
        Ok(volumes.into_values().collect())
    }

    async fn find_holders(
        &self,
        volumes: &[VolumeFacts],
        ours: &str,
    ) -> Result<Vec<InstanceView>, Fault> {
        let attachments = volumes.iter().flat_map(|volume| &volume.attachments);
        let mut ids: BTreeSet<String> = attachments
            .map(|attachment| attachment.instance_id.clone())
            .collect();
        ids.insert(ours.to_owned());
        let ids: Vec<String> = ids.into_iter().collect();
        let described = self.host.describe_instances(&ids).await;
        described.map_err(|error| fault_of(Attempted::DescribeInstances, error))
    }

    /// Lists what is in each archive of the store, for the files that are placed from it.
    pub(crate) async fn observe_members(&self) -> Result<(), Fault> {
        let spec = self.know(Knowledge::spec)?;
        for asset in spec
            .assets
            .iter()
            .filter(|asset| asset.kind == AssetKind::TarGz)
        {
            let members = match self.host.list_members(&asset.digest).await {
                Ok(members) => members,
                // A plan may come before the fetch.
                Err(error) if self.is_planning() && error.condition == Condition::Missing => {
                    Vec::new()
                }
                Err(error) => {
                    return Err(fault_of(Attempted::UseStore, error).seen("asset", &asset.name));
                }
            };
            self.learn(|knowledge| {
                knowledge.members.insert(asset.digest.clone(), members);
            });
        }
        Ok(())
    }
}
