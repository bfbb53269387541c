//! What a rehearsal's region must have before the boot: the volumes and the hosted zone that kops would have made.

use super::rehearse_kops::boot_config;
use crate::host::NodeHost;
use quake_engine::Configuration;
use quake_host::clock::SystemClock;
use quake_model::dns::{ZoneFacts, ZoneKind, ZoneReference};
use quake_model::facts::InstanceFacts;
use quake_model::fault::Fault;
use quake_model::ports::{Clock, Objects};
use quake_model::spec::{EtcdCluster, EtcdMember, NamesPlace, NodeSpec, Role};
use quake_node::config::current::{CLUSTER_OBJECT, Origin, read_cluster};
use quake_node::config::legacy::{self, Document, Sources};

use quake_testkit::SimHost;
use quake_testkit::region::{EtcdSlot, Region};

/// A node that is about to be rehearsed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Foreseen<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) instance: &'a InstanceFacts,
    pub(super) cluster: &'a str,
    pub(super) group: &'a str,
}

impl Foreseen<'_> {
    /// Puts into the region what the node will look for. What cannot be lowered yet is for the boot itself to report, with its
    /// phase and its record.
    pub(super) async fn surround(self, host: &NodeHost, sim: &SimHost) {
        let (cluster, group) = (self.cluster, self.group);
        if let Ok(spec) = foresee(host, self.configuration, self.instance).await {
            sim.change(|region| {
                if quake_volumes::has_slots(&spec) {
                    add_volumes(region, cluster, group, &spec.etcd);
                }
                add_zone(region, &spec);
            });
        }
        let etcd = foresee_etcd(host, self.configuration).await;
        sim.change(|region| add_volumes(region, cluster, group, &etcd));
    }
}

/// The etcd clusters of a control plane of kops 1.32 and newer, to know which volumes its region must have; none where the
/// boot itself will say what is wrong.
async fn foresee_etcd(host: &NodeHost, configuration: &Configuration) -> Vec<EtcdCluster> {
    let Some(boot) = boot_config(configuration).filter(|boot| boot.role == Role::ControlPlane)
    else {
        return Vec::new();
    };
    let Origin::Store(base) = &boot.origin else {
        return Vec::new();
    };
    let location = base.join(CLUSTER_OBJECT);
    let Ok(object) = host.read_object(&location).await else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&object.bytes);
    let cluster = read_cluster(&location.to_string(), &text);
    cluster.map_or_else(|_| Vec::new(), |cluster| cluster.etcd.clusters)
}

/// Lowers the configuration ahead of the boot, to know which volumes its region must have.
async fn foresee(
    host: &NodeHost,
    configuration: &Configuration,
    instance: &InstanceFacts,
) -> Result<NodeSpec, Option<Fault>> {
    let kube_env = configuration.kube_env.clone().ok_or(None)?;
    let (read, _) = legacy::read_kube_env(&kube_env.source, &kube_env.text)?;
    let base = configuration
        .config_base
        .clone()
        .unwrap_or_else(|| read.config_base.clone());
    let group = base.join("instancegroup").join(&read.instance_group);
    let sources = Sources {
        kube_env,
        cluster: read_document(host, &base.join("cluster.spec")).await,
        instance_group: read_document(host, &group).await,
        inline_cluster: configuration.inline_cluster.clone(),
        inline_instance_group: configuration.inline_instance_group.clone(),
    };
    Ok(legacy::lower(&sources, instance)?.spec)
}

async fn read_document(
    host: &NodeHost,
    location: &quake_model::location::Location,
) -> Option<Document> {
    let object = host.read_object(location).await.ok()?;
    let text = String::from_utf8(object.bytes).ok()?;
    Some(Document {
        source: location.to_string(),
        text,
    })
}

/// Adds the blank volumes that kops would have made for the members of etcd that this node's group runs.
fn add_volumes(region: &mut Region, cluster: &str, group: &str, etcd: &[EtcdCluster]) {
    for etcd in etcd {
        let key = format!("k8s.io/etcd/{}", etcd.name);
        let mut volumes = region.volumes.iter();
        if volumes.any(|volume| volume.tags.contains_key(&key)) {
            continue;
        }
        let own = |member: &&EtcdMember| member.instance_group.as_deref() == Some(group);
        let mut ours: Vec<EtcdMember> = etcd.members.iter().filter(own).cloned().collect();
        if ours.is_empty() {
            // kops names members by the last letter of their zone.
            let zone = &region.instance.zone;
            let letter = zone[zone.len().saturating_sub(1)..].to_owned();
            ours.push(etcd.members.first().cloned().unwrap_or(EtcdMember {
                name: letter,
                instance_group: None,
                encrypted: false,
            }));
        }
        let named = match etcd.members.is_empty() {
            true => ours.iter(),
            false => etcd.members.iter(),
        };
        let members: Vec<&str> = named.map(|member| member.name.as_str()).collect();
        for member in &ours {
            let volume_id = volume_id(cluster, &etcd.name, &member.name);
            let slot = EtcdSlot {
                volume_id: &volume_id,
                etcd: &etcd.name,
                member: &member.name,
                members: &members,
                // Later than any CA that the store may hold, as a volume of the cluster is.
                created: SystemClock.now(),
                encrypted: member.encrypted,
            };
            region.add_etcd_volume(cluster, &slot);
        }
    }
}

/// Adds the hosted zone that the cluster names, if it names one: without records, whatever is in the real one.
fn add_zone(region: &mut Region, spec: &NodeSpec) {
    let place = spec.names.as_ref().map(|names| &names.place);
    let Some(NamesPlace::Zone { zone, visible }) = place else {
        return;
    };
    let (id, name) = match zone {
        ZoneReference::Id(id) => (id.clone(), spec.cluster.clone()),
        ZoneReference::Name(name) => ("ZREHEARSAL".to_owned(), name.clone()),
    };
    if region.names.zones.iter().all(|known| known.id != id) {
        region.names.add_zone(ZoneFacts {
            id,
            name,
            kind: visible.unwrap_or(ZoneKind::Public),
            vpcs: Vec::new(),
        });
    }
}

/// A volume id that is the same on every run of the same rehearsal.
pub(super) fn volume_id(cluster: &str, etcd: &str, member: &str) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(format!("{cluster}/{etcd}/{member}"));
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("vol-{}", &hex[..17])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_volumes_keep_their_ids_from_run_to_run() {
        assert_eq!(volume_id("c", "main", "a"), volume_id("c", "main", "a"));
        assert_ne!(volume_id("c", "main", "a"), volume_id("c", "events", "a"));
    }
}
