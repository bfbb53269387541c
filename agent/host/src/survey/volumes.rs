//! etcd's volumes and the instances that hold them, as EC2 shows them, for a diagnosis.

use super::metadata::refused_by_a_service;
use quake_model::facts::{InstanceView, VolumeFacts};
use quake_model::ports::{Cloud, InstanceQuery, PortError, VolumeQuery};
use std::collections::BTreeSet;

/// Begins the tag that names the member whose data a volume holds.
const ETCD: &str = "k8s.io/etcd/";

/// What EC2 shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudLook {
    /// etcd's volumes and those of this instance; `None` where they were not asked for.
    pub volumes: Option<Vec<VolumeFacts>>,
    /// This instance, and those that hold such volumes.
    pub instances: Vec<InstanceView>,
}

/// Asks EC2 for this instance and, where a cluster is named, for that cluster's volumes of etcd, by either of its tags.
///
/// # Errors
///
/// As [`Cloud::describe_volumes`] and [`Cloud::describe_instances`]; a refusal is none that root would be spared.
pub async fn look_at_volumes(
    cloud: &impl Cloud,
    cluster: Option<&str>,
    instance_id: &str,
) -> Result<CloudLook, PortError> {
    let look = look(cloud, cluster, instance_id).await;
    look.map_err(refused_by_a_service)
}

async fn look(
    cloud: &impl Cloud,
    cluster: Option<&str>,
    instance_id: &str,
) -> Result<CloudLook, PortError> {
    let volumes = match cluster {
        Some(cluster) => Some(volumes(cloud, cluster, instance_id).await?),
        None => None,
    };
    let held = volumes
        .iter()
        .flatten()
        .flat_map(|volume| &volume.attachments);
    let mut ids: BTreeSet<String> = held.map(|it| it.instance_id.clone()).collect();
    ids.insert(instance_id.to_owned());
    let query = InstanceQuery::Ids(ids.into_iter().collect());
    let instances = cloud.describe_instances(&query).await?;
    Ok(CloudLook { volumes, instances })
}

async fn volumes(
    cloud: &impl Cloud,
    cluster: &str,
    instance_id: &str,
) -> Result<Vec<VolumeFacts>, PortError> {
    let tagged = |key: String, value: &str| VolumeQuery::Tagged {
        key,
        value: value.to_owned(),
    };
    let named = tagged("KubernetesCluster".to_owned(), cluster);
    let owned = tagged(format!("kubernetes.io/cluster/{cluster}"), "owned");
    let here = VolumeQuery::AttachedTo(instance_id.to_owned());
    let (named, owned, here) = tokio::try_join!(
        cloud.describe_volumes(&named),
        cloud.describe_volumes(&owned),
        cloud.describe_volumes(&here),
    )?;
    let mut found: Vec<VolumeFacts> = Vec::new();
    for volume in named.into_iter().chain(owned).chain(here) {
        let is_etcd = volume.tags.keys().any(|key| key.starts_with(ETCD));
        // What two answers show differently stays as it is: it is a finding.
        if (is_etcd || volume.is_held_by(instance_id)) && !found.contains(&volume) {
            found.push(volume);
        }
    }
    Ok(found)
}
